/* SPDX-License-Identifier: MIT */
/* tracepoint.h -- declaring events: the TRACE_EVENT family in Linux's syntax, and TRACE_DEFINE, the short form. */
/* clang-format off */
/* GNU's variadic macros and Linux's `;` behind TRACE_EVENT() are no business of a pedantic includer. */
#pragma GCC system_header
#ifndef FATHOM_TRACEPOINT_H
#define FATHOM_TRACEPOINT_H

#include "fathom/inside/site.h"

/*
 * A header of events is written as in Linux:
 *
 *	#undef TRACE_SYSTEM
 *	#define TRACE_SYSTEM disk
 *	#if !defined(TRACE_DISK_H) || defined(TRACE_HEADER_MULTI_READ)
 *	#define TRACE_DISK_H
 *	#include "fathom/tracepoint.h"
 *	TRACE_EVENT(disk_read, ...);
 *	#endif
 *	#undef TRACE_INCLUDE_PATH
 *	#define TRACE_INCLUDE_PATH kernel/trace
 *	#include "fathom/define_trace.h"
 *
 * Exactly one C file says `#define CREATE_TRACE_POINTS` before it includes the header: that file holds the definitions,
 * for which define_trace.h reads the header once more per stage. Everywhere else the header declares
 *
 *	trace_disk_read(...)		the event; if it is off, one NOP (or load + branch)
 *	trace_disk_read_enabled()	to skip work that only the event needs
 *	register_trace_disk_read(probe, data), unregister_trace_disk_read(probe, data)
 *
 * As in Linux, trace_disk_read() is an inline function: C evaluates its arguments first, and what the compiler cannot
 * move behind the NOP (a call with side effects, a loop; with clang, loads) runs even when the event is off. FATHOM_CALL()
 * evaluates nothing then. `trace/lazy_calls` makes that the meaning of the plain name for headers as they stand: it
 * prints, to be given to the compiler by -include, one line per event:
 *
 *	#define trace_disk_read(...) FATHOM_CALL(disk_read, __VA_ARGS__)
 *
 * which a header may also say itself, behind the event, as fathom/events/ do.
 */
#define FATHOM_CALL(name, ...) \
	(FATHOM_EVENT_IS_ON(name) ? fathom_evcall_##name(__VA_ARGS__) : (void)0)

#define PARAMS(...)	      __VA_ARGS__
#define TP_PROTO(...)     __VA_ARGS__
#define TP_ARGS(...)      __VA_ARGS__
#define TP_CONDITION(...) __VA_ARGS__

#define FATHOM_STR1(...) #__VA_ARGS__
#define FATHOM_STR(...)  FATHOM_STR1(__VA_ARGS__)

#define FATHOM_DECLARE(name, proto, args, cond)                                                   \
	extern struct fathom_event fathom_ev_##name FATHOM_HIDDEN;                             \
	void fathom_evprobe_##name(proto) FATHOM_HIDDEN;                                            \
	static inline FATHOM_NOTRACE __attribute__((__unused__)) void fathom_evcall_##name(proto)                      \
	{                                                                                         \
		if (cond)                                                                         \
			fathom_evprobe_##name(args);                                                \
	}                                                                                         \
	/* In brackets: lazy_calls may have made a macro of it. */                                \
	static inline FATHOM_NOTRACE __attribute__((__unused__, __always_inline__)) void (trace_##name)(proto)           \
	{                                                                                         \
		if (FATHOM_EVENT_IS_ON(name))                                                     \
			fathom_evcall_##name(args);                                                 \
	}                                                                                         \
	static inline FATHOM_NOTRACE __attribute__((__unused__, __always_inline__)) int trace_##name##_enabled(void)     \
	{                                                                                         \
		return FATHOM_EVENT_IS_ON(name);                                                  \
	}                                                                                         \
	static inline FATHOM_NOTRACE __attribute__((__unused__)) int register_trace_##name(                          \
		void (*probe)(void *fathom_data, proto), void *data)                              \
	{                                                                                         \
		return fathom_event_hook(&fathom_ev_##name, (void (*)(void))probe, data);      \
	}                                                                                         \
	static inline FATHOM_NOTRACE __attribute__((__unused__)) int unregister_trace_##name(                        \
		void (*probe)(void *fathom_data, proto), void *data)                              \
	{                                                                                         \
		return fathom_event_unhook(&fathom_ev_##name, (void (*)(void))probe, data);    \
	}                                                                                         \
	static inline FATHOM_NOTRACE __attribute__((__unused__)) void check_trace_callback_type_##name(              \
		void (*probe)(void *fathom_data, proto))                                          \
	{                                                                                         \
		(void)probe;                                                                      \
	}

#define EXPORT_TRACEPOINT_SYMBOL(name)
#define EXPORT_TRACEPOINT_SYMBOL_GPL(name)

#include "fathom/inside/define.h"
#endif

/* define_trace.h takes these away and a later header needs them again, so they stand outside of the guard. */
#ifndef TRACE_EVENT
#define DECLARE_TRACE(name, proto, args) FATHOM_DECLARE(name, PARAMS(proto), PARAMS(args), 1)
#define DECLARE_TRACE_CONDITION(name, proto, args, cond) \
	FATHOM_DECLARE(name, PARAMS(proto), PARAMS(args), PARAMS(cond))
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)
#define DECLARE_EVENT_CLASS_NOP(name, proto, args, tstruct, assign, print)
#define DEFINE_EVENT(template, name, proto, args) DECLARE_TRACE(name, PARAMS(proto), PARAMS(args))
#define DEFINE_EVENT_FN(template, name, proto, args, reg, unreg) \
	DECLARE_TRACE(name, PARAMS(proto), PARAMS(args))
#define DEFINE_EVENT_PRINT(template, name, proto, args, print) \
	DECLARE_TRACE(name, PARAMS(proto), PARAMS(args))
#define DEFINE_EVENT_CONDITION(template, name, proto, args, cond) \
	DECLARE_TRACE_CONDITION(name, PARAMS(proto), PARAMS(args), PARAMS(cond))
#define TRACE_EVENT(name, proto, args, tstruct, assign, print) \
	DECLARE_TRACE(name, PARAMS(proto), PARAMS(args))
#define TRACE_EVENT_FN(name, proto, args, tstruct, assign, print, reg, unreg) \
	DECLARE_TRACE(name, PARAMS(proto), PARAMS(args))
#define TRACE_EVENT_FN_COND(name, proto, args, cond, tstruct, assign, print, reg, unreg) \
	DECLARE_TRACE_CONDITION(name, PARAMS(proto), PARAMS(args), PARAMS(cond))
#define TRACE_EVENT_CONDITION(name, proto, args, cond, tstruct, assign, print) \
	DECLARE_TRACE_CONDITION(name, PARAMS(proto), PARAMS(args), PARAMS(cond))
/* Events that Linux keeps as names only: calls compile to nothing. */
#define FATHOM_DECLARE_NOP(name, proto)                                        \
	static inline FATHOM_NOTRACE __attribute__((__unused__)) void trace_##name(proto)         \
	{                                                                      \
	}                                                                      \
	static inline FATHOM_NOTRACE __attribute__((__unused__)) int trace_##name##_enabled(void) \
	{                                                                      \
		return 0;                                                      \
	}
#define DEFINE_EVENT_NOP(template, name, proto, args) FATHOM_DECLARE_NOP(name, PARAMS(proto))
#define TRACE_EVENT_NOP(name, proto, args, tstruct, assign, print) \
	FATHOM_DECLARE_NOP(name, PARAMS(proto))
#define TRACE_DEFINE_ENUM(a)
#define TRACE_DEFINE_SIZEOF(a)
#define TRACE_EVENT_FLAGS(event, flag)
#define TRACE_EVENT_PERF_PERM(event, ...)
#endif
