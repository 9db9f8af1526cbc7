/* SPDX-License-Identifier: MIT */
/* tracers_loop.h -- how the tracer benchmarks measure: the least ns per call over many batches. */
#ifndef BENCH_TRACERS_LOOP_H
#define BENCH_TRACERS_LOOP_H

#include <stdint.h>
#include <string.h>
#include <time.h>

/*
 * A batch is long enough for what a tracer does now and then to be in it: the end of a page, the hand-over of a buffer
 * (uftrace's hold 4,096 calls). Tens of them, of which the least counts, since another load only ever adds.
 */
#define BATCH	32768
#define BATCHES 40

static inline uint64_t ticks(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

/* Both clocks at one moment: of a hundred readings the one that was interrupted least. The ticks; *ns is the other. */
static inline uint64_t both_clocks(double *ns)
{
	uint64_t least = UINT64_MAX, at = 0;

	for (int i = 0; i < 100; i++) {
		struct timespec t;
		uint64_t from = ticks(), to;

		clock_gettime(CLOCK_MONOTONIC, &t);
		to = ticks();
		if (to - from >= least)
			continue;
		least = to - from;
		at = from + least / 2;
		*ns = (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
	}
	return at;
}

static inline double ns_per_tick(void)
{
	struct timespec pause = {0, 20000000};
	double from, to;
	uint64_t a = both_clocks(&from), b;

	nanosleep(&pause, 0);
	b = both_clocks(&to);
	return (to - from) / (double)(b - a);
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
