/* SPDX-License-Identifier: MIT */
/* trace_noise.c -- the threads of osnoise, timerlat and hwlat: none outlives its run, whatever happens while it sleeps. */
#include "harness.h"
#include "fathom/trace.h"
#include "noise/noise.h"

static char memory[4 << 20] __attribute__((aligned(4096)));

/* The port's threads run when the test says so. */
static struct {
	void (*fn)(void *arg);
	void *arg;
} made[16];
static unsigned nr_made, waits;
static void (*while_asleep)(void);

static int make_thread(const char *name, uint32_t cpu, int realtime, void (*fn)(void *), void *arg)
{
	(void)name, (void)cpu, (void)realtime;
	made[nr_made].fn = fn;
	made[nr_made++].arg = arg;
	return 0;
}

static void set_tracer(const char *name)
{
	fathom_lock();
	CHECK_EQ(fathom_tracer_set(name), 0);
	fathom_unlock();
}

static void sleep_in_test(uint64_t ns, void (*tick)(void *), void *arg)
{
	waits++;
	(void)ns;
	if (waits == 1 && while_asleep)
		while_asleep();
	else
		set_tracer("nop");
	if (tick)
		tick(arg);
}

static void quiet(void (*fn)(void *), void *arg)
{
	fn(arg);
}

static void start(const char *tracer, void (*meanwhile)(void))
{
	static const struct fathom_noise noise = {.tracers = &fathom_noise_tracers,
						  .thread = make_thread,
						  .wait = sleep_in_test,
						  .quiet = quiet};
	struct fathom_config config = {
		.memory = memory, .memory_bytes = sizeof(memory), .nr_cpus = 1, .noise = &noise};

	fathom_exit();
	nr_made = waits = 0;
	while_asleep = meanwhile;
	CHECK_EQ(fathom_init(&config), 0);
	fathom_noise_set.cpus = 1;
	fathom_noise_set.width_us = 1;
	fathom_noise_set.period_us = 1000;
	fathom_noise_set.runtime_us = 1;
	set_tracer(tracer);
	CHECK_EQ(nr_made, 1);
	made[0].fn(made[0].arg);
}

/* Two runs later: the sleeper's half of the state is in use again, by another. */
static const char *again_name;
static void again(void)
{
	for (int i = 0; i < 2; i++) {
		set_tracer("nop");
		set_tracer(again_name);
	}
}

TEST(sleeper_ends_after_two_runs)
{
	static const char *const names[] = {"osnoise", "hwlat", "timerlat"};

	for (unsigned i = 0; i < 3; i++) {
		again_name = names[i];
		start(names[i], again);
		CHECK_EQ(waits, 1);
		CHECK_EQ(nr_made, 3);
		/* The last run has its thread all the same, and no more than one. */
		made[2].fn(made[2].arg);
		CHECK_EQ(waits, 2);
		set_tracer("nop");
	}
}

/* A thread that had not begun when its half was used again is as good as the new run's: one of them is enough. */
static void the_other(void)
{
	made[3].fn(made[3].arg);
	CHECK_EQ(waits, 1); /* it ended at once */
}

TEST(late_thread_is_no_second)
{
	start("hwlat", NULL);
	CHECK_EQ(waits, 1);
	again_name = "hwlat";
	set_tracer("hwlat");
	again();
	CHECK_EQ(nr_made, 4);
	waits = 0;
	while_asleep = the_other;
	made[1].fn(made[1].arg);
	CHECK_EQ(waits, 2);
}

TEST_MAIN
