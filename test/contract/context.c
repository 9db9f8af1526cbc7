/* SPDX-License-Identifier: MIT */
/* context.c -- a kernel that pins by turning interrupts off: its records say what was before the pin, on every path. */
#define CREATE_TRACE_POINTS
#include "fathom/fs.h"
#include "fathom/instrument.h"
#include "fathom/moments.h"
#include "fathom/trace.h"
#include "fathom/tracepoint.h"
#include "harness.h"
#include "hooks.h"
#include "traced.h"
#include "wire/record.h"

TRACE_DEFINE(contract, step, "n=%u", (U32, n))
FATHOM_INSTRUMENT_FUNCTIONS

static uint8_t memory[4 << 20] __attribute__((aligned(4096)));

static void begin(void)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = 1,
				       .pages_per_cpu = 32};

	REQUIRE(!fathom_init(&config));
	fathom_instrument_ready(0, 0);
	REQUIRE(fathom_event_enable("contract:*", 1) == 1);
}

/* Records of that type since the last look, -1 if one says otherwise than `off`. */
static int seen(uint16_t type, int off)
{
	struct fathom_record r;
	int n = 0, wrong = 0;

	while (fathom_ring_consume(fathom_ring_of(0), &r)) {
		const struct wire_common *c = r.data;

		wrong |= (c->flags & WIRE_FLAG_IRQS_OFF) != off;
		n += c->type == type;
	}
	return wrong ? -1 : n;
}

static uint16_t step_id(void)
{
	return fathom_event_find("contract", "step")->id;
}

/* The same with interrupts on and off. */
#define BOTH(type, count, ...)                                        \
	for (uintptr_t off_ = 0; off_ < 2; off_++) {                  \
		hooks_irqs_off = off_;                                \
		__VA_ARGS__;                                          \
		CHECK_EQ(seen(type, (int)off_), count);               \
		CHECK_EQ(hooks_irqs_off, off_); /* pins are undone */ \
		hooks_irqs_off = 0;                                   \
	}

TEST(context_of_events)
{
	begin();
	BOTH(step_id(), 3, for (uint32_t i = 0; i < 3; i++) trace_step(i));
	BOTH(WIRE_ID_BPRINT, 1, trace_printk("n=%d\n", 1));
	BOTH(WIRE_ID_PRINT, 1, fathom_marker(1, "text", 4));
	BOTH(WIRE_ID_PRINT, 1, fathom_set("trace_marker", "text"));
	BOTH(WIRE_ID_RAW_DATA, 1, fathom_set("trace_marker_raw", "text"));
	fathom_exit();
}

TEST(context_of_filtered_events)
{
	begin();
	CHECK_EQ(fathom_set("events/contract/step/filter", "n < 2"), 0);
	BOTH(step_id(), 2, for (uint32_t i = 0; i < 4; i++) trace_step(i));
	CHECK_EQ(fathom_set("events/contract/step/trigger", "stacktrace"), 0);
	BOTH(WIRE_ID_KERNEL_STACK, 1, trace_step(0));
	CHECK_EQ(fathom_set("events/contract/step/trigger", "!stacktrace"), 0);
	CHECK_EQ(fathom_set("options/stacktrace", "1"), 0);
	BOTH(WIRE_ID_KERNEL_STACK, 1, trace_step(0));
	fathom_exit();
}

TEST(context_of_functions)
{
	begin();
	CHECK_EQ(fathom_set("current_tracer", "function"), 0);
	BOTH(WIRE_ID_FUNCTION, 3, cyg_mid(1));
	CHECK_EQ(fathom_set("options/func_stack_trace", "1"), 0);
	BOTH(WIRE_ID_KERNEL_STACK, 3, cyg_mid(1));
	CHECK_EQ(fathom_set("current_tracer", "function_graph"), 0);
	BOTH(WIRE_ID_FUNCGRAPH_ENTRY, 3, cyg_mid(1));
	BOTH(WIRE_ID_FUNCGRAPH_EXIT, 3, cyg_mid(1));
	fathom_exit();
}

/* A section is kept with its stack when it was the longest: the records go to the snapshot, so one is read before it ends. */
TEST(context_of_latencies)
{
	struct fathom_sched_task idle = {.pid = 0, .prio = 120}, task = {.pid = 7, .prio = 100};

	begin();
	CHECK_EQ(fathom_set("current_tracer", "preemptoff"), 0);
	CHECK_EQ(fathom_set("tracing_thresh", "1000000"), 0);
	BOTH(WIRE_ID_FUNCTION, 2, fathom_note_preempt(1, 1, 2); fathom_note_preempt(0, 3, 4));
	CHECK_EQ(fathom_set("current_tracer", "wakeup"), 0);
	BOTH(WIRE_ID_WAKEUP, 1, fathom_note_wakeup(&idle, &task, 0);
	     fathom_task_switch(&idle, &task));
	fathom_exit();
}

TEST_MAIN
