/* SPDX-License-Identifier: MIT */
/* size_all.c -- a small machine that has everything: ten events, tracers, the tree by 9P, the link, dumps and the beacon. */
#define CREATE_TRACE_POINTS
#include "fathom/fs.h"
#include "fathom/link.h"
#include "fathom/p9.h"
#include "fathom/save.h"
#include "fathom/trace.h"
#include "fathom/tracepoint.h"

#define ALL_EVENT(name) TRACE_DEFINE(all, name, "a=%u b=%u", (U32, a), (U32, b))
ALL_EVENT(e0)
ALL_EVENT(e1)
ALL_EVENT(e2)
ALL_EVENT(e3)
ALL_EVENT(e4)
ALL_EVENT(e5)
ALL_EVENT(e6)
ALL_EVENT(e7)
ALL_EVENT(e8)
ALL_EVENT(e9)

static struct fathom_link line;
static struct fathom_p9 server;
void start(void *memory, size_t bytes, fathom_link_send_fn line_send, fathom_p9_send_fn p9_send);

void start(void *memory, size_t bytes, fathom_link_send_fn line_send, fathom_p9_send_fn p9_send)
{
	struct fathom_config config = {.memory = memory, .memory_bytes = bytes, .nr_cpus = 1};
	uint8_t byte = 0;

	fathom_init(&config);
	fathom_beacon(0);
	trace_e0(1, 2), trace_e1(1, 2), trace_e2(1, 2), trace_e3(1, 2), trace_e4(1, 2);
	trace_e5(1, 2), trace_e6(1, 2), trace_e7(1, 2), trace_e8(1, 2), trace_e9(1, 2);
	trace_printk("n=%d\n", 1);
	fathom_set("current_tracer", "function_graph");
	fathom_p9_init(&server, p9_send, 0);
	fathom_p9_input(&server, &byte, 1);
	fathom_p9_tick(&server);
	fathom_link_init(&line, line_send, 0);
	fathom_link_input(&line, &byte, 1);
	fathom_dump(0);
}
