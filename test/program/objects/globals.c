/* SPDX-License-Identifier: MIT */
/* globals.c -- variables outside maps: .data, .bss and .rodata, in functions and what they call. */
#include "bpf.h"

u64 seen, last_pid;	       /* .bss */
u64 left = 1000000, steps = 7; /* .data */
static const volatile u64 by = 3;
static const char letters[] = "abcdefgh";

NOINLINE void note(int pid)
{
	last_pid = (u64)pid > last_pid ? (u64)pid : last_pid;
	__sync_fetch_and_add(&steps, by);
}

SEC("tracepoint/sched/sched_switch") int switched(struct switched *s)
{
	__sync_fetch_and_add(&seen, 1);
	__sync_fetch_and_add(&left, -(u64)(letters[s->next_pid & 7] - 'a' + 1));
	note(s->next_pid);
	return 0;
}
