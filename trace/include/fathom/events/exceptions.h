/* SPDX-License-Identifier: MIT */
/* exceptions.h -- ready-made events of page faults: Linux's names, fields and text. */
/* clang-format off */
/* GNU's variadic macros and Linux's `;` behind TRACE_EVENT() are no business of a pedantic includer. */
#pragma GCC system_header
#undef TRACE_SYSTEM
#define TRACE_SYSTEM exceptions

#if !defined(FATHOM_EVENTS_EXCEPTIONS_H) || defined(TRACE_HEADER_MULTI_READ)
#define FATHOM_EVENTS_EXCEPTIONS_H

#include "fathom/tracepoint.h"

DECLARE_EVENT_CLASS(fathom_page_fault,

	TP_PROTO(uintptr_t address, uintptr_t ip, uintptr_t error_code),

	TP_ARGS(address, ip, error_code),

	TP_STRUCT__entry(
		__field_as(	uintptr_t, "unsigned long",	address		)
		__field_as(	uintptr_t, "unsigned long",	ip		)
		__field_as(	uintptr_t, "unsigned long",	error_code	)
	),

	TP_fast_assign(
		__entry->address	= address;
		__entry->ip		= ip;
		__entry->error_code	= error_code;
	),

	TP_printk("address=%ps ip=%ps error_code=0x%lx",
		  (void *)__entry->address, (void *)__entry->ip,
		  __entry->error_code)
);

DEFINE_EVENT(fathom_page_fault, page_fault_user,
	TP_PROTO(uintptr_t address, uintptr_t ip, uintptr_t error_code),
	TP_ARGS(address, ip, error_code));
#define trace_page_fault_user(...) FATHOM_CALL(page_fault_user, __VA_ARGS__)
DEFINE_EVENT(fathom_page_fault, page_fault_kernel,
	TP_PROTO(uintptr_t address, uintptr_t ip, uintptr_t error_code),
	TP_ARGS(address, ip, error_code));
#define trace_page_fault_kernel(...) FATHOM_CALL(page_fault_kernel, __VA_ARGS__)

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH fathom/events
#include "fathom/define_trace.h"
