/* SPDX-License-Identifier: MIT */
/* internal.c -- the `ftrace` system: descriptors of the records that tracers and trace_printk() write, with Linux's ids. */
#include "fathom/inside/internal.h"
#include "fathom/tracepoint.h"

#define INTERNAL_SIGNED(type) ((type)-1 < (type)1)
#define INTERNAL_AS(st, text, item, sign)                                                     \
	{                                                                                     \
		text, #item, offsetof(struct st, item), sizeof(((struct st *)0)->item), sign, \
			FATHOM_FIELD_OTHER                                                    \
	}
#define INTERNAL_TAIL(st, text, item, sign)                                         \
	{                                                                           \
		text, #item, offsetof(struct st, item), 0, sign, FATHOM_FIELD_OTHER \
	}

/* Behind the members of the record, in some. */
#define INTERNAL_MORE(text, name, at, bytes)                 \
	{                                                    \
		text, name, at, bytes, 0, FATHOM_FIELD_OTHER \
	}

#define INTERNAL_EVENT(ident, number, text, list) \
	INTERNAL_EVENT_OF(ident, number, text, list, sizeof(list) / sizeof(list[0]))
#define INTERNAL_EVENT_OF(ident, number, text, list, nr) \
	struct fathom_event fathom_ev_##ident = {        \
		.system = "ftrace",                      \
		.name = #ident,                          \
		.print_fmt = text,                       \
		.fields = list,                          \
		.nr_fields = nr,                         \
		.id = number,                            \
		.state = FATHOM_EVENT_ON,                \
	};                                               \
	FATHOM_REGISTER(fathom_ev_##ident)

static const struct fathom_field internal_print[] = {
	INTERNAL_AS(fathom_rec_print, "unsigned long", ip, 0),
	INTERNAL_TAIL(fathom_rec_print, "char[]", buf, INTERNAL_SIGNED(char)),
};
INTERNAL_EVENT(print, WIRE_ID_PRINT, "\"%ps: %s\", (void *)REC->ip, REC->buf", internal_print)

static const struct fathom_field internal_bprint[] = {
	INTERNAL_AS(fathom_rec_bprint, "unsigned long", ip, 0),
	INTERNAL_AS(fathom_rec_bprint, "const char *", fmt, 0),
	INTERNAL_TAIL(fathom_rec_bprint, "u32[]", buf, 0),
};
INTERNAL_EVENT(bprint, WIRE_ID_BPRINT, "\"%ps: %s\", (void *)REC->ip, REC->fmt", internal_bprint)

static const struct fathom_field internal_bputs[] = {
	INTERNAL_AS(fathom_rec_bputs, "unsigned long", ip, 0),
	INTERNAL_AS(fathom_rec_bputs, "const char *", str, 0),
};
INTERNAL_EVENT(bputs, WIRE_ID_BPUTS, "\"%ps: %s\", (void *)REC->ip, REC->str", internal_bputs)

static const struct fathom_field internal_raw[] = {
	INTERNAL_AS(fathom_rec_raw, "unsigned int", id, 0),
	INTERNAL_TAIL(fathom_rec_raw, "char[]", buf, INTERNAL_SIGNED(char)),
};
INTERNAL_EVENT(raw_data, WIRE_ID_RAW_DATA, "\"id:%04x %08x\", REC->id, (int)REC->buf[0]",
	       internal_raw)

#if FATHOM_FUNCTIONS

static const struct fathom_field internal_function[] = {
	INTERNAL_AS(fathom_rec_function, "unsigned long", ip, 0),
	INTERNAL_AS(fathom_rec_function, "unsigned long", parent_ip, 0),
	INTERNAL_MORE("unsigned long[]", "args", FATHOM_FUNCTION_ARGS, 0),
};
INTERNAL_EVENT(function, WIRE_ID_FUNCTION,
	       "\" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip", internal_function)

static const struct fathom_field internal_entry[] = {
	INTERNAL_AS(fathom_rec_funcgraph_entry, "unsigned long", func, 0),
	INTERNAL_AS(fathom_rec_funcgraph_entry, "int", depth, 1),
	INTERNAL_MORE("unsigned long[]", "args", FATHOM_ENTRY_ARGS, 0),
};
INTERNAL_EVENT(funcgraph_entry, WIRE_ID_FUNCGRAPH_ENTRY,
	       "\"--> %ps (%d)\", (void *)REC->func, REC->depth", internal_entry)

static const struct fathom_field internal_exit[] = {
	INTERNAL_AS(fathom_rec_funcgraph_exit, "unsigned long", func, 0),
	INTERNAL_AS(fathom_rec_funcgraph_exit, "int", depth, 1),
	INTERNAL_AS(fathom_rec_funcgraph_exit, "unsigned int", overrun, 0),
	INTERNAL_AS(fathom_rec_funcgraph_exit, "unsigned long long", calltime, 0),
	INTERNAL_AS(fathom_rec_funcgraph_exit, "unsigned long long", rettime, 0),
	INTERNAL_MORE("unsigned long", "retval", FATHOM_EXIT_RETVAL, sizeof(unsigned long)),
};
INTERNAL_EVENT_OF(funcgraph_exit, WIRE_ID_FUNCGRAPH_EXIT,
		  "\"<-- %ps (%d) (start: %llx  end: %llx) over: %d\", (void *)REC->func, "
		  "REC->depth, REC->calltime, REC->rettime, REC->depth",
		  internal_exit, FATHOM_EXIT_FIELDS)

static const struct fathom_field internal_switch[] = {
	INTERNAL_AS(fathom_rec_switch, "unsigned int", prev_pid, 0),
	INTERNAL_AS(fathom_rec_switch, "unsigned int", next_pid, 0),
	INTERNAL_AS(fathom_rec_switch, "unsigned int", next_cpu, 0),
	INTERNAL_AS(fathom_rec_switch, "unsigned char", prev_prio, 0),
	INTERNAL_AS(fathom_rec_switch, "unsigned char", prev_state, 0),
	INTERNAL_AS(fathom_rec_switch, "unsigned char", next_prio, 0),
	INTERNAL_AS(fathom_rec_switch, "unsigned char", next_state, 0),
};
INTERNAL_EVENT(context_switch, WIRE_ID_CONTEXT_SWITCH,
	       "\"%u:%u:%u  ==> %u:%u:%u [%03u]\", REC->prev_pid, REC->prev_prio, "
	       "REC->prev_state, REC->next_pid, REC->next_prio, REC->next_state, REC->next_cpu",
	       internal_switch)
INTERNAL_EVENT(wakeup, WIRE_ID_WAKEUP,
	       "\"%u:%u:%u  ==+ %u:%u:%u [%03u]\", REC->prev_pid, REC->prev_prio, "
	       "REC->prev_state, REC->next_pid, REC->next_prio, REC->next_state, REC->next_cpu",
	       internal_switch)

/* Linux names eight of the callers here; a record holds as many as `size` says. */
#define INTERNAL_STACK_FMT                                                                   \
	"\"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" \"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" " \
	"\"\\t=> "                                                                           \
	"%ps\\n\\t=> %ps\\n\", (void *)REC->caller[0], (void *)REC->caller[1], (void "       \
	"*)REC->caller[2], (void *)REC->caller[3], (void *)REC->caller[4], (void "           \
	"*)REC->caller[5], (void *)REC->caller[6], (void *)REC->caller[7]"
static const struct fathom_field internal_stack[] = {
	INTERNAL_AS(fathom_rec_stack, "int", size, 1),
	{"unsigned long[8]", "caller", offsetof(struct fathom_rec_stack, caller),
	 8 * sizeof(unsigned long), 0, FATHOM_FIELD_OTHER},
};
INTERNAL_EVENT(kernel_stack, WIRE_ID_KERNEL_STACK, INTERNAL_STACK_FMT, internal_stack)
static const struct fathom_field internal_user_stack[] = {
	{"unsigned int", "tgid", offsetof(struct fathom_rec_user_stack, tgid), 4, 0,
	 FATHOM_FIELD_OTHER},
	{"unsigned long[8]", "caller", offsetof(struct fathom_rec_user_stack, caller),
	 8 * sizeof(unsigned long), 0, FATHOM_FIELD_OTHER},
};
INTERNAL_EVENT(user_stack, WIRE_ID_USER_STACK, INTERNAL_STACK_FMT, internal_user_stack)

static const struct fathom_field internal_repeats[] = {
	INTERNAL_AS(fathom_rec_repeats, "unsigned long", ip, 0),
	INTERNAL_AS(fathom_rec_repeats, "unsigned long", parent_ip, 0),
	INTERNAL_AS(fathom_rec_repeats, "u16", count, 0),
	INTERNAL_AS(fathom_rec_repeats, "u16", top_delta_ts, 0),
	INTERNAL_AS(fathom_rec_repeats, "u32", bottom_delta_ts, 0),
};
INTERNAL_EVENT(func_repeats, WIRE_ID_FUNC_REPEATS,
	       "\" %ps <-%ps\\t(repeats:%u  delta: -%llu)\", (void *)REC->ip, (void "
	       "*)REC->parent_ip, REC->count, (((u64)(REC)->top_delta_ts << 32) | "
	       "(REC)->bottom_delta_ts)",
	       internal_repeats)

#endif
