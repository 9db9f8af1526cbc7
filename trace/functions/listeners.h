/* SPDX-License-Identifier: MIT */
/* listeners.h -- sets of functions and of tasks, and who has some beside the top: the instances of control/. */
#ifndef PROBE_LISTENERS_H
#define PROBE_LISTENERS_H

#include <stddef.h>
#include <stdint.h>
#include "fathom/inside/ring.h"
#include "functions/tracer.h"
#include "functions/pids.h"

/* Functions, as bits over the table of sites. Events test it while it changes. */
struct function_set {
	uint32_t *word;
	uint32_t count; /* members */
	uint32_t
		waits; /* lines for modules that are not there: it has no members, and is not empty */
};

/* Nothing was written to it: for those where Linux has it so, all functions. Any context. */
static inline int fathom_set_is_empty(const struct function_set *s)
{
	return !__atomic_load_n(&s->count, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&s->waits, __ATOMIC_RELAXED);
}

int fathom_set_test(const struct function_set *s, uint32_t index);
void fathom_set_copy(const struct function_set *s, uint32_t *copy);
/* Who tests meanwhile sees each function's old or new membership, and never "empty" in between. */
void fathom_set_put(struct function_set *s, const uint32_t *copy, uint32_t waits);
/* The first member with index >= from, or -1. */
int fathom_set_next(const struct function_set *s, uint32_t from);

/* A list that is active and empty (its tasks have ended) is not the same as none. */
struct function_pids {
	struct fathom_pids pids;
	uint32_t active; /* something was written to it since it was cleared */
};

/* set_ftrace_pid and set_ftrace_notrace_pid. Any context; a list that changes meanwhile answers for the old or new one. */
int fathom_pids_pass(const struct function_pids lists[FATHOM_PIDS_NR], int32_t pid);
struct function_pids *fathom_function_pids(enum fathom_pid_set set); /* the top's */
int fathom_list_add(struct function_pids *list, int32_t pid);	     /* 0, -EINVAL, -ENOSPC */
void fathom_list_clear(struct function_pids *list);

/* func-no-repeats: the last call of a CPU, and how often it came again since it was recorded. That CPU's. */
struct function_last {
	uintptr_t ip, parent_ip;
	uint64_t last_ts;
	uint32_t count;
};
/* 1 if the call is the last one again and was only counted. The caller is pinned and holds the guard. */
int fathom_function_repeats(struct function_last *last, struct fathom_ring *ring, uintptr_t ip,
			    uintptr_t parent_ip, uint32_t context);

/* The worst case that a latency tracer found. */
struct fathom_latency_worst {
	uint64_t max_ns; /* tracing_max_latency: may be set meanwhile */
	struct fathom_latency_report report;
};

/*
 * The function tracer and the function probes of an instance. Its owner changes it under the tree's lock and then calls
 * fathom_tracer_refresh(); calls look at it inside fathom_gate.enter and leave, after which its memory may go.
 */
struct fathom_listener {
	struct fathom_ring **ring; /* by CPU */
	uint32_t *off;		   /* 1: it does not record */
	void *owner;
	uint32_t on; /* functions are recorded: its tracer is `function`, or a latency tracer */
	uint32_t options; /* FATHOM_OPT_FUNC_STACK, FATHOM_OPT_FUNCTION_FORK, ... */
	const struct fathom_tracer *latency; /* the latency tracer that runs in it; NULL: none */
	struct fathom_latency_worst worst;   /* that it found */
	int (*gate)(void);		     /* asked per call: 0: not this one. NULL: always */
	/* Keep what its rings hold in the spares: of one CPU alone, or of all. 0 or -errno. Any context. */
	int (*keep)(struct fathom_listener *l, uint32_t cpu);
	struct function_set set[FATHOM_SET_NOTRACE + 1];
	struct function_pids pids[FATHOM_PIDS_NR];
	struct function_last *last; /* by CPU */
};
extern struct fathom_listener *fathom_listeners[FATHOM_INSTANCES_MAX];

/* Bytes of one with all that is its own behind it, and that memory, zeroed, made one. */
size_t fathom_listener_bytes(void);
struct fathom_listener *fathom_listener_init(void *memory);

uint32_t fathom_listeners_want(uint32_t site); /* how many */
/* Record the call for those that want it; beside `slot` are its registers (NULL: not known). The caller is pinned and holds the guard. */
void fathom_listeners_call(uint32_t site, uintptr_t ip, uintptr_t parent_ip, const uintptr_t *slot,
			   uintptr_t fp, uint32_t context);
/* function-fork. Context: where the kernel forks; a child of -1: the task ends. */
typedef void (*fork_lists_fn)(struct function_pids lists[FATHOM_PIDS_NR], int32_t parent,
			      int32_t child);
void fathom_listeners_fork(fork_lists_fn fork_lists, int32_t parent, int32_t child);
int fathom_listeners_follow_forks(void);
/* function-fork was turned, by the top or a listener. */
void fathom_function_forks_changed(void);

/*
 * Run a latency tracer in it, or stop the one that runs (NULL). Its spares are there. -EBUSY: as in Linux, of the wakeup
 * tracers one can run, there or at the top, and one of the others.
 */
int fathom_listener_latency(struct fathom_listener *l, const struct fathom_tracer *t);
/* function-trace of it was turned while one runs. */
int fathom_listener_latency_changed(struct fathom_listener *l);
struct fathom_latency_worst *fathom_latency_worst(struct fathom_listener *l); /* NULL: the top's */

/* What it does with tracing_on, in any context. */
void fathom_listener_turn(struct fathom_listener *l, int on);
int fathom_listener_is_recording(const struct fathom_listener *l);

/*
 * A token as it is written to the file of a set, of the listener's or (NULL) of the top's: `name`, a glob (`*`, `?`, `[a-z]`),
 * `!...` to remove, a number N for the N-th function, `glob:mod:module` (FILTER, NOTRACE: kept until there is such a module).
 * A copy of the set is edited; fathom_set_put() then puts it in its place, and fathom_tracer_refresh() patches once.
 * `glob:command[:count]` (FILTER) is no member: fathom_listener_command() takes it at once and returns 1, 0 if the token is none.
 * -EINVAL: no function matches, or no such command; -ENODEV: no such probe to remove; -ENOSPC: probe table full.
 * fathom_listener_probe_at(): 1 and *out for probe `index`, 0 behind the last.
 */
int fathom_listener_edit(struct fathom_listener *l, enum fathom_function_set set, uint32_t *copy,
			 const char *token, size_t bytes);
int fathom_listener_command(struct fathom_listener *l, enum fathom_function_set set,
			    const char *token, size_t bytes);
int fathom_listener_probe_at(struct fathom_listener *l, uint32_t index,
			     struct fathom_function_probe *out);

#endif
