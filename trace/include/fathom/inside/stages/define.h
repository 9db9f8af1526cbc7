/* SPDX-License-Identifier: MIT */
/* define.h -- stage 7: the descriptors, their place in the registry, and the functions that trace_<event>() calls. */
/* clang-format off */
#include "fathom/inside/stages/undef.h"

/* Text of the print format: what TP_printk's arguments expand to, with the record called REC. */
#define __entry			REC
#define TP_printk(fmt, args...) "\"" fmt "\", " FATHOM_STR(args)

#define DECLARE_EVENT_CLASS(call, proto, args, tstruct, assign, print) \
	static const char fathom_evfmt_##call[] __attribute__((__unused__)) = print;

#define FATHOM_DEFINE_EVENT(class, text, event, proto, args, fn_on, fn_off)             \
	struct fathom_event fathom_ev_##event = {.system = FATHOM_STR(TRACE_SYSTEM), \
						    .name = #event,                     \
						    .print_fmt = fathom_evfmt_##text,     \
						    .setup = fathom_evsetup_##class,      \
						    .print = FATHOM_EVENT_TEXT ?          \
							     fathom_evprint_##text : NULL, \
						    .reg = fn_on,                       \
						    .unreg = fn_off};                   \
	FATHOM_REGISTER(fathom_ev_##event)                                           \
	static FATHOM_NOTRACE __attribute__((__noinline__, __cold__, __unused__)) void fathom_evslow_##event(proto) \
	{                                                                               \
		FATHOM_HOOKS(event, void (*)(void *, proto), , args)                    \
		fathom_evcold_##class(&fathom_ev_##event, args);                         \
	}                                                                               \
	FATHOM_NOTRACE __attribute__((__noinline__)) void fathom_evprobe_##event(proto)                    \
	{                                                                               \
		if (!FATHOM_ATTACH || FATHOM_LIKELY(fathom_event_state(&fathom_ev_##event) == \
						    FATHOM_EVENT_ON))                   \
			fathom_evrecord_##class(&fathom_ev_##event, args);              \
		else                                                                    \
			fathom_evslow_##event(args);                                    \
	}

#undef DEFINE_EVENT
#define DEFINE_EVENT(template, name, proto, args)                                       \
	FATHOM_DEFINE_EVENT(template, template, name, PARAMS(proto), PARAMS(args), NULL, NULL)
#undef DEFINE_EVENT_FN
#define DEFINE_EVENT_FN(template, name, proto, args, reg, unreg) \
	FATHOM_DEFINE_EVENT(template, template, name, PARAMS(proto), PARAMS(args), reg, unreg)
#undef DEFINE_EVENT_PRINT
#define DEFINE_EVENT_PRINT(template, name, proto, args, print)             \
	static const char fathom_evfmt_##name[] = print;                     \
	FATHOM_DEFINE_EVENT(template, name, name, PARAMS(proto), PARAMS(args), NULL, NULL)

/* A bare tracepoint: no record, no place in the registry; only for register_trace_<name>(). */
#undef DECLARE_TRACE
#define DECLARE_TRACE(event, proto, args)                                               \
	struct fathom_event fathom_ev_##event = {.system = FATHOM_STR(TRACE_SYSTEM), \
						    .name = #event};                    \
	FATHOM_NOTRACE void fathom_evprobe_##event(proto)                                 \
	{                                                                               \
		FATHOM_HOOKS(event, void (*)(void *, proto), , args)                    \
	}

#undef TRACE_DEFINE_ENUM
#define TRACE_DEFINE_ENUM(a)	FATHOM_ENUM(#a, a)
#undef TRACE_DEFINE_SIZEOF
#define TRACE_DEFINE_SIZEOF(a)	FATHOM_ENUM("sizeof(" #a ")", sizeof(a))
