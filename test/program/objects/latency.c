/* SPDX-License-Identifier: MIT */
/* latency.c -- run-queue latency as libbpf's tools have it: maps by BTF, functions that are called. */
#include "bpf.h"

struct {
	__uint(type, HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, u64);
} q SEC(".maps");

struct {
	__uint(type, HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, u64);
} sum SEC(".maps");

struct {
	__uint(type, HASH);
	__uint(max_entries, 1024);
	__type(key, char[16]);
	__type(value, u64);
} n SEC(".maps");

struct {
	__uint(type, PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} total SEC(".maps");

NOINLINE long add(void *map, void *key, u64 by)
{
	u64 *v = map_lookup(map, key), first = by;

	if (!v)
		return map_update(map, key, &first, 0);
	__sync_fetch_and_add(v, by);
	return 0;
}

/* It has a frame of its own, and calls another. */
NOINLINE long note(u32 pid, u64 ns)
{
	u32 zero = 0, key = pid;
	u64 *t = map_lookup(&total, &zero);

	if (t)
		*t += 1;
	return add(&sum, &key, ns);
}

SEC("tracepoint/sched/sched_wakeup") int wake(struct wakeup *r)
{
	u32 pid = r->pid;
	u64 now = ktime_ns();

	map_update(&q, &pid, &now, 0);
	return 0;
}

SEC("tp/sched/sched_switch") int run(struct switched *r)
{
	u32 pid = r->next_pid;
	u64 *t = map_lookup(&q, &pid);
	char comm[16];

	if (!t)
		return 0;
	note(pid, ktime_ns() - *t);
	for (int i = 0; i < 16; i++)
		comm[i] = r->next_comm[i];
	add(&n, comm, 1);
	map_delete(&q, &pid);
	return 0;
}
