/* SPDX-License-Identifier: MIT */
/* event.h -- what the library knows of one event: the descriptor that TRACE_EVENT and TRACE_DEFINE both make. */
#ifndef FATHOM_EVENT_H
#define FATHOM_EVENT_H

#include <stddef.h>
#include <stdint.h>
#include "wire/glob.h"
#include "wire/record.h"
#include "wire/text.h"

struct fathom_field {
	const char *type; /* "pid_t", "char[16]", "__data_loc char[]", "__rel_loc u8[]" */
	const char *name; /* without brackets */
	uint16_t offset;  /* from the start of the record */
	uint16_t size;
	uint8_t is_signed;
	uint8_t hint; /* what __field_ext() said; see fathom_field_kind() */
};

/* How a filter or a histogram looks at a field. */
enum fathom_field_kind {
	FATHOM_FIELD_OTHER,	 /* a number, told by size and is_signed; size 0 or > 8: opaque */
	FATHOM_FIELD_STRING,	 /* char[N] in the record */
	FATHOM_FIELD_DYN_STRING, /* __data_loc char[]: u32, low 16 bits offset, high 16 bits length */
	FATHOM_FIELD_REL_STRING, /* __rel_loc char[]: the offset counts from the end of the field */
	FATHOM_FIELD_PTR_STRING, /* char *: in the kernel's memory, not in the record */
	FATHOM_FIELD_FUNCTION,	 /* an address shown as a symbol */
};

/* From the type's text and the hint, by Linux's rules. */
enum fathom_field_kind fathom_field_kind(const struct fathom_field *f);

/* What a print function works with. `tmp` holds the strings that __print_flags() and its kin make. */
struct fathom_print {
	struct fathom_text *out;
	struct fathom_text *tmp;
	const void *record;
	uint32_t bytes;
};

struct fathom_event;

/* A function that register_trace_<event>() attached; called with the event's own arguments behind `data`. */
struct fathom_hook {
	void (*fn)(void);
	void *data;
	struct fathom_hook *next;
	uint32_t state; /* the registry's; see hooks.c */
};

/* Bits of fathom_event.state. Zero = off: the call site is a NOP (or falls through its branch). */
enum fathom_event_state {
	FATHOM_EVENT_ON = 1,   /* records */
	FATHOM_EVENT_GATE = 2, /* has filters, triggers, instances: fathom_gate.decide() is asked */
	FATHOM_EVENT_HOOK = 4, /* register_trace_<event>() was used */
	FATHOM_EVENT_STACK = 8,	  /* fathom_gate.stack() after each record */
	FATHOM_EVENT_FORMER = 16, /* only tells its records; see fathom_event_is_internal() */
};

struct fathom_event {
	const char *system;
	const char *name;
	const char *print_fmt; /* as written; fathom_event_format() puts the values of enums in */
	const struct fathom_field *fields; /* made by setup() in fathom_init() */
	uint16_t nr_fields;
	uint16_t id;	/* given by fathom_init(), fixed for the `ftrace` system */
	uint32_t state; /* written by fathom_event_set(), read relaxed by the probe */
	void (*setup)(struct fathom_event *ev);
	void (*print)(struct fathom_print *p);
	int (*reg)(void);	   /* TRACE_EVENT_FN: before the first use, may refuse */
	void (*unreg)(void);	   /* after the last */
	struct fathom_hook *hooks; /* read by the probe between fathom_hooks_enter() and _leave() */
	void *control;		   /* control/: filter and triggers of this event */
};

/*
 * control/ and the stack recorder plug in here (a later stage is never called by name). All are called in the context
 * of the event, NMI included. Set them before any event carries the bit that leads to them.
 */
enum fathom_gate_answer {
	FATHOM_GATE_DROP = 0,
	FATHOM_GATE_KEEP = 1,  /* record it */
	FATHOM_GATE_AFTER = 2, /* call after() when that is done (or would have been) */
	FATHOM_GATE_CALL = 4,  /* ... with the record's time */
};
struct fathom_object;
struct fathom_gate {
	uint32_t (*decide)(struct fathom_event *ev, const void *record, uint32_t bytes);
	/*
	 * record NULL: it was too large to be kept beside the ring. `context` is what its common fields say, `time` that of the
	 * record in the ring, or now if it is not there, in ticks.
	 */
	void (*after)(struct fathom_event *ev, const void *record, uint32_t bytes, uint32_t context,
		      uint64_t time);
	void (*stack)(uint32_t context);
	/* A sample was taken: of kernel code at ip, or of user code (0). NULL: nobody asks. */
	void (*sample)(uintptr_t ip, uintptr_t fp);
	/* Not in an event: take samples every so many microseconds, unless some are taken already. NULL: there is no sampler. */
	int (*sampling)(uint32_t us);
	/* Around what looks at memory that control/ may give away. Any context; they nest. */
	void (*enter)(uint32_t cpu);
	void (*leave)(uint32_t cpu);

	/* Not in an event: an object's events are known, or will soon not be, and one is switched on or off. Task context. */
	int (*come)(struct fathom_object *o);
	void (*go)(struct fathom_object *o);
	int (*turn)(struct fathom_event *ev, int on);
	/* Not in an event: the lock was taken, and is about to be released. No ring is exchanged in between. */
	void (*hold)(void);
	void (*release)(void);
	/* Not in an event: fathom_exit() begins, with the lock. NULL: nobody asks. */
	void (*exit)(void);
};
extern struct fathom_gate fathom_gate;

/* The registry: a linker section of pointers, read where it lies. Index order is link order. */
uint32_t fathom_event_count(void);
struct fathom_event *fathom_event_at(uint32_t index);
struct fathom_event *fathom_event_find(const char *system, const char *name); /* system NULL: any */
struct fathom_event *fathom_event_by_id(uint16_t id);
/*
 * Cannot be enabled: the `ftrace` system, which describes what tracers write themselves, and copies of events whose object
 * is gone (FATHOM_EVENT_FORMER), kept so that their records can be read.
 */
int fathom_event_is_internal(const struct fathom_event *ev);

/*
 * Change state bits; patches the call sites when the event turns on or off. 0, or what reg() or the text patcher
 * refused with (the state is then as before). Context: task, with the lock.
 */
int fathom_event_set(struct fathom_event *ev, uint32_t set, uint32_t clear);

/*
 * The call sites of all events for which want() is 1 become jumps, of those for which it is 0 NOPs, with four syncs for
 * every 32 of them. A jump of an event that is off does nothing. For what comes before fathom_event_set() of many: that
 * then finds its sites as they shall be. 0 or the first error. Context: task, with the lock.
 */
int fathom_event_sites(int (*want)(const struct fathom_event *ev, const void *arg),
		       const void *arg);

/* fathom_event_enable(), for who holds the lock. */
int fathom_event_enable_locked(const char *pattern, int on);

/*
 * Attach fn (a void (*)(void *data, <the event's TP_PROTO>)). 0, -EEXIST, -ENOSPC (FATHOM_HOOKS_MAX in use), -EAGAIN: the
 * last free ones were removed just now and may still run. Context: task.
 */
int fathom_event_hook(struct fathom_event *ev, void (*fn)(void), void *data);
/*
 * Detach it: 0 or -ENOENT. An event that began before may still call fn with this data on another CPU, or below in the
 * same stack; before either of them goes away, wait until fathom_hooks_quiet() says 1. Context: as above.
 */
int fathom_event_unhook(struct fathom_event *ev, void (*fn)(void), void *data);
/* The same for who holds the lock. */
int fathom_event_hook_locked(struct fathom_event *ev, void (*fn)(void), void *data);
int fathom_event_unhook_locked(struct fathom_event *ev, void (*fn)(void), const void *data);
int fathom_hooks_quiet(void);
#define tracepoint_synchronize_unregister() \
	do {                                \
	} while (!fathom_hooks_quiet())
/* Around an event's walk of its hooks: what enter gave, leave takes. Any context; they nest. */
uint32_t fathom_hooks_enter(void);
void fathom_hooks_leave(uint32_t in);

/* The text of the event's `format` file, as Linux prints it. */
void fathom_event_format(const struct fathom_event *ev, struct fathom_text *out);
/* What the record says: the text behind "name: ". `tmp` is scratch of at least 512 bytes. */
void fathom_event_print(const struct fathom_event *ev, const void *record, uint32_t bytes,
			struct fathom_text *out, struct fathom_text *tmp);

/* `printf` without libc: the C integer forms, %s %c %p, and the kernel's %pS %ps %pF %px %*ph. */
void fathom_text_printf(struct fathom_text *out, const char *fmt, ...); /* and more in print.h */

/* A name for a value in print formats: TRACE_DEFINE_ENUM, TRACE_DEFINE_SIZEOF. */
struct fathom_enum {
	const char *system;
	const char *name;
	int64_t value;
};

#endif
