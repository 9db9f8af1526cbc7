/* SPDX-License-Identifier: MIT */
/* trace_latency.c -- the latency tracers of a program without function sites, on a clock that is not in nanoseconds. */
#include "harness.h"
#include "tree.h"
#include "fathom/task.h"
#include "fathom/trace.h"
#include "functions/tracer.h"
#include "fathom_port.h"

static char memory[4 << 20] __attribute__((aligned(4096)));

static void start(uint64_t hz)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = 1,
				       .pages_per_cpu = 8,
				       .clock_hz = hz};

	fathom_exit();
	fathom_user_cpu = 0;
	CHECK_EQ(fathom_init(&config), 0);
}

/* A section of at least twice so many ticks; how many it took at most, since others may have run meanwhile. */
static uint64_t section(uint64_t ticks)
{
	uint64_t from = fathom_now(), open;

	fathom_note_irqs(1, 0x1000, 0x2000);
	open = fathom_now();
	while (fathom_now() - open < 2 * ticks)
		;
	fathom_note_irqs(0, 0x3000, 0x4000);
	return fathom_now() - from;
}

TEST(longest_section_is_kept)
{
	struct fathom_latency_report r;
	uint64_t brief, most;

	start(500000000); /* a tick is said to be 2 ns */
	CHECK_EQ(fathom_tracer_set("irqsoff"), 0);
	brief = section(1000);
	most = section(1000000);
	fathom_latency_report(&r);
	CHECK(r.latency_ns >= 4 * 1000000 && r.latency_ns <= 2 * (brief > most ? brief : most));
	CHECK_EQ(fathom_max_latency(), r.latency_ns);
	CHECK_EQ(r.started_at, 0x2000);
	CHECK_EQ(r.ended_at, 0x4000);
	brief = section(1000);
	CHECK(fathom_max_latency() == r.latency_ns || 2 * brief > r.latency_ns);
	fathom_max_latency_set(0); /* start over */
	section(1000);
	CHECK(fathom_max_latency() && fathom_max_latency() != r.latency_ns);
	CHECK_EQ(fathom_tracer_set("nop"), 0);
}

/* tracing_on switches the rings one after the other: until its own is on, a CPU has nothing to show. */
TEST(section_before_the_ring_is_on_is_not_kept)
{
	start(0);
	CHECK_EQ(fathom_tracer_set("irqsoff"), 0);
	fathom_ring_enable(fathom_hot.ring[0], 0);
	section(1000000);
	CHECK_EQ(fathom_max_latency(), 0);
	fathom_ring_enable(fathom_hot.ring[0], 1);
	section(1);
	CHECK(fathom_max_latency() > 0);
	CHECK(strstr(get("trace"), "latency trace v1.1.5"));
	CHECK_EQ(fathom_tracer_set("nop"), 0);
}

TEST(clock_rate_told_later)
{
	uint64_t most;

	start(500000000);
	CHECK_EQ(fathom_tracer_set("irqsoff"), 0);
	fathom_clock_hz_set(50000000); /* ten times as long, then */
	most = section(1000000);
	CHECK(fathom_max_latency() >= 40 * 1000000 && fathom_max_latency() <= 20 * most);
	CHECK_EQ(fathom_tracer_set("nop"), 0);
}

/* Records written in one section; "#KEPT/WRITTEN" of the header. */
static void shown(uint32_t records, unsigned *kept, unsigned *written)
{
	const char *at;

	start(0);
	CHECK_EQ(fathom_tracer_set("irqsoff"), 0);
	fathom_marker(0, "before it", 9);
	fathom_note_irqs(1, 0x1000, 0x2000);
	for (uint32_t i = 0; i < records; i++)
		fathom_marker(0, "inside", 6);
	fathom_note_irqs(0, 0x3000, 0x4000);
	at = strstr(get("trace"), " us, #");
	CHECK(at && sscanf(at, " us, #%u/%u,", kept, written) == 2);
	CHECK_EQ(fathom_tracer_set("nop"), 0);
}

TEST(overwritten_records_of_the_section_are_counted)
{
	unsigned kept = 0, written = 0;

	shown(10, &kept, &written);
	CHECK(kept >= 10);
	CHECK_EQ(written, kept);
	shown(10000, &kept, &written);
	CHECK(kept < 10000);
	CHECK(written >= 10000);
}

static struct fathom_sched_task task(int32_t pid, int32_t prio)
{
	return (struct fathom_sched_task){
		.pid = pid, .prio = prio, .is_rt = prio >= 0 && prio < 100, .is_dl = prio < 0};
}

/* Wake `woken` while `current` runs, and let it run: does the tracer say it was followed? */
static int followed(const char *tracer, int32_t current, int32_t woken)
{
	struct fathom_sched_task c = task(1, current), w = task(2, woken);
	struct fathom_latency_report r;

	CHECK_EQ(fathom_tracer_set(tracer), 0);
	fathom_note_wakeup(&c, &w, 0);
	fathom_task_switch(&c, &w);
	fathom_latency_report(&r);
	CHECK_EQ(fathom_tracer_set("nop"), 0);
	return r.latency_ns && r.pid == 2;
}

/* As in Linux: each tracer its classes, others only if better than what runs, deadlines always. */
TEST(who_is_followed)
{
	start(0);
	CHECK(followed("wakeup", 120, 119));
	CHECK(!followed("wakeup", 120, 120));
	CHECK(followed("wakeup", 120, 50));
	CHECK(followed("wakeup", -1, -1));
	CHECK(!followed("wakeup_rt", 120, 110));
	CHECK(followed("wakeup_rt", 120, 50));
	CHECK(!followed("wakeup_rt", 40, 50));
	CHECK(followed("wakeup_rt", 40, -1));
	CHECK(!followed("wakeup_dl", 120, 50));
	CHECK(followed("wakeup_dl", 120, -1));
	CHECK(followed("wakeup_dl", -1, -1));
}

/* A wait whose beginning was not recorded has no trace to show. */
TEST(wakeup_before_tracing_is_on_is_not_kept)
{
	struct fathom_sched_task c = task(1, 120), w = task(2, 50);

	start(0);
	CHECK_EQ(fathom_tracer_set("wakeup"), 0);
	fathom_tracing_off();
	fathom_note_wakeup(&c, &w, 0);
	fathom_tracing_on();
	fathom_task_switch(&c, &w);
	CHECK_EQ(fathom_max_latency(), 0);
	CHECK_EQ(fathom_tracer_set("nop"), 0);
}

TEST(class_of_the_woken)
{
	struct fathom_sched_task c = task(1, 120), rt = task(2, 19), dl = task(3, -1);
	struct fathom_latency_report r;

	start(0);
	CHECK_EQ(fathom_tracer_set("wakeup"), 0);
	fathom_note_wakeup(&c, &rt, 0);
	fathom_task_switch(&c, &rt);
	fathom_latency_report(&r);
	CHECK_EQ(r.policy, 1);
	CHECK_EQ(r.rt_prio, 80);
	fathom_max_latency_set(0);
	fathom_note_wakeup(&c, &dl, 0);
	fathom_note_wakeup(&c, &rt, 0); /* does not take its place */
	fathom_task_switch(&c, &dl);
	fathom_latency_report(&r);
	CHECK_EQ(r.pid, 3);
	CHECK_EQ(r.policy, 6);
	CHECK_EQ(r.rt_prio, 0);
	CHECK_EQ(fathom_tracer_set("nop"), 0);
}

TEST_MAIN
