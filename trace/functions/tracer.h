/* SPDX-License-Identifier: MIT */
/* tracer.h -- what current_tracer offers, and how it is steered: tracers, function sets, probes, options, limits. */
#ifndef FUNCTIONS_TRACER_H
#define FUNCTIONS_TRACER_H

#include <stddef.h>
#include <stdint.h>
#include "fathom/object.h"
#include "fathom/task.h"
#include "wire/text.h"

/*
 * Everything here is called in task context with fathom_lock() held, but for what says otherwise. Errors are negative; a call that fails has changed nothing.
 */

/* ---- tracers ---- */

enum fathom_tracer_flags {
	/* keeps the worst case in the snapshot; printed in latency format */
	FATHOM_TRACER_LATENCY = 1,
	FATHOM_TRACER_FUNCTION = 2, /* needs function sites */
	FATHOM_TRACER_GRAPH = 4,    /* printed in the function_graph layout */
};

/* A tracer's own file in options/, and its bit in fathom_tracer_options(). */
struct fathom_tracer_option {
	const char *name;
	uint32_t bit;
};

struct fathom_tracer {
	const char *name;
	uint32_t flags;
	const struct fathom_tracer_option *options; /* ends with a NULL name */
	int (*start)(void);
	void (*stop)(void);
	/* that option was turned while it runs; on an error it stops */
	int (*changed)(uint32_t bit);
};

/* The tracers that work here, in the order available_tracers prints; `nop` is the last. NULL behind the end. */
const struct fathom_tracer *fathom_tracer_at(uint32_t index);
const struct fathom_tracer *fathom_tracer_current(void);
/*
 * Stop the current one and start `name`. -EINVAL: unknown. If it cannot start, nop runs and the error is returned: -EBUSY, a
 * latency tracer that cannot run beside it does in an instance.
 */
int fathom_tracer_set(const char *name);

/* Bits of fathom_tracer_options(). Defaults are Linux's. */
enum fathom_tracer_option_bit {
	FATHOM_OPT_FUNC_STACK = 1u << 0,	/* func_stack_trace */
	FATHOM_OPT_FUNC_NO_REPEATS = 1u << 1,	/* func-no-repeats */
	FATHOM_OPT_GRAPH_OVERRUN = 1u << 2,	/* funcgraph-overrun */
	FATHOM_OPT_GRAPH_CPU = 1u << 3,		/* funcgraph-cpu, on */
	FATHOM_OPT_GRAPH_OVERHEAD = 1u << 4,	/* funcgraph-overhead, on */
	FATHOM_OPT_GRAPH_PROC = 1u << 5,	/* funcgraph-proc */
	FATHOM_OPT_GRAPH_DURATION = 1u << 6,	/* funcgraph-duration, on */
	FATHOM_OPT_GRAPH_ABSTIME = 1u << 7,	/* funcgraph-abstime */
	FATHOM_OPT_GRAPH_IRQS = 1u << 8,	/* funcgraph-irqs, on */
	FATHOM_OPT_GRAPH_TAIL = 1u << 9,	/* funcgraph-tail */
	FATHOM_OPT_GRAPH_SLEEP_TIME = 1u << 10, /* sleep-time, on */
	FATHOM_OPT_GRAPH_GRAPH_TIME = 1u << 11, /* graph-time, on */
	/* display-graph: latency tracers record calls and returns */
	FATHOM_OPT_DISPLAY_GRAPH = 1u << 12,
	/* function-trace, on: latency tracers record functions */
	FATHOM_OPT_FUNCTION_TRACE = 1u << 13,
	/* function-fork: children of set_ftrace_pid's tasks too */
	FATHOM_OPT_FUNCTION_FORK = 1u << 14,
	/* blk_classic: lines as blkparse has them. There are no cgroups to record: the others are taken and change nothing. */
	FATHOM_OPT_BLK_CLASSIC = 1u << 15,
	FATHOM_OPT_BLK_CGROUP = 1u << 16,
	FATHOM_OPT_BLK_CGNAME = 1u << 17,
	/* What args.c adds to records; the bits are together, so that one test says whether there is any. */
	FATHOM_OPT_FUNC_ARGS = 1u << 20,	/* func-args */
	FATHOM_OPT_GRAPH_ARGS = 1u << 21,	/* funcgraph-args */
	FATHOM_OPT_GRAPH_RETVAL = 1u << 22,	/* funcgraph-retval */
	FATHOM_OPT_GRAPH_RETVAL_HEX = 1u << 23, /* funcgraph-retval-hex */
	FATHOM_OPT_GRAPH_RETADDR = 1u << 24,	/* funcgraph-retaddr */
};
uint32_t fathom_tracer_options(void);
/* Takes effect on the running tracer at once; display-graph makes a latency tracer start over. 0 or -errno. */
int fathom_tracer_option_set(uint32_t bit, int on);

/* ---- functions ---- */

/* The traceable functions, by address: available_filter_functions. */
uint32_t fathom_function_count(void);
uintptr_t fathom_function_address(uint32_t index); /* 0: it was given away */
/* NULL if config.symbol does not know it. */
const char *fathom_function_name(uint32_t index);
/* For enabled_functions: number of users of the site now. */
uint32_t fathom_function_users(uint32_t index);
int fathom_function_is_touched(uint32_t index); /* for touched_functions: it had one at any time */
/*
 * And where it leads, if it has any: the code that calls `*handler`, which serves the one user that it has; `*entry` 0: one
 * for all users.
 */
void fathom_function_way(uint32_t index, uintptr_t *entry, uintptr_t *handler);

/* NULL: of none. */
const char *fathom_function_module(uint32_t index);

/* Sets over the functions. An empty FILTER, GRAPH or PROFILE set means all of them. */
enum fathom_function_set {
	FATHOM_SET_FILTER,	  /* set_ftrace_filter */
	FATHOM_SET_NOTRACE,	  /* set_ftrace_notrace */
	FATHOM_SET_GRAPH,	  /* set_graph_function */
	FATHOM_SET_GRAPH_NOTRACE, /* set_graph_notrace */
	FATHOM_SET_STACK,	  /* stack_trace_filter */
	FATHOM_SET_NR,
};

/* A copy of a set that is edited (listeners.h) has so many bytes. */
size_t fathom_function_set_bytes(void);

/* Function probes: what set_ftrace_filter lists behind the names, as `name:command:unlimited` or `:count=N`. */
struct fathom_function_probe {
	uint32_t function; /* index */
	int32_t left;	   /* runs left; -1: unlimited */
	const char *command;
	const char *arg; /* of enable_event: "sys:event"; else NULL */
};

/*
 * A command for function probes. traceon, traceoff, stacktrace, dump and cpudump are built in; control/ adds what
 * belongs to it (snapshot, enable_event, disable_event). `open` turns the text behind the command into `*data`, the same for
 * the same text; `run` is called in the traced function's context, NMI included. A probe belongs to an instance, or to the
 * top (NULL).
 */
struct fathom_listener;
struct fathom_function_hit {
	uintptr_t ip, parent_ip;
	uintptr_t fp; /* the frame of the function's caller */
	uint32_t context;
	struct fathom_listener *instance;
	void *data;
};
struct fathom_function_command {
	const char *name;
	/* NULL: takes no argument */
	int (*open)(struct fathom_listener *instance, const char *arg, size_t bytes, void **data);
	void (*run)(const struct fathom_function_hit *hit);
	/* The argument again, for the list. */
	const char *(*describe)(struct fathom_listener *instance, void *data);
	/* Nothing to do now: not run and not counted; NULL: always run. */
	int (*idle)(const struct fathom_function_hit *hit);
};
int fathom_function_command_add(const struct fathom_function_command *command);

/* ---- limits ---- */

/* set_ftrace_pid and set_ftrace_notrace_pid: -ENOSPC behind FATHOM_PIDS_MAX. Empty: every task. */
enum fathom_pid_set {
	FATHOM_PIDS_TRACE,
	FATHOM_PIDS_NOTRACE,
	FATHOM_PIDS_NR,
};

/* max_graph_depth; 0: no limit but the shadow stack's. */
void fathom_graph_depth_set(uint32_t depth);
uint32_t fathom_graph_depth(void);

/* tracing_thresh, in ns; 0: off. function_graph then records only returns that took longer. */
void fathom_thresh_set(uint64_t ns);
uint64_t fathom_thresh(void);

/* tracing_max_latency, in ns; written by the latency tracers, 0 starts over. */
void fathom_max_latency_set(uint64_t ns);
uint64_t fathom_max_latency(void);

/* What the latency banner says of the recorded maximum. */
struct fathom_latency_report {
	uint64_t latency_ns;
	uint64_t start; /* ring time where the critical section began */
	int32_t pid;
	int32_t nice, policy, rt_prio; /* of a task that woke; 0 else */
	uint32_t cpu;
	uintptr_t started_at; /* 0: the banner has no such lines (wakeup tracers) */
	uintptr_t ended_at;
};
void fathom_latency_report(struct fathom_latency_report *out); /* the top's */

/* ---- stack tracer ---- */

int fathom_stack_tracer_set(int on);
int fathom_stack_tracer_is_on(void);
/* stack_max_size; setting it to 0 starts over. */
uint64_t fathom_stack_max(void);
void fathom_stack_max_set(uint64_t bytes);

/* The deepest stack. It is copied out to be printed, since a deeper one may be found at any time. */
struct fathom_stack_seen {
	uint64_t bytes;
	uint32_t nr;
	uintptr_t ip[FATHOM_STACK_SEEN_MAX];
	uintptr_t at[FATHOM_STACK_SEEN_MAX]; /* where on the stack ip[i] lies */
	uintptr_t top;			     /* end of the stack */
};
void fathom_stack_copy(struct fathom_stack_seen *out);
/* The text of stack_trace. */
void fathom_stack_text(struct fathom_text *out, const struct fathom_stack_seen *s);

/* ---- function profile ---- */

/* function_profile_enabled. -ENOMEM: the memory given to fathom_init() had no room for the counters. */
int fathom_profile_set(int on);
int fathom_profile_is_on(void);
/* The functions that were called on the CPU, the longest first, into order[fathom_function_count()]; how many. */
uint32_t fathom_profile_order(uint32_t cpu, uint32_t *order);
struct fathom_profile_count {
	unsigned long hits;
	uint64_t ns;
	uint64_t squared; /* sum of ns * ns, as Linux keeps it: wraps for very long calls */
};
/* Of a function on the CPU, as it is now. 0: nothing. */
int fathom_profile_get(uint32_t cpu, uint32_t function, struct fathom_profile_count *out);
/* The text of trace_stat/function<cpu>: its head, and the line of a function, with these counts or with those of now. */
void fathom_profile_head(struct fathom_text *out);
void fathom_profile_text(const struct fathom_profile_count *c, uint32_t function,
			 struct fathom_text *out);
void fathom_profile_line(uint32_t cpu, uint32_t function, struct fathom_text *out);

#endif
