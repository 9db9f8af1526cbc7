/* SPDX-License-Identifier: MIT */
/* targets.c -- a kernel that uses every stage of the library, for amalgamation.sh to link (FATHOM_LEVEL). It is not run. */
#define CREATE_TRACE_POINTS
#ifdef FATHOM_LEVEL
#define FATHOM_EVENTS_SCHED
#define FATHOM_EVENTS_IRQ
#include "fathom.h"
#else
#include "fathom/events/sched.h"
#include "fathom/events/irq.h"
#include "fathom/fs.h"
#include "fathom/link.h"
#include "fathom/trace.h"
#endif

TRACE_DEFINE(target, pair, "a=%u s=%s", (U32, a), (STR, s))

static uint8_t memory[1 << 20] __attribute__((aligned(4096)));
static struct fathom_link line;

void start(void);
static void line_send(void *arg, const void *data, size_t bytes)
{
	(void)arg, (void)data, (void)bytes;
}

void start(void)
{
	struct fathom_config config = {
		.memory = memory, .memory_bytes = sizeof(memory), .nr_cpus = 1};
	uint8_t byte = 0;

	fathom_init(&config);
	fathom_event_enable("*", 1);
	trace_pair(1, "text");
	trace_sched_switch("a", 1, 120, 0, "b", 2, 120);
	trace_printk("n=%d\n", 1);
#if !defined(FATHOM_LEVEL) || FATHOM_LEVEL >= 6
	fathom_set("current_tracer", "function_graph");
#endif
	fathom_link_init(&line, line_send, 0);
	fathom_link_input(&line, &byte, 1);
	fathom_dump(0);
}

/* What a kernel has itself. */
#if !defined(__x86_64__) && !defined(__i386__) && !defined(__aarch64__) && \
	!(defined(__riscv) && __riscv_xlen == 64)
uint64_t fathom_port_clock(void)
{
	return 0;
}
#endif
void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memcpy(void *to, const void *from, size_t n)
{
	return (void)from, (void)n, to;
}
void *memmove(void *to, const void *from, size_t n)
{
	return (void)from, (void)n, to;
}
void *memset(void *to, int c, size_t n)
{
	return (void)c, (void)n, to;
}
int memcmp(const void *a, const void *b, size_t n)
{
	return (void)a, (void)b, (int)n;
}
