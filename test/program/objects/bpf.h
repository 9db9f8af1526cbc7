/* SPDX-License-Identifier: MIT */
/* bpf.h -- what the programs of this folder take from Linux and libbpf: names, sections, helpers. */
#ifndef OBJECTS_BPF_H
#define OBJECTS_BPF_H

typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name)	__attribute__((section(name), used))
#define __uint(name, n) int(*name)[n]
#define __type(name, t) __typeof__(t) *name
#define NOINLINE	static __attribute__((noinline))

enum {
	HASH = 1,
	ARRAY = 2,
	PERCPU_ARRAY = 6,
	RINGBUF = 27,
};

static void *(*map_lookup)(void *map, const void *key) = (void *)1;
static long (*map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*map_delete)(void *map, const void *key) = (void *)3;
static u64 (*ktime_ns)(void) = (void *)5;
static long (*trace_printk)(const char *format, u32 bytes, ...) = (void *)6;
static long (*ring_output)(void *ring, void *data, u64 bytes, u64 flags) = (void *)130;

/* As libbpf has it. */
#define bpf_printk(f, ...)                                           \
	({                                                           \
		static const char format[] = f;                      \
		trace_printk(format, sizeof(format), ##__VA_ARGS__); \
	})

/* Records as their format files have them. */
struct wakeup {
	u64 common;
	char comm[16];
	int pid, prio, cpu;
};

struct switched {
	u64 common;
	char prev_comm[16];
	int prev_pid, prev_prio;
	long long prev_state;
	char next_comm[16];
	int next_pid, next_prio;
};

#endif
