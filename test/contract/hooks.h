/* SPDX-License-Identifier: MIT */
/* hooks.h -- a sound port for the contract's tests, which replace a hook at a time. */
#ifndef CONTRACT_HOOKS_H
#define CONTRACT_HOOKS_H

#include <pthread.h>
#include <time.h>
#include "fathom/task.h"
#include "fathom_port.h"

static __thread uint32_t hooks_cpu;
static __thread uintptr_t hooks_irqs_off; /* as a kernel without a preempt count pins */
static __thread uint32_t hooks_in;	  /* hard irq, NMI */
static __thread struct fathom_task hooks_task;

static uint32_t hook_cpu(void)
{
	return hooks_cpu;
}

static uint64_t hook_clock(const char *file)
{
	struct timespec t;

	(void)file;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int32_t hook_task(void)
{
	return (int32_t)hooks_cpu + 100;
}

static uint32_t hook_context(uintptr_t pin)
{
	return (pin ? 0x01 : 0) | hooks_in;
}

static uintptr_t hook_pin(void)
{
	uintptr_t was = hooks_irqs_off;

	hooks_irqs_off = 1;
	return was;
}

static void hook_unpin(uintptr_t was)
{
	hooks_irqs_off = was;
}

static struct fathom_task *hook_task_state(void)
{
	return &hooks_task;
}

static void hook_stack(uintptr_t at, uintptr_t *lo, uintptr_t *hi)
{
	pthread_attr_t attr;
	size_t bytes;
	void *low;

	if (pthread_getattr_np(pthread_self(), &attr))
		return;
	pthread_attr_getstack(&attr, &low, &bytes);
	pthread_attr_destroy(&attr);
	if (at - (uintptr_t)low < bytes) {
		*lo = (uintptr_t)low;
		*hi = (uintptr_t)low + bytes;
	}
}

#define HOOKS_SOUND                                                                       \
	((struct contract_hooks){hook_cpu, hook_clock, hook_task, hook_context, hook_pin, \
				 hook_unpin, hook_task_state, hook_stack})
struct contract_hooks contract_hooks = {hook_cpu, hook_clock, hook_task,       hook_context,
					hook_pin, hook_unpin, hook_task_state, hook_stack};

#endif
