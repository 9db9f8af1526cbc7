/* SPDX-License-Identifier: MIT */
/* fathom_port.h -- the hot half of the demo kernel's port, level by level (docs/PORTING.md). */
#ifndef FATHOM_PORT_H
#define FATHOM_PORT_H
#include "task.h"

/* level 0: where, when; and this kernel may preempt a task in the kernel, so a writer is pinned to its CPU */
#define fathom_port_cpu() (LEVEL < 2 ? 0 : cpu_id()) /* level 2: more than one CPU */
#define fathom_port_clock clock_counter
#define fathom_port_pin	  preempt_pin
#define fathom_port_unpin preempt_unpin

#if LEVEL >= 3 /* who, and in which context */
#define fathom_port_task()	 (current_task()->pid)
#define fathom_port_context(pin) ((void)(pin), port_context())
static inline uint32_t port_context(void)
{
	const struct cpu *c = this_cpu();
	uint32_t depth = preempt_count() & 0xffff;

	return (irqs_on() ? 0 : 0x01) | (c->need_resched ? 0x04 : 0) | (c->irq_depth ? 0x08 : 0) |
	       (c->nmi_depth ? 0x40 : 0) | (depth > 15 ? 15 : depth) << 8;
}
#endif

#if LEVEL >= \
	4 /* function tracing: what it keeps per task, how far a stack reaches; these hooks call nothing */
#define FATHOM_PORT_LEAF	 1
#define fathom_port_task_state() (current_task()->trace)
#define fathom_port_stack	 kstack_bounds
#endif

#define FATHOM_PATCH (LEVEL >= 5) /* an event that is off is a NOP; needs config.text_map */
#endif
