/* SPDX-License-Identifier: MIT */
/* latency.c -- a section that an interrupt meets while it begins or ends, by a clock that the test moves. */
#include "fathom/trace.h"
#include "functions/tracer.h"
#include "harness.h"
#include "hooks.h"

enum {
	OUTER_AT = 0x1000,
	OUTER_END = 0x2000,
	INTERRUPT_AT = 0x3000,
};

static uint8_t memory[4 << 20] __attribute__((aligned(4096)));
static uint64_t now_ns;
static int interrupt_in; /* calls of the clock from now; 0: none comes */

/* Every look at the clock takes a while, and one of them is interrupted. */
static uint64_t interrupted_clock(const char *file)
{
	(void)file;
	now_ns += 10;
	if (interrupt_in && !--interrupt_in) {
		fathom_note_irqs(1, INTERRUPT_AT, 0);
		now_ns += 100;
		fathom_note_irqs(0, INTERRUPT_AT, 0);
	}
	return now_ns;
}

static void begin(void)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = 1,
				       .pages_per_cpu = 8,
				       .clock_hz = 1000000000};

	fathom_exit();
	contract_hooks.clock = interrupted_clock;
	interrupt_in = 0;
	now_ns = 1000000;
	REQUIRE(!fathom_init(&config));
	REQUIRE(!fathom_tracer_set("preemptirqsoff"));
}

/* The section is what is reported, wherever the interrupt came. */
TEST(an_interrupt_at_either_end_takes_nothing_away)
{
	for (int at_end = 0; at_end < 2; at_end++)
		for (int call = 1; call <= 8; call++) {
			struct fathom_latency_report r;

			begin();
			interrupt_in = at_end ? 0 : call;
			fathom_note_preempt(1, OUTER_AT, 0);
			interrupt_in = at_end ? call : 0;
			now_ns += 50000;
			fathom_note_preempt(0, OUTER_END, 0);
			fathom_latency_report(&r);
			CHECK(r.latency_ns >= 50000);
			CHECK_EQ(r.started_at, OUTER_AT);
			CHECK_EQ(r.ended_at, OUTER_END);
			CHECK_EQ(fathom_tracer_set("nop"), 0);
		}
}

TEST_MAIN
