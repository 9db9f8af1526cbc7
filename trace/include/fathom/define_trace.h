/* SPDX-License-Identifier: MIT */
/* define_trace.h -- the definitions behind a header of events: reads it again, once per stage. See tracepoint.h. */
/* clang-format off */
#ifdef CREATE_TRACE_POINTS
#undef CREATE_TRACE_POINTS /* what the header includes in turn is only declared */

/* An event's sizes rarely depend on all of its arguments. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Where the header is: <trace/events/SYSTEM.h> unless it says TRACE_INCLUDE_PATH and TRACE_INCLUDE_FILE. */
#ifndef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE TRACE_SYSTEM
#define FATHOM_UNDEF_INCLUDE_FILE
#endif
#ifdef TRACE_INCLUDE_PATH
#define FATHOM_INCLUDE1(file) FATHOM_STR(TRACE_INCLUDE_PATH/file.h)
#define FATHOM_UNDEF_INCLUDE_PATH
#else
#define FATHOM_INCLUDE1(file) <trace/events/file.h>
#endif
#define FATHOM_INCLUDE(file) FATHOM_INCLUDE1(file)
#define TRACE_HEADER_MULTI_READ

/* In every stage an event is a class and one event of it. */
#undef TRACE_EVENT
#define TRACE_EVENT(name, proto, args, tstruct, assign, print)                           \
	DECLARE_EVENT_CLASS(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct),          \
			    PARAMS(assign), PARAMS(print))                               \
	DEFINE_EVENT(name, name, PARAMS(proto), PARAMS(args))
#undef TRACE_EVENT_CONDITION
#define TRACE_EVENT_CONDITION(name, proto, args, cond, tstruct, assign, print) \
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign), PARAMS(print))
#undef TRACE_EVENT_FN
#define TRACE_EVENT_FN(name, proto, args, tstruct, assign, print, reg, unreg)            \
	DECLARE_EVENT_CLASS(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct),          \
			    PARAMS(assign), PARAMS(print))                               \
	DEFINE_EVENT_FN(name, name, PARAMS(proto), PARAMS(args), reg, unreg)
#undef TRACE_EVENT_FN_COND
#define TRACE_EVENT_FN_COND(name, proto, args, cond, tstruct, assign, print, reg, unreg) \
	TRACE_EVENT_FN(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign), \
		       PARAMS(print), reg, unreg)
#undef DEFINE_EVENT_CONDITION
#define DEFINE_EVENT_CONDITION(template, name, proto, args, cond) \
	DEFINE_EVENT(template, name, PARAMS(proto), PARAMS(args))
#undef TRACE_EVENT_NOP
#define TRACE_EVENT_NOP(name, proto, args, tstruct, assign, print)
#undef DEFINE_EVENT_NOP
#define DEFINE_EVENT_NOP(template, name, proto, args)
#undef DECLARE_TRACE
#define DECLARE_TRACE(name, proto, args)
#undef DECLARE_TRACE_CONDITION
#define DECLARE_TRACE_CONDITION(name, proto, args, cond) \
	DECLARE_TRACE(name, PARAMS(proto), PARAMS(args))
#undef TRACE_DEFINE
#define TRACE_DEFINE(...)

#undef TP_STRUCT__entry
#define TP_STRUCT__entry(...) __VA_ARGS__
#undef TP_fast_assign
#define TP_fast_assign(...) __VA_ARGS__

#include "fathom/inside/stages/struct.h"
#include FATHOM_INCLUDE(TRACE_INCLUDE_FILE)
#include "fathom/inside/stages/offsets.h"
#include FATHOM_INCLUDE(TRACE_INCLUDE_FILE)
#include "fathom/inside/stages/size.h"
#include FATHOM_INCLUDE(TRACE_INCLUDE_FILE)
#include "fathom/inside/stages/print.h"
#include FATHOM_INCLUDE(TRACE_INCLUDE_FILE)
#include "fathom/inside/stages/fields.h"
#include FATHOM_INCLUDE(TRACE_INCLUDE_FILE)
#include "fathom/inside/stages/probe.h"
#include FATHOM_INCLUDE(TRACE_INCLUDE_FILE)
#include "fathom/inside/stages/define.h"
#include FATHOM_INCLUDE(TRACE_INCLUDE_FILE)

#pragma GCC diagnostic pop
#undef TRACE_HEADER_MULTI_READ
#undef FATHOM_INCLUDE
#undef FATHOM_INCLUDE1
#ifdef FATHOM_UNDEF_INCLUDE_FILE
#undef TRACE_INCLUDE_FILE
#undef FATHOM_UNDEF_INCLUDE_FILE
#endif
#ifdef FATHOM_UNDEF_INCLUDE_PATH
#undef TRACE_INCLUDE_PATH
#undef FATHOM_UNDEF_INCLUDE_PATH
#endif

/* Back to declaring: tracepoint.h defines the family again when TRACE_EVENT is not there. */
#undef TRACE_EVENT
#undef TRACE_EVENT_CONDITION
#undef TRACE_EVENT_FN
#undef TRACE_EVENT_FN_COND
#undef TRACE_EVENT_NOP
#undef DECLARE_EVENT_CLASS
#undef DECLARE_EVENT_CLASS_NOP
#undef DEFINE_EVENT
#undef DEFINE_EVENT_FN
#undef DEFINE_EVENT_PRINT
#undef DEFINE_EVENT_CONDITION
#undef DEFINE_EVENT_NOP
#undef DECLARE_TRACE
#undef DECLARE_TRACE_CONDITION
#undef TRACE_DEFINE_ENUM
#undef TRACE_DEFINE_SIZEOF
#undef TRACE_EVENT_FLAGS
#undef TRACE_EVENT_PERF_PERM
#undef TRACE_DEFINE
#define TRACE_DEFINE FATHOM_TRACE_DEFINE
#include "fathom/tracepoint.h"

#define CREATE_TRACE_POINTS
#endif
