/* SPDX-License-Identifier: MIT */
/* task.h -- what tracers keep per task, and the moments a kernel tells them about. */
#ifndef FATHOM_TASK_H
#define FATHOM_TASK_H

#include <stddef.h>
#include <stdint.h>
#include "fathom/port_default.h"

/* Calls followed per task; deeper ones run untraced and are counted. A port may define another power of two. */
#ifndef FATHOM_SHADOW_DEPTH
#define FATHOM_SHADOW_DEPTH 64
#endif

_Static_assert((FATHOM_SHADOW_DEPTH & (FATHOM_SHADOW_DEPTH - 1)) == 0,
	       "FATHOM_SHADOW_DEPTH: a power of two");

/* The largest stack a task runs on: frames further apart are taken to be on different stacks. */
#ifndef FATHOM_STACK_BYTES
#define FATHOM_STACK_BYTES 16384
#endif

/* One call that has not returned yet. */
struct fathom_shadow {
	/* where its return address lies on the stack: names the frame; 0: not in use */
	uintptr_t slot;
	uintptr_t func;
	uint64_t calltime;
	uintptr_t ret;	   /* the return address that was replaced; 0: none was (return sites) */
	uint64_t children; /* time spent in traced callees, for the profile */
	uintptr_t flags;
};

/*
 * Embed one in each task (a thread's control block), zeroed or fathom_task_init()ed before the task first runs.
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

void fathom_task_init(struct fathom_task *task);

/*
 * C++ exceptions find their way by the return addresses on the stack. Where function_graph has replaced those of the running
 * task they are put back before an exception is raised or resumed, and once it was caught, replaced again for the calls
 * whose frames lie above `sp`: the others are gone. Return addresses on the stack only (x86_64). Context: the task.
 */
void fathom_returns_put_back(void);
void fathom_returns_replace(uintptr_t sp);

/*
 * Moments. Each is one relaxed load and a branch while no tracer wants it. Context: where the kernel does the thing.
 */
enum fathom_want {
	FATHOM_WANT_SWITCH = 1,
	FATHOM_WANT_WAKEUP = 2,
	FATHOM_WANT_IRQS = 4,
	FATHOM_WANT_PREEMPT = 8,
	FATHOM_WANT_FORK = 16,
};
extern uint32_t fathom_want; /* written by the tracers in task context, read relaxed everywhere */

/* What the wakeup tracers want to know of a task. */
struct fathom_sched_task {
	struct fathom_task *task; /* its tracer state */
	int32_t pid;
	int32_t prio; /* as Linux counts: 0..99 real time (0 highest), 100..139 normal, -1 deadline */
	uint8_t state; /* index into "RSDTtXZPI": 0 running */
	uint8_t is_rt;
	uint8_t is_dl;
	char comm[16];
};

void fathom_note_switch_slow(const struct fathom_sched_task *prev,
			     const struct fathom_sched_task *next);
void fathom_note_wakeup_slow(const struct fathom_sched_task *current,
			     const struct fathom_sched_task *woken, uint32_t cpu);
void fathom_note_migrate_slow(int32_t pid, uint32_t cpu);
void fathom_note_irqs_slow(int off, uintptr_t ip, uintptr_t parent_ip);
void fathom_note_preempt_slow(int off, uintptr_t ip, uintptr_t parent_ip);
void fathom_note_fork_slow(int32_t parent, int32_t child);
void fathom_note_exit_slow(int32_t pid);

static inline int fathom_wanted(uint32_t what)
{
	return __builtin_expect((__atomic_load_n(&fathom_want, __ATOMIC_RELAXED) & what) != 0, 0);
}

/* The scheduler leaves prev for next on this CPU; `fathom_wanted(FATHOM_WANT_SWITCH)` tells if it is worth filling in. */
static inline void fathom_note_switch(const struct fathom_sched_task *prev,
				      const struct fathom_sched_task *next)
{
	if (fathom_wanted(FATHOM_WANT_SWITCH))
		fathom_note_switch_slow(prev, next);
}

/* `woken` was made runnable, to run on `cpu`, while `current` runs here. Context: as the scheduler's own lock asks. */
static inline void fathom_note_wakeup(const struct fathom_sched_task *current,
				      const struct fathom_sched_task *woken, uint32_t cpu)
{
	if (fathom_wanted(FATHOM_WANT_WAKEUP))
		fathom_note_wakeup_slow(current, woken, cpu);
}

/* A task that is runnable, and does not run yet, will run on `cpu` instead: functions are recorded where it waits. */
static inline void fathom_note_migrate(int32_t pid, uint32_t cpu)
{
	if (fathom_wanted(FATHOM_WANT_WAKEUP))
		fathom_note_migrate_slow(pid, cpu);
}

/* Interrupts were just turned off (1) or are about to be turned on (0), at `ip`, called from `parent_ip`. */
static inline void fathom_note_irqs(int off, uintptr_t ip, uintptr_t parent_ip)
{
	if (fathom_wanted(FATHOM_WANT_IRQS))
		fathom_note_irqs_slow(off, ip, parent_ip);
}

/* The same for preemption: on its way from 0 to 1 and from 1 to 0. */
static inline void fathom_note_preempt(int off, uintptr_t ip, uintptr_t parent_ip)
{
	if (fathom_wanted(FATHOM_WANT_PREEMPT))
		fathom_note_preempt_slow(off, ip, parent_ip);
}

/* Task `parent` made `child`, which has not run yet; a task is about to end. For the options function-fork and event-fork. */
static inline void fathom_note_fork(int32_t parent, int32_t child)
{
	if (fathom_wanted(FATHOM_WANT_FORK))
		fathom_note_fork_slow(parent, child);
}

static inline void fathom_note_exit(int32_t pid)
{
	if (fathom_wanted(FATHOM_WANT_FORK))
		fathom_note_exit_slow(pid);
}

#endif
