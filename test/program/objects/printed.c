/* SPDX-License-Identifier: MIT */
/* printed.c -- bpf_printk, in a function and in one that it calls. */
#include "bpf.h"

NOINLINE void note(u64 prio)
{
	if (prio == 120)
		bpf_printk("100%% %c", 'x');
}

SEC("tp/sched/sched_switch") int switched(struct switched *s)
{
	if (s->next_pid == 101) {
		bpf_printk("pid %d, %lu %x\n", s->next_pid, (u64)s->next_prio << 32, -1);
		bpf_printk("plain");
		note((u64)s->next_prio);
	}
	return 0;
}
