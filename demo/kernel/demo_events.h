/* SPDX-License-Identifier: MIT */
/* demo_events.h -- events of this kernel's own, in Linux's syntax and in the short form. */
/* clang-format off */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM raw_syscalls

#if !defined(DEMO_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define DEMO_EVENTS_H

#include "fathom/tracepoint.h"
#include "syscalls.h"

#define SYSCALL_TEXT_FIRST(number, name) { number, #name }
#define SYSCALL_TEXT(number, name) , { number, #name }
#define syscall_name(id) __print_symbolic(id, SYSCALLS(SYSCALL_TEXT_FIRST, SYSCALL_TEXT))

TRACE_EVENT(sys_enter,

	TP_PROTO(uint32_t id, uint64_t arg0, uint64_t arg1, uint64_t arg2),

	TP_ARGS(id, arg0, arg1, arg2),

	TP_STRUCT__entry(
		__field(	uint64_t,	arg0	)
		__field(	uint64_t,	arg1	)
		__field(	uint64_t,	arg2	)
		__field(	uint32_t,	id	)
	),

	TP_fast_assign(
		__entry->id	= id;
		__entry->arg0	= arg0;
		__entry->arg1	= arg1;
		__entry->arg2	= arg2;
	),

	TP_printk("%s(0x%llx, 0x%llx, 0x%llx)", syscall_name(__entry->id),
		  __entry->arg0, __entry->arg1, __entry->arg2)
);

/* The duration is from the first instruction in C to the last, the time it was blocked or preempted included. */
TRACE_EVENT(sys_exit,

	TP_PROTO(uint32_t id, int64_t ret, uint64_t duration_ns),

	TP_ARGS(id, ret, duration_ns),

	TP_STRUCT__entry(
		__field(	int64_t,	ret		)
		__field(	uint64_t,	duration_ns	)
		__field(	uint32_t,	id		)
	),

	TP_fast_assign(
		__entry->id		= id;
		__entry->ret		= ret;
		__entry->duration_ns	= duration_ns;
	),

	TP_printk("%s = %lld duration=%llu ns", syscall_name(__entry->id),
		  __entry->ret, __entry->duration_ns)
);

/* A task uses a capability: its type has a name in the trace. */
TRACE_EVENT(cap_invoke,

	TP_PROTO(uint32_t slot, uint32_t type, uint32_t op),

	TP_ARGS(slot, type, op),

	TP_STRUCT__entry(
		__field(	uint32_t,	slot	)
		__field(	uint32_t,	type	)
		__field(	uint32_t,	op	)
	),

	TP_fast_assign(
		__entry->slot	= slot;
		__entry->type	= type;
		__entry->op	= op;
	),

	TP_printk("slot=%u type=%s op=%s", __entry->slot,
		  __print_symbolic(__entry->type, { 0, "null" }, { 1, "endpoint" }, { 2, "reply" }),
		  __print_symbolic(__entry->op, { 0, "send" }, { 1, "recv" }, { 2, "call" }, { 3, "reply_recv" }))
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE demo_events
#include "fathom/define_trace.h"
