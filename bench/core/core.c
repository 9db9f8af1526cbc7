/* SPDX-License-Identifier: MIT */
/* core.c -- what one event costs, beside the floor and beside others, in one run. */
#include <cpuid.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#define CREATE_TRACE_POINTS
#include "fathom/tracepoint.h"
#include "fathom/trace.h"
#include "core.h"

/*
 * Each thing is measured in short batches, in turn with the others, and the least of many batches counts: on a machine
 * that is shared, only that says what the code costs. (Medians say how busy the machine was: the clock read does not slow
 * down when another thread runs on the same core, all else does.) Ratios are of one run.
 */
enum {
	BATCH = 4000,
	ROUNDS = 9000,
	LTTNG_EVERY = 8,   /* it is slow: fewer of its batches ... */
	CPUID_EVERY = 100, /* ... and fewer still where a hypervisor answers every event */
	UNROLL = 8,
};

TRACE_DEFINE(bench, two, "a=%llu b=%llu", (U64, a), (U64, b))
TRACE_DEFINE(bench, off, "a=%llu b=%llu", (U64, a), (U64, b))

__thread uint32_t bench_cpu;
__thread int32_t bench_task = 42;

#define RING_BYTES (256u << 10) /* what each of the rings here has: it stays in the L2 cache */

static uint8_t floor_ring[RING_BYTES] __attribute__((aligned(64)));

/* The floor: the clock and 24 bytes, nothing else. */
__attribute__((noinline)) static void run_floor(uint32_t n, uint64_t x)
{
	static uint32_t pos;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t *p = (uint64_t *)(void *)(floor_ring + pos);

		p[0] = __builtin_ia32_rdtsc();
		p[1] = x + i;
		p[2] = i;
		pos = pos + 24 <= RING_BYTES - 24 ? pos + 24 : 0;
		__asm__ volatile("" ::: "memory");
	}
}

__attribute__((noinline)) static void run_on(uint32_t n, uint64_t x)
{
	for (uint32_t i = 0; i < n; i++)
		trace_two(x + i, i);
}

static struct fathom_ring bare_ring;

/* The ring alone: the same 24 bytes without the event around them. */
__attribute__((noinline)) static void run_ring(uint32_t n, uint64_t x)
{
	for (uint32_t i = 0; i < n; i++) {
		struct fathom_slot slot;
		uint32_t *p = fathom_ring_reserve(&bare_ring, 24, &slot);
		uint64_t v[3] = {33, x + i, i};

		if (p) {
			memcpy(p, v, sizeof(v));
			fathom_ring_commit(&bare_ring, &slot);
		}
	}
}

/*
 * A ring as VeridianOS has it (kernel/src/perf/trace.rs, written anew from what it does): a switch, the CPU's number, the
 * clock, a record of 32 bytes, an index that is loaded, used and then raised by a locked add. All of it is inlined at the
 * call. An interrupt between load and add loses a record. It asks CPUID for the CPU's number at every event, which alone
 * costs more than all the rest, and in a virtual machine a trap: so the ring is measured with our one load as well.
 */
struct veridian_record {
	uint64_t time;
	uint8_t type, cpu, zero[6];
	uint64_t data0, data1;
};
static struct veridian_record veridian_ring[16][4096];
static uint64_t veridian_head[16];
static uint8_t veridian_on = 1;

static inline __attribute__((always_inline)) void veridian_trace(uint32_t cpu, uint8_t type,
								 uint64_t a, uint64_t b)
{
	uint64_t time = __builtin_ia32_rdtsc(), at;
	struct veridian_record *r;

	cpu = cpu < 15 ? cpu : 15;
	at = __atomic_load_n(&veridian_head[cpu], __ATOMIC_RELAXED);
	r = &veridian_ring[cpu][at & 4095];
	*r = (struct veridian_record){time, type, (uint8_t)cpu, {0}, a, b};
	__atomic_fetch_add(&veridian_head[cpu], 1, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static void run_veridian(uint32_t n, uint64_t x)
{
	for (uint32_t i = 0; i < n; i++)
		if (__atomic_load_n(&veridian_on, __ATOMIC_RELAXED))
			veridian_trace(bench_cpu, 3, x + i, i);
}

__attribute__((noinline)) static void run_veridian_cpuid(uint32_t n, uint64_t x)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t eax, ebx, ecx, edx;

		if (!__atomic_load_n(&veridian_on, __ATOMIC_RELAXED))
			continue;
		__cpuid(1, eax, ebx, ecx, edx);
		veridian_trace(ebx >> 24, 3, x + i, i);
	}
}

#define EIGHT(s) s s s s s s s s

__attribute__((noinline)) static void run_empty(uint32_t n, uint64_t x)
{
	for (uint32_t i = 0; i < n; i += UNROLL) {
		EIGHT(__asm__ volatile("" : "+r"(x), "+r"(i));)
	}
}

__attribute__((noinline)) static void run_off(uint32_t n, uint64_t x)
{
	for (uint32_t i = 0; i < n; i += UNROLL) {
		EIGHT(__asm__ volatile("" : "+r"(x), "+r"(i)); trace_off(x, i);)
	}
}

/* What the disassembly shows: a function that is nothing but an event that is off. */
__attribute__((noinline)) void bench_off_path(uint64_t a, uint64_t b);
void bench_off_path(uint64_t a, uint64_t b)
{
	trace_off(a, b);
}

/* On, but the ring does not record: tracing_on is 0. */
__attribute__((noinline)) static void run_paused(uint32_t n, uint64_t x)
{
	fathom_tracing_off();
	run_on(n, x);
	fathom_tracing_on();
}

struct row {
	const char *name;
	void (*run)(uint32_t n, uint64_t x);
	uint32_t every; /* how many rounds to one batch of it */
	uint32_t batch; /* events in it */
	double least;	/* ticks per event */
};

enum {
	FLOOR,
	ON,
	RING,
	VERIDIAN,
	VERIDIAN_CPUID,
	LTTNG,
	EMPTY,
	OFF,
	PAUSED,
	NR_ROWS,
};

static struct row rows[NR_ROWS] = {
	[FLOOR] = {"floor: clock + 24-byte store", run_floor, 1, BATCH},
	[ON] = {"fathom event, two u64, on", run_on, 1, BATCH},
	[RING] = {"  its ring alone, 24 bytes", run_ring, 1, BATCH},
	[VERIDIAN] = {"VeridianOS's ring, 32 bytes, our cpu()", run_veridian, 1, BATCH},
	[VERIDIAN_CPUID] = {"VeridianOS's event: cpu() is CPUID", run_veridian_cpuid, CPUID_EVERY,
			    BATCH / 10},
	[LTTNG] = {"LTTng-UST event, two u64", bench_lttng, LTTNG_EVERY, BATCH},
	[EMPTY] = {"empty loop", run_empty, 1, BATCH},
	[OFF] = {"fathom event, off", run_off, 1, BATCH},
	[PAUSED] = {"fathom event, on, tracing_on 0", run_paused, 1, BATCH},
};

static double ticks_of(const struct row *row, uint64_t x)
{
	uint64_t t = __builtin_ia32_rdtsc();

	row->run(row->batch, x);
	return (double)(__builtin_ia32_rdtsc() - t) / row->batch;
}

static void measure(void)
{
	for (uint32_t round = 0; round < ROUNDS; round++)
		for (int i = 0; i < NR_ROWS; i++) {
			struct row *row = &rows[i];
			double ticks;

			if (!row->run || round % row->every)
				continue;
			ticks = ticks_of(row, round);
			if (!row->least || ticks < row->least)
				row->least = ticks;
		}
}

static double ticks_per_ns(void)
{
	struct timespec a, b;
	uint64_t t0, t1;

	clock_gettime(CLOCK_MONOTONIC, &a);
	t0 = __builtin_ia32_rdtsc();
	usleep(50000);
	clock_gettime(CLOCK_MONOTONIC, &b);
	t1 = __builtin_ia32_rdtsc();
	return (double)(t1 - t0) /
	       ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec));
}

static void *text_map(void *at, size_t bytes)
{
	uintptr_t page = (uintptr_t)at & ~4095ul;

	(void)bytes;
	return mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) ? NULL : at;
}

static void text_unmap(void *at, size_t bytes)
{
	(void)bytes;
	mprotect((void *)((uintptr_t)at & ~4095ul), 8192, PROT_READ | PROT_EXEC);
}

static void bar(const char *name, double measured, const char *goal, int ok)
{
	printf("bar %s %.3f %s %s\n", name, measured, goal, ok ? "ok" : "SHORT");
}

static void start(void)
{
	uint32_t pages = RING_BYTES / WIRE_PAGE_BYTES;
	size_t bytes = fathom_memory_need(1, pages);
	struct fathom_config config = {.nr_cpus = 1,
				       .pages_per_cpu = pages,
				       .text_map = text_map,
				       .text_unmap = text_unmap};
	void *mem;

	config.memory = aligned_alloc(4096, (bytes + 4095) & ~4095ul);
	config.memory_bytes = bytes;
	memset(config.memory, 0, bytes);
	mem = aligned_alloc(4096, fathom_ring_bytes(pages));
	memset(mem, 0, fathom_ring_bytes(pages));
	if (fathom_init(&config) < 0 || fathom_event_enable("bench:two", 1) != 1 ||
	    fathom_ring_init(&bare_ring, mem, fathom_ring_bytes(pages), 0) < 0) {
		printf("bench-core: cannot start\n");
		exit(1);
	}
	fathom_tracing_on();
	if (!bench_lttng_is_on()) {
		printf("bench-core: no LTTng session records fathom_bench:two, so that row is "
		       "missing\n");
		rows[LTTNG].run = NULL;
	}
}

static int all_written(void)
{
	struct fathom_ring_stats st;

	fathom_ring_stats(fathom_ring_of(0), &st);
	if (st.written == (uint64_t)ROUNDS * BATCH)
		return 1;
	printf("bench-core: %llu events written, %llu expected\n", (unsigned long long)st.written,
	       (unsigned long long)ROUNDS * BATCH);
	return 0;
}

int main(void)
{
	double ns, on, off;

	setvbuf(stdout, NULL, _IOLBF, 0);
	start();
	ns = 1 / ticks_per_ns();
	measure();
	on = rows[ON].least;
	off = (rows[OFF].least - rows[EMPTY].least) * ns;
	printf("%-40s %8s %8s\n", "one event", "ns", "x floor");
	for (int i = 0; i < NR_ROWS; i++)
		if (rows[i].run)
			printf("%-40s %8.2f %8.2f\n", rows[i].name, rows[i].least * ns,
			       rows[i].least / rows[FLOOR].least);
	if (!all_written())
		return 1;
	bar("core_event_on_per_floor", on / rows[FLOOR].least, "<=1.25",
	    on <= 1.25 * rows[FLOOR].least);
	bar("core_event_on_per_veridian", on / rows[VERIDIAN_CPUID].least, "<1.00",
	    on < rows[VERIDIAN_CPUID].least);
	if (rows[LTTNG].run)
		bar("core_lttng_per_event_on", rows[LTTNG].least / on, ">=7.00",
		    rows[LTTNG].least >= 7 * on);
	else
		printf("bar core_lttng_per_event_on - >=7.00 SHORT (LTTng did not record)\n");
	bar("core_event_paused_per_on", rows[PAUSED].least / on, "<=0.80",
	    rows[PAUSED].least <= 0.8 * on);
	bar("core_event_off_ns", off, "<=0.10", off <= 0.1);
	return 0;
}
