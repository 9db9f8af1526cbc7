/* SPDX-License-Identifier: MIT */
/* chain.h -- why a task was late: the time of a delay, link by link, back to the root cause. */
#ifndef MODEL_CHAIN_H
#define MODEL_CHAIN_H

#include "model/walk.h"

/*
 * A delay is an interval of a task's time. It is taken apart by what the task did in it:
 *
 *   it was ready     others ran on its CPU: they, the interrupts they served, and sections with interrupts off
 *   it was blocked   another task woke it: what that one did in the meantime, by the same rules, and so on;
 *                    or an interrupt did: that is where the trace ends, and a cause outside
 *   it ran           by itself, less the interrupts
 *
 *   K1  The leaves cover the delay from its beginning to its end, and do not overlap: their times add up to it.
 *   K2  What lost events, missing switches or unrecorded wakeups hide is a leaf CHAIN_UNKNOWN that says so. Nobody is blamed
 *       for it.
 */
enum chain_kind {
	/* leaves */
	CHAIN_RAN,	 /* the task itself */
	CHAIN_INSTEAD,	 /* `by` ran while the task was ready */
	CHAIN_MEANWHILE, /* `by` ran; whether the task was ready is not recorded */
	CHAIN_IDLE,	 /* the CPU was idle although the task was ready: the switch was pending */
	CHAIN_IRQ,	 /* an interrupt was served on the CPU */
	CHAIN_SOFTIRQ,
	CHAIN_IRQSOFF,	/* `by` had interrupts off there */
	CHAIN_EXTERNAL, /* blocked until an interrupt: a timer, a device */
	CHAIN_UNKNOWN,
	/* what they are under */
	CHAIN_BLOCKED, /* until `by` woke it: what `by` did follows */
	CHAIN_UNBORN,  /* until `by` created it */
	CHAIN_KINDS,
};

struct chain_link {
	enum chain_kind kind;
	uint32_t depth;
	uint64_t from, to; /* a leaf may be several intervals between these */
	uint64_t time, count;
	int32_t of; /* the task whose time it is */
	int32_t by; /* -1: nobody */
	int32_t prio;
	uint32_t cpu; /* CHAIN_NO_CPU: none */
	const char *
		name; /* of an interrupt, of what it is blocked in, or why it is not known; may be "" */
	const char *in; /* blocked: the system call, or "" */
};
#define CHAIN_NO_CPU	    UINT32_MAX
#define CHAIN_IS_LEAF(kind) ((kind) < CHAIN_BLOCKED)

struct chain_delay {
	int32_t pid;
	uint64_t from, to;
	enum span_kind kind; /* SPAN_KINDS: off the CPU */
};

struct chain {
	struct chain_delay delay;
	struct chain_link *links;
	size_t nr;
	const struct chain_link *cause; /* of the leaves, added up by what they are, the largest */
	uint64_t cause_time;
	struct model *model; /* for names; at its end */
};

/* Which delay: the longest of a kind (SPAN_KINDS: of the times off the CPU), or the time off the CPU at or last before `at`. */
struct chain_choice {
	struct model_walk walk;
	const char *task; /* pid, name or name-pid; NULL: any */
	enum span_kind worst;
	bool has_at;
	uint64_t at;
};

/* Set `at` to a time as --from takes it. False: the text is none. */
bool chain_at(struct source *s, const char *text, struct chain_choice *c);
/* 0; -ENOENT: there is no such delay; or another negative errno. */
int chain_find(struct source *s, const struct chain_choice *c, struct chain_delay *out);
/* 0 or a negative errno. The caller frees it, even after an error. */
int chain_make(struct source *s, const struct model_walk *w, const struct chain_delay *d,
	       struct chain *out);
void chain_free(struct chain *c);
const char *chain_kind_name(enum chain_kind kind);

#endif
