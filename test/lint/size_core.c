/* SPDX-License-Identifier: MIT */
/* size_core.c -- a kernel of one event that records, dumps, shows text and hands pages out: what it links is the core. */
#define CREATE_TRACE_POINTS
#include "fathom/trace.h"
#include "fathom/tracepoint.h"
#include "fathom/inside/view.h"

TRACE_DEFINE(size, tick, "n=%u", (U32, n))

static char memory[64 * 1024] __attribute__((aligned(4096)));
static char buf[4096];
static struct wire_page page;

void sink(void *arg, const char *text, size_t bytes);
void start(void);

void sink(void *arg, const char *text, size_t bytes)
{
	(void)arg, (void)text, (void)bytes;
}

void start(void)
{
	struct fathom_config config = {
		.memory = memory, .memory_bytes = sizeof(memory), .nr_cpus = 1, .sink = sink};
	struct fathom_view_config all = {
		.rings = fathom_hot.ring, .nr_cpus = 1, .cpu = -1, .options = FATHOM_TEXT_DEFAULT};
	struct fathom_view *v;
	struct fathom_text t;

	fathom_init(&config);
	fathom_event_enable("*", 1);
	trace_tick(1);
	trace_printk("n=%d\n", 1);
	fathom_text_init(&t, buf, sizeof(buf));
	fathom_event_format(fathom_event_at(0), &t);
	v = fathom_view_init(fathom_memory_take(fathom_view_bytes(&all)), fathom_view_bytes(&all),
			     &all);
	fathom_view_header(v, &t);
	fathom_view_next(v, &t);
	fathom_ring_read_page(fathom_ring_of(0), &page, 1);
	fathom_dump(0);
}
