/* SPDX-License-Identifier: MIT */
/* small.c -- a small machine: ten events of two numbers, and the link that hands them out. `make size` weighs it, flash.py boots it. */
#define CREATE_TRACE_POINTS
#include "fathom/link.h"
#include "fathom/trace.h"
#include "fathom/tracepoint.h"

#define SMALL_EVENT(name) TRACE_DEFINE(small, name, "a=%u b=%u", (U32, a), (U32, b))
SMALL_EVENT(e0)
SMALL_EVENT(e1)
SMALL_EVENT(e2)
SMALL_EVENT(e3)
SMALL_EVENT(e4)
SMALL_EVENT(e5)
SMALL_EVENT(e6)
SMALL_EVENT(e7)
SMALL_EVENT(e8)
SMALL_EVENT(e9)

static struct fathom_link line;
static uint8_t memory[4 * FATHOM_PAGE_BYTES] __attribute__((aligned(FATHOM_PAGE_BYTES)));
void small_start(fathom_link_send_fn send);
void small_input(uint8_t byte);

void small_start(fathom_link_send_fn send)
{
	struct fathom_config config = {
		.memory = memory, .memory_bytes = sizeof(memory), .nr_cpus = 1, .pages_per_cpu = 2};

	if (fathom_init(&config) || fathom_event_enable("*", 1) != 10)
		return;
	trace_e0(1, 2), trace_e1(1, 2), trace_e2(1, 2), trace_e3(1, 2), trace_e4(1, 2);
	trace_e5(1, 2), trace_e6(1, 2), trace_e7(1, 2), trace_e8(1, 2), trace_e9(1, 2);
	fathom_link_init(&line, send, 0);
}

void small_input(uint8_t byte)
{
	fathom_link_input(&line, &byte, 1);
}
