/* SPDX-License-Identifier: MIT */
/* task.h -- what tracers keep per task. */
#ifndef FATHOM_TASK_H
#define FATHOM_TASK_H

#include <stddef.h>
#include <stdint.h>
#include "fathom/moments.h"
#include "fathom/port_default.h"

/* One call that has not returned yet. */
struct fathom_shadow {
	uintptr_t flags;
	/* where its return address lies on the stack: names the frame; 0: not in use */
	uintptr_t slot;
	uintptr_t ret; /* the return address that was replaced; 0: none was (return sites) */
	uintptr_t func;
	uint64_t calltime;
	uint64_t children; /* time spent in traced callees, for the profile */
};

/*
 * Embed one in each task (a thread's control block), zeroed, or given to fathom_task_new(), before the task first runs.
 * Written by the task it belongs to and by interrupts on top of it; nobody else.
 */
struct fathom_task {
	union {
		struct {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
			uint32_t busy, depth;
#else
			uint32_t depth; /* entries of shadow[] in use */
			/* contexts that are inside the tracer: the recursion guard */
			uint32_t busy;
#endif
		};
		uint64_t state; /* busy << 32 | depth, for who must see or change both at once */
	};
	uint32_t overrun; /* calls lost since the task began, as funcgraph_exit reports it */
	uint32_t inside;  /* set_graph_function: depth of the call that began it, + 1; 0: outside */
	uint32_t quiet;	  /* set_graph_notrace: the same for the call that silenced it */
	/* open calls that are not in shadow[], by choice or because it is full, and will be told to return */
	uint32_t left_out;
	/* of the tracing that filled shadow[]: the flags of a call that it simply records */
	uintptr_t plain;
	uint64_t switched_out; /* when it last left the CPU; 0: it runs */
	struct fathom_shadow shadow[FATHOM_SHADOW_DEPTH];
};

/*
 * C++ exceptions find their way by the return addresses on the stack. Where function_graph has replaced those of the running
 * task they are put back before an exception is raised or resumed, and once it was caught, replaced again for the calls
 * whose frames lie above `sp`: the others are gone. Return addresses on the stack only (x86_64). Context: the task.
 */
void fathom_returns_put_back(void);
void fathom_returns_replace(uintptr_t sp);

/*
 * For a kernel's own backtrace: the way back that lies at `slot` of the running task's stack and reads `ret`, also where
 * function_graph has replaced it. Any context.
 */
uintptr_t fathom_return_address(uintptr_t slot, uintptr_t ret);

/* What the function tracers could not record, by cause: counted, never silent. Any context. */
struct fathom_tracer_stats {
	/* calls not followed: the task's shadow stack was full (funcgraph overrun) */
	uint64_t shadow_full;
	/* returns of calls that were made before their functions were traced, or while sites changed: no fault */
	uint64_t earlier;
	/* other returns without a recorded call. Not those of calls that were left out, by choice or for want of
	 * room */
	uint64_t unmatched;
	uint64_t unwound;   /* recorded calls that were left without a return */
	uint64_t recursion; /* calls not recorded: the tracer itself was running in that context */
	/* calls left out of the graph, with their return: a ring that was on did not take the entry */
	uint64_t refused;
	uint64_t cut;	     /* calls in the graph without their return: a ring did not take it */
	uint64_t forks_lost; /* function-fork: children that found set_ftrace_pid full */
	uint32_t sites_dropped; /* entries of the site tables that are not traceable code */
	uint32_t sites_refused; /* functions of modules that found no room */
};
void fathom_tracer_stats(struct fathom_tracer_stats *out);

#endif
