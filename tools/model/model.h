/* SPDX-License-Identifier: MIT */
/* model.h -- what happened: spans on tracks, edges between them, and where the trace does not know. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "decode/source.h"

/*
 * Events go in, in the order of time; spans come out when they end. This is the only place that pairs events:
 *
 *   a task       is running on a CPU, ready to run, blocked, or it is not known which (sched_switch, sched_wakeup)
 *   a CPU        serves interrupts and soft interrupts, which nest
 *   a task       is in a system call; sends to another (IPC); a call of a function lasts from its entry to its return
 *   pairs        that the user names: an event that begins, one that ends, a field that both share
 *
 *   M1  No span goes on through an interval in which its CPU lost events, nor outside of the time in which its CPU was
 *       recorded: it is cut there (SPAN_CUT), and the rest is SPAN_LOST.
 *   M2  A task that is off the CPU may be woken and run on any CPU, so a loss on any of them ends what is known of it.
 *   M3  A span whose both ends were seen though events were lost in between is given as it is, with SPAN_UNSURE: it is
 *       not longer than that.
 *   M4  Of each task, running, ready, blocked and lost spans touch each other and cover the time from the beginning of the
 *       window (or its birth) to the end (or its death) exactly.
 */
enum span_kind {
	SPAN_RUNNING,
	SPAN_READY,
	SPAN_BLOCKED,
	SPAN_LOST,   /* nothing is known about the task (task track) or the CPU (task -1) */
	SPAN_WAKEUP, /* from the last wakeup to being switched to */
	SPAN_IRQ,
	SPAN_SOFTIRQ,
	SPAN_SYSCALL,
	SPAN_FAULT,
	SPAN_IPC,
	SPAN_CALL,
	SPAN_PAIR,
	SPAN_IRQSOFF, /* interrupts were off on the CPU */
	SPAN_KINDS,
};

enum {
	SPAN_NO_BEGIN = 1, /* it began before the recorded part */
	SPAN_NO_END = 2,   /* it was open when the window ended */
	SPAN_CUT = 4,	   /* it was open when events were lost, or its switch is missing */
	SPAN_UNSURE = 8,   /* M3 */
	SPAN_GUESS =
		16, /* running: the trace has no switches; events of the task were seen here, one after another */
	SPAN_NO_WAKE =
		32, /* blocked, and then it ran: no wakeup was seen, part of the time it may have been ready */
	SPAN_NO_TIME = 64, /* a call of which only the return was seen, not its beginning */
	SPAN_NO_CALL =
		128, /* there was none: what seems called by it was one level less deep; only who has enter() gets it */
};
#define SPAN_WHOLE(flags) \
	(!((flags) & (SPAN_NO_BEGIN | SPAN_NO_END | SPAN_CUT | SPAN_GUESS | SPAN_NO_TIME)))

struct span {
	enum span_kind kind;
	uint32_t flags;
	uint64_t from, to;
	int32_t pid;  /* -1: of the CPU */
	uint32_t cpu; /* where it ended */
	int32_t prio; /* of the task, if known; else -1 */
	uint32_t depth;
	uint64_t key;	     /* function, interrupt, system call; blocked: prev_state */
	uint32_t name;	     /* model_name(); calls: none, see model_span_name() */
	uint64_t self;	     /* of a call: its own time */
	uint64_t begin, end; /* numbers of the events; MODEL_NO_EVENT */
	/* blocked: which task woke it, where, in what context; ready: the same if nothing came before; and in which CPU's queue it began */
	int32_t by;
	uint32_t by_cpu, by_flags, queue;
};
#define MODEL_NO_EVENT UINT64_MAX

/* Linux's common_flags, in span.by_flags: the waker was not its task but what interrupted it. */
#define MODEL_IN_HARDIRQ 0x08u
#define MODEL_IN_SOFTIRQ 0x10u
#define MODEL_IN_NMI	 0x40u

enum edge_kind {
	EDGE_WAKEUP,  /* from the waker to the task that is switched to */
	EDGE_IPC,     /* from the sender to the receiver */
	EDGE_MIGRATE, /* of a task, from a CPU's queue to another's */
};

struct edge {
	enum edge_kind kind;
	int32_t from_pid, to_pid;
	uint32_t from_cpu, to_cpu;
	uint64_t from_time, to_time;
	uint64_t from_event, to_event;
};

/* A call on a task's stack, while it is open. */
struct model_frame {
	uint64_t func; /* 0: its entry was not seen (yet) */
	uint64_t from, children;
	uint64_t entered; /* time of its entry record */
	uint64_t event;
	/* of callees that were seen before it had a name: see calls.c */
	uint64_t early, early_from;
	bool early_inside; /* they, and those that came before its return was written, ran inside it */
	bool entry_to_come; /* it has no name, and its entry may give it one */
	uint64_t cookie;    /* for the listener */
};

#define MODEL_PENDING_MAX 8

struct model_stack {
	struct model_frame *v;
	uint32_t nr, cap;
	uint64_t overrun; /* the largest that an exit reported */
	bool counted;	  /* ... and one reported it */
	/* calls whose returns are to be written yet, while an interrupt's calls are in their place, deepest last: see calls.c */
	struct model_pending {
		struct model_frame frame;
		uint32_t depth;
		uint64_t late, late_from; /* of the calls in its place */
	} pending[MODEL_PENDING_MAX];
	uint32_t nr_pending;
	int32_t pid;
	uint32_t cpu;
};

/* Called as things end; any may be NULL. Their arguments are valid until they return. */
struct model_sink {
	void *arg;
	void (*span)(void *arg, const struct span *s);
	void (*edge)(void *arg, const struct edge *e);
	/* A call was entered: the last of the stack; or one that was not seen is known by now (`named`). Before that its
	 * func is 0. A call that ends is given to span() with the stack still holding it, see model_stack(). */
	void (*enter)(void *arg, struct model_stack *k, bool named);
	/* An event that is not part of a span. */
	void (*mark)(void *arg, const struct event *e, uint64_t number);
};

struct model_pair {
	const char *begin, *end; /* events: name or system:name; `end` may have :key after it */
	const char *key;	 /* field of both; NULL: what `end` says, or the task */
};

enum {
	MODEL_HAS_SWITCH = 1,
	MODEL_HAS_WAKEUP = 2,
	MODEL_HAS_SCHED = 4, /* any of these */
};

struct model_counts {
	uint64_t by_type[SOURCE_ID_FAST];
	uint8_t has[]; /* by stream */
};

struct model_options {
	uint64_t from, to; /* the window; 0 and UINT64_MAX: all */
	const struct model_pair *pairs;
	size_t nr_pairs;
	const struct model_counts *
		counts; /* of the trace: model_count(); NULL: the contents are not known in advance */
	uint32_t without; /* 1 << kind: not wanted, not followed */
};

struct model;

/* NULL with a message: a pair names an event or a field that the trace does not have; or out of memory. */
struct model *model_new(struct source *s, const struct model_options *o,
			const struct model_sink *sink);
/* All events of all streams in the window, as a merge gives them; `number` is the event's in the trace. What ends with an
 * event that is not to be shown (`show` false) is followed and not reported. */
void model_event(struct model *m, const struct event *e, uint64_t number, bool show);
/* The window has ended: open spans are given with SPAN_NO_END. */
void model_end(struct model *m);
/* What tasks do and which calls, system calls and interrupts are open at this moment, given as if the window ended here. The state does not change. */
void model_peek(struct model *m);
/* Of tasks that are over, once they are more than twice `keep`, as many of the oldest that `keep` are left: each is given to gone(), and
 * forgotten. What comes of its pid later is of another task. */
void model_forget(struct model *m, size_t keep, void (*gone)(void *arg, int32_t pid), void *arg);
void model_free(struct model *m);

/* The stack whose last frame is the call that span() was just given. */
struct model_stack *model_stack(struct model *m);
const char *model_name(const struct model *m, uint32_t name);
/* The name of this span for a reader. Valid until the model is freed. */
const char *model_span_name(struct model *m, const struct span *s);
const char *model_function(struct model *m, uint64_t addr);
/*
 * What the trace's table calls the task, as every line of a report does; else its last name in the scheduler's records. Of a recording that
 * goes on, the other way round: the table was read when it began, and may have a name of an earlier task with this pid.
 */
const char *model_comm(struct model *m, int32_t pid);
const char *span_kind_name(enum span_kind kind);
/* Gaps met, for account_make(); calls that function_graph says it did not follow are in *calls. */
const struct losses *model_losses(const struct model *m, uint64_t *calls);
/* Switches that the trace does not have, though it reports no loss there: a task other than the running one was seen. */
uint64_t model_missed(const struct model *m);
/* Page faults that were recorded as one event each: when they ended is not known, and they are not spans. */
uint64_t model_single_faults(const struct model *m);
/* The actual window: the first and the last time. */
uint64_t model_start(const struct model *m);
uint64_t model_finish(const struct model *m);
bool model_failed(const struct model *m); /* out of memory */

/* What is in the trace, counted without a walk by time. The caller frees it; NULL: out of memory. */
struct model_counts *model_count(struct source *s);

#endif
