/* SPDX-License-Identifier: MIT */
/* tracers_loop.h -- how the tracer benchmarks measure: the least ns per call over many short batches. */
#ifndef BENCH_TRACERS_LOOP_H
#define BENCH_TRACERS_LOOP_H

#include <stdint.h>
#include <string.h>
#include <time.h>

#define BATCH	256
#define BATCHES 4000

static inline uint64_t ticks(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

static inline double ns_per_tick(void)
{
	struct timespec a, b;
	uint64_t from = ticks(), to;

	clock_gettime(CLOCK_MONOTONIC, &a);
	do {
		to = ticks();
		clock_gettime(CLOCK_MONOTONIC, &b);
	} while (b.tv_sec == a.tv_sec && b.tv_nsec - a.tv_nsec < 20000000);
	return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) /
	       (double)(to - from);
}

/* Least ticks that a batch of calls took. */
static inline uint64_t least(int (*fn)(int), uint64_t so_far)
{
	uint64_t from = ticks(), took;
	int x = 1;

	for (int i = 0; i < BATCH; i++)
		x = fn(x);
	took = ticks() - from;
	return took < so_far ? took : so_far;
}

/*
 * The floor: a call that reads the clock and stores a record as long as ours at both ends, into a ring that stays in
 * the L2 cache. Nothing is checked, nested or published.
 */
#define FLOOR_BYTES (256u << 10)
static uint8_t floor_ring[FLOOR_BYTES] __attribute__((aligned(64)));
static uint32_t floor_at;

static inline void floor_store(const void *func, uint32_t bytes)
{
	uint64_t now = ticks(), f = (uint64_t)(uintptr_t)func;
	uint8_t *to = floor_ring + (floor_at & (FLOOR_BYTES - 64));

	memcpy(to, &now, 8);
	memcpy(to + 8, &f, 8);
	memcpy(to + 16, &f, 8);
	floor_at += bytes;
}

static __attribute__((noinline, noclone)) int floor_call(int x)
{
	floor_store((const void *)floor_call, 24);
	x = x * 3 + 1;
	__asm__ volatile("" : "+r"(x));
	floor_store((const void *)floor_call, 44);
	return x;
}

#endif
