/* SPDX-License-Identifier: MIT */
/* raw_syscalls.h -- ready-made events of the system call path: Linux's names, fields and text. */
/* clang-format off */
/* GNU's variadic macros and Linux's `;` behind TRACE_EVENT() are no business of a pedantic includer. */
#pragma GCC system_header
#undef TRACE_SYSTEM
#define TRACE_SYSTEM raw_syscalls

#if !defined(FATHOM_EVENTS_RAW_SYSCALLS_H) || defined(TRACE_HEADER_MULTI_READ)
#define FATHOM_EVENTS_RAW_SYSCALLS_H

#include "fathom/tracepoint.h"

TRACE_EVENT(sys_enter,

	TP_PROTO(intptr_t id, const uintptr_t args[6]),

	TP_ARGS(id, args),

	TP_STRUCT__entry(
		__field_as(	intptr_t, "long",	id	)
		__array_as(	uintptr_t, "unsigned long",	args,	6	)
	),

	TP_fast_assign(
		__entry->id	= id;
		for (int i = 0; i < 6; i++)
			__entry->args[i] = args[i];
	),

	TP_printk("NR %ld (%lx, %lx, %lx, %lx, %lx, %lx)",
		__entry->id,
		__entry->args[0], __entry->args[1], __entry->args[2],
		__entry->args[3], __entry->args[4], __entry->args[5])
);
#define trace_sys_enter(...) FATHOM_CALL(sys_enter, __VA_ARGS__)

TRACE_EVENT(sys_exit,

	TP_PROTO(intptr_t id, intptr_t ret),

	TP_ARGS(id, ret),

	TP_STRUCT__entry(
		__field_as(	intptr_t, "long",	id	)
		__field_as(	intptr_t, "long",	ret	)
	),

	TP_fast_assign(
		__entry->id	= id;
		__entry->ret	= ret;
	),

	TP_printk("NR %ld = %ld", __entry->id, __entry->ret)
);
#define trace_sys_exit(...) FATHOM_CALL(sys_exit, __VA_ARGS__)

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH fathom/events
#include "fathom/define_trace.h"
