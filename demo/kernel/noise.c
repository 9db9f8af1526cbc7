/* SPDX-License-Identifier: MIT */
/* noise.c -- what osnoise, timerlat and hwlat ask of this kernel: a task per CPU, a sleep that says when it ends, interrupts off. */
#include "kernel.h"
#include "lock.h"
#include "port.h"
#include "task.h"
#include "fathom/trace.h"

#if LEVEL >= 4
#define REALTIME_PRIO 98 /* of 1..99 */

static int noise_thread(const char *name, uint32_t cpu, int realtime, void (*fn)(void *arg),
			void *arg)
{
	struct spawn s = {
		.name = name,
		.fn = fn,
		.arg = (uint64_t)(uintptr_t)arg,
		.class = realtime ? SCHED_REALTIME : SCHED_ORDINARY,
		.prio = realtime ? REALTIME_PRIO : 0,
		.detached = 1,
		.pinned = 1,
		.cpu = cpu,
	};

	return task_spawn(&s);
}

/* The timer ticks: a sleep ends with the first tick after its time, which is what timerlat finds. */
static void noise_wait(uint64_t ns, void (*tick)(void *arg), void *arg)
{
	struct task *t = current_task();

	t->tick_arg = arg;
	t->tick = tick;
	sleep_until(clock_ns() + ns);
	t->tick = NULL;
}

static void noise_quiet(void (*fn)(void *arg), void *arg)
{
	uint64_t flags = irq_save();

	fn(arg);
	irq_restore(flags);
}

const struct fathom_noise noise_port = {
	.tracers = &fathom_noise_tracers,
	.thread = noise_thread,
	.wait = noise_wait,
	.quiet = noise_quiet,
};
#endif
