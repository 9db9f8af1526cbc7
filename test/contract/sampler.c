/* SPDX-License-Identifier: MIT */
/* sampler.c -- when the sampler samples and when it stops, by a clock that the test moves. */
#include "fathom/sampler.h"
#include "fathom/trace.h"
#include "harness.h"
#include "hooks.h"

static uint8_t memory[4 << 20] __attribute__((aligned(4096)));
static uint64_t words[1 << 16];
static uint64_t now_us;

static uint64_t moved_clock(const char *file)
{
	(void)file;
	return now_us * 1000;
}

static void begin(void)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = 1,
				       .pages_per_cpu = 32};

	fathom_exit();
	contract_hooks.clock = moved_clock;
	now_us = 1000;
	REQUIRE(!fathom_init(&config));
	REQUIRE(!fathom_sampler_init(words, sizeof(words), FATHOM_SAMPLE_BUFFER, NULL));
}

/* A timer that comes every `period` us, early and late by `jitter`, for `us` of them: the samples. */
static uint64_t samples(uint64_t period, uint64_t jitter, uint64_t us)
{
	const struct fathom_sample s = {.ip = 1};
	struct fathom_sampler_stats st;

	for (uint64_t at = period; at <= us; at += period) {
		now_us += period;
		now_us += at / period % 2 ? -jitter : jitter;
		fathom_sampler_tick(&s);
		now_us += at / period % 2 ? jitter : -jitter;
	}
	fathom_sampler_stats(&st);
	return st.samples;
}

/* Samples come at the interval if the timer is faster or does not divide it, and else at the timer's rate. */
TEST(the_interval_is_kept)
{
	static const struct {
		uint64_t period, jitter, samples; /* of 70 ms at an interval of 100 us */
	} timers[] = {{1, 0, 700},    {10, 4, 700},  {70, 0, 700}, {99, 9, 700},
		      {100, 20, 700}, {140, 0, 500}, {1000, 0, 70}};

	for (size_t i = 0; i < sizeof(timers) / sizeof(*timers); i++) {
		uint64_t n;

		begin();
		fathom_sampler_control(FATHOM_SAMPLER_SET_INTERVAL | FATHOM_SAMPLER_START, 100);
		n = samples(timers[i].period, timers[i].jitter, 70000);
		CHECK(n >= timers[i].samples && n <= timers[i].samples + 1);
		fathom_sampler_control(FATHOM_SAMPLER_STOP, 0);
	}
}

/* A CPU that was away for long owes no samples. */
TEST(a_gap_is_not_made_up_for)
{
	uint64_t n;

	begin();
	fathom_sampler_control(FATHOM_SAMPLER_SET_INTERVAL | FATHOM_SAMPLER_START, 100);
	n = samples(10, 0, 1000);
	now_us += 1000000;
	n = samples(10, 0, 1000) - n;
	CHECK(n >= 10 && n <= 11);
	fathom_sampler_control(FATHOM_SAMPLER_STOP, 0);
}

TEST(it_stops_by_time)
{
	const uint32_t ask = FATHOM_SAMPLER_IS_RUNNING | FATHOM_SAMPLER_NO_ENTRY;
	uint64_t n;

	begin();
	CHECK(fathom_sampler_control(FATHOM_SAMPLER_STOP_AFTER, 20000) >= 0);
	fathom_sampler_control(FATHOM_SAMPLER_START, 0);
	n = samples(100, 0, 19900);
	CHECK(n >= 19 && n <= 20);
	CHECK_EQ(fathom_sampler_control(ask, 0), 1);
	CHECK_EQ(samples(100, 0, 100), n);
	CHECK_EQ(fathom_sampler_control(ask, 0), 0);
	CHECK_EQ(samples(100, 0, 20000), n);
}

TEST_MAIN
