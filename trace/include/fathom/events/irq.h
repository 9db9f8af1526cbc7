/* SPDX-License-Identifier: MIT */
/* irq.h -- ready-made events of interrupts: Linux's names, fields and text. */
/* clang-format off */
/* GNU's variadic macros and Linux's `;` behind TRACE_EVENT() are no business of a pedantic includer. */
#pragma GCC system_header
#undef TRACE_SYSTEM
#define TRACE_SYSTEM irq

#if !defined(FATHOM_EVENTS_IRQ_H) || defined(TRACE_HEADER_MULTI_READ)
#define FATHOM_EVENTS_IRQ_H

#include "fathom/tracepoint.h"

#define fathom_softirq_name(val)			\
	__print_symbolic(val,				\
			 { 0, "HI" },			\
			 { 1, "TIMER" },		\
			 { 2, "NET_TX" },		\
			 { 3, "NET_RX" },		\
			 { 4, "BLOCK" },		\
			 { 5, "IRQ_POLL" },		\
			 { 6, "TASKLET" },		\
			 { 7, "SCHED" },		\
			 { 8, "HRTIMER" },		\
			 { 9, "RCU" })

TRACE_EVENT(irq_handler_entry,

	TP_PROTO(int irq, const char *name),

	TP_ARGS(irq, name),

	TP_STRUCT__entry(
		__field(	int,	irq		)
		__string(	name,	name		)
	),

	TP_fast_assign(
		__entry->irq = irq;
		__assign_str(name, name);
	),

	TP_printk("irq=%d name=%s", __entry->irq, __get_str(name))
);
#define trace_irq_handler_entry(...) FATHOM_CALL(irq_handler_entry, __VA_ARGS__)

TRACE_EVENT(irq_handler_exit,

	TP_PROTO(int irq, int ret),

	TP_ARGS(irq, ret),

	TP_STRUCT__entry(
		__field(	int,	irq	)
		__field(	int,	ret	)
	),

	TP_fast_assign(
		__entry->irq	= irq;
		__entry->ret	= ret;
	),

	TP_printk("irq=%d ret=%s",
		  __entry->irq, __entry->ret ? "handled" : "unhandled")
);
#define trace_irq_handler_exit(...) FATHOM_CALL(irq_handler_exit, __VA_ARGS__)

DECLARE_EVENT_CLASS(fathom_softirq,

	TP_PROTO(unsigned int vec),

	TP_ARGS(vec),

	TP_STRUCT__entry(
		__field(	unsigned int,	vec	)
	),

	TP_fast_assign(
		__entry->vec = vec;
	),

	TP_printk("vec=%u [action=%s]", __entry->vec, fathom_softirq_name(__entry->vec))
);

DEFINE_EVENT(fathom_softirq, softirq_entry, TP_PROTO(unsigned int vec), TP_ARGS(vec));
#define trace_softirq_entry(...) FATHOM_CALL(softirq_entry, __VA_ARGS__)
DEFINE_EVENT(fathom_softirq, softirq_exit, TP_PROTO(unsigned int vec), TP_ARGS(vec));
#define trace_softirq_exit(...) FATHOM_CALL(softirq_exit, __VA_ARGS__)
DEFINE_EVENT(fathom_softirq, softirq_raise, TP_PROTO(unsigned int vec), TP_ARGS(vec));
#define trace_softirq_raise(...) FATHOM_CALL(softirq_raise, __VA_ARGS__)

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH fathom/events
#include "fathom/define_trace.h"
