/* SPDX-License-Identifier: MIT */
/* clock32.c -- fathom_clock32(): a counter of 32 bits that wraps, as a clock of 64, whatever nests and whoever shares it. */
#include <pthread.h>
#include "harness.h"
#include "hooks.h"

#define QUARTER (1u << 30)

static uint64_t truth;	      /* what a counter with more bits would show */
static int64_t behind;	      /* this CPU's counter, against the truth */
static void (*between)(void); /* an interrupt while the counter is read */

static uint32_t counter(void)
{
	void (*fn)(void) = between;

	between = 0;
	if (fn)
		fn();
	return (uint32_t)(truth - (uint64_t)behind);
}

static uint32_t lcg(uint32_t *seed)
{
	return *seed = *seed * 1664525u + 1013904223u;
}

/* Steps up to the limit, through hundreds of wraps, from any first value. */
TEST(clock32_wraps)
{
	uint32_t seed = 1;

	for (int run = 0; run < 200; run++) {
		struct fathom_clock32 c = {0};
		uint64_t first, begin, at;

		truth = begin = (uint64_t)lcg(&seed) << 3;
		first = fathom_clock32(&c, counter);
		CHECK_EQ((uint32_t)first, (uint32_t)truth);
		for (int i = 0; i < 1000; i++) {
			truth += lcg(&seed) % (2 * QUARTER);
			at = fathom_clock32(&c, counter);
			CHECK_EQ(at - first, truth - begin);
		}
	}
}

/* Half a period is the limit that the header promises; just beyond it a period may be missed. */
TEST(clock32_limit)
{
	struct fathom_clock32 c = {0};
	uint64_t first;

	truth = QUARTER - 1; /* the end of a quarter is the worst place to stop */
	first = fathom_clock32(&c, counter);
	for (int i = 0; i < 9; i++) {
		truth += 2u * QUARTER;
		CHECK_EQ(fathom_clock32(&c, counter) - first, (i + 1) * 2ull * QUARTER);
	}
	truth += 3u * QUARTER + 1;
	CHECK(fathom_clock32(&c, counter) - first != 21ull * QUARTER + 1);
}

/* Two CPUs share it, whose counters differ: neither sees the other's wrap too early or its own twice. */
TEST(clock32_skewed)
{
	uint32_t seed = 7;
	struct fathom_clock32 c = {0};
	uint64_t first, last[2] = {0, 0};

	truth = 5;
	first = fathom_clock32(&c, counter);
	for (int i = 0; i < 200000; i++) {
		uint32_t cpu = lcg(&seed) >> 31;
		uint64_t at;

		truth += lcg(&seed) >> 8;
		behind = cpu ? QUARTER - (1 << 24) : 0;
		at = fathom_clock32(&c, counter);
		CHECK_EQ((int64_t)(at - first), (int64_t)(truth - 5) - behind);
		CHECK(at >= last[cpu]);
		last[cpu] = at;
	}
	behind = 0;
}

static struct fathom_clock32 shared;
static uint64_t nested_at;

static void interrupt(void)
{
	truth += QUARTER + QUARTER / 2;
	nested_at = fathom_clock32(&shared, counter);
	truth += QUARTER + QUARTER / 2;
	nested_at = fathom_clock32(&shared, counter);
	truth += QUARTER / 2;
}

/* An interrupt between the look at the periods and the counter, which itself sees the counter wrap. */
TEST(clock32_nested)
{
	uint64_t first, at;

	truth = 3ull * QUARTER;
	first = fathom_clock32(&shared, counter);
	for (int i = 0; i < 100; i++) {
		uint64_t was = truth;

		between = interrupt;
		at = fathom_clock32(&shared, counter);
		CHECK(at > nested_at);
		CHECK_EQ(at - first, truth - 3ull * QUARTER);
		CHECK_EQ(truth - was, 3ull * QUARTER + QUARTER / 2);
	}
}

/* Threads share one counter, which runs fast enough to wrap every few thousand reads. */
static uint64_t ticking;
static struct fathom_clock32 common;

static uint32_t tick(void)
{
	return (uint32_t)__atomic_add_fetch(&ticking, 1 << 18, __ATOMIC_SEQ_CST);
}

static void *reader(void *arg)
{
	uint64_t last = 0, bad = 0;

	(void)arg;
	for (int i = 0; i < 300000; i++) {
		uint64_t at = fathom_clock32(&common, tick);

		bad += at < last || at - last > 1ull << 40;
		last = at;
	}
	return (void *)(uintptr_t)bad;
}

TEST(clock32_threads)
{
	uint64_t first = fathom_clock32(&common, tick), last;
	pthread_t t[3];
	void *bad;

	for (int i = 0; i < 3; i++)
		REQUIRE(!pthread_create(&t[i], 0, reader, 0));
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], &bad);
		CHECK_EQ((uintptr_t)bad, 0);
	}
	last = fathom_clock32(&common, tick);
	CHECK_EQ(last - first, ticking - (1 << 18));
}

TEST_MAIN
