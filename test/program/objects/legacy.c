/* SPDX-License-Identifier: MIT */
/* legacy.c -- maps as SEC("maps") has them, a ring of events, and functions. */
#include "bpf.h"

struct map_def {
	u32 type, key_size, value_size, max_entries, flags;
};

struct map_def SEC("maps") calls = {ARRAY, 4, 8, 4, 0};
struct map_def SEC("maps") ring = {RINGBUF, 0, 0, 4096, 0};

static inline __attribute__((always_inline)) void count(u32 which)
{
	u64 *v = map_lookup(&calls, &which);

	if (v)
		__sync_fetch_and_add(v, 1);
}

SEC("kprobe/turn") int enter(void *r)
{
	count(0);
	return 0;
}

SEC("kretprobe/turn") int leave(void *r)
{
	count(1);
	return 0;
}

SEC("tracepoint/sched/sched_switch") int run(struct switched *r)
{
	u64 pid = r->next_pid;

	count(2);
	if (r->next_pid == 101 && r->prev_pid == 0)
		ring_output(&ring, &pid, 8, 0);
	return 0;
}
