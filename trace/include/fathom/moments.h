/* SPDX-License-Identifier: MIT */
/* moments.h -- the moments a kernel tells the tracers about. It sees nothing of the port, so a kernel's own headers may include it. */
#ifndef FATHOM_MOMENTS_H
#define FATHOM_MOMENTS_H

#include <stddef.h>
#include <stdint.h>
#include "fathom/inside/moments.h"

struct fathom_task;

/*
 * Moments. Each is one relaxed load and a branch while no tracer wants it. Context: where the kernel does the thing.
 */
enum fathom_want {
	FATHOM_WANT_SWITCH = 1,
	FATHOM_WANT_WAKEUP = 2,
	FATHOM_WANT_IRQS = 4,
	FATHOM_WANT_PREEMPT = 8,
	FATHOM_WANT_FORK = 16,
	FATHOM_WANT_LEFT = 32,
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

static inline int fathom_wanted(uint32_t what)
{
	return __builtin_expect((__atomic_load_n(&fathom_want, __ATOMIC_RELAXED) & what) != 0, 0);
}

/* The scheduler leaves prev for next on this CPU; `fathom_wanted(FATHOM_WANT_SWITCH)` tells if it is worth filling in. */
static inline void fathom_task_switch(const struct fathom_sched_task *prev,
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

/*
 * Task `parent` made task `pid`, which has not run yet; `task` is its tracer state, NULL if it has none. Begins the state anew,
 * and serves the options function-fork and event-fork.
 */
static inline void fathom_task_new(struct fathom_task *task, int32_t parent, int32_t pid)
{
	if (task)
		fathom_task_init(task);
	if (fathom_wanted(FATHOM_WANT_FORK))
		fathom_note_fork_slow(parent, pid);
}

/* The running task is about to end. */
static inline void fathom_task_exit(int32_t pid)
{
	if (fathom_wanted(FATHOM_WANT_FORK))
		fathom_note_exit_slow(pid);
}

/*
 * The kernel leaves for user code, or starts over on an empty stack, and none of the functions that are open on the running
 * task's stack (without tasks: the CPU's) will return. For kernels whose trap paths do not return (seL4's c_handle_syscall,
 * xv6's usertrapret): without it function_graph follows fewer calls each time, then none. Not where a trap returns into
 * the kernel. Context: the last C code before the kernel is left, interrupts off.
 */
static inline void fathom_kernel_left(void)
{
	if (fathom_wanted(FATHOM_WANT_LEFT))
		fathom_kernel_left_slow();
}

#endif
