/* SPDX-License-Identifier: MIT */
/* fathom_port.h -- the hot half of the user port: threads are CPUs, signals are interrupts. */
#ifndef FATHOM_PORT_H
#define FATHOM_PORT_H

#include <stdint.h>
#include <time.h>

/* A thread takes a ring with its first event; see threads.c. */
#ifndef FATHOM_CPUS_MAX
#define FATHOM_CPUS_MAX 64
#endif
#define FATHOM_USER_NONE FATHOM_CPUS_MAX
extern __thread uint32_t fathom_user_cpu;
extern __thread int32_t fathom_user_tid;
uint32_t fathom_user_attach(void);

#define fathom_port_cpu fathom_port_cpu
static inline uint32_t fathom_port_cpu(void)
{
	uint32_t cpu = fathom_user_cpu;

	return __builtin_expect(cpu == FATHOM_USER_NONE, 0) ? fathom_user_attach() : cpu;
}

/* For the tracers' fast entries: with FATHOM_USER_NONE the general entry attaches the thread. */
#define fathom_port_cpu_quick() fathom_user_cpu

#define fathom_port_task fathom_port_task
static inline int32_t fathom_port_task(void)
{
	return fathom_user_tid;
}

#define fathom_port_clock fathom_port_clock
static inline uint64_t fathom_port_clock(void)
{
#ifdef __x86_64__
	uint64_t lo, hi; /* rdtsc clears the upper halves */

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return hi << 32 | lo;
#else
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

/* enum wire_flags of the thread: a signal handler sets WIRE_FLAG_HARDIRQ (0x08) while it runs, and puts the old value back. */
extern __thread uint32_t fathom_user_context;

#define fathom_port_context fathom_port_context
static inline uint32_t fathom_port_context(uintptr_t pin)
{
	(void)pin;
	return fathom_user_context;
}

/* What the tracers keep of a thread. */
struct fathom_task;
extern __thread struct fathom_task fathom_user_task;

#define fathom_port_task_state fathom_port_task_state
static inline struct fathom_task *fathom_port_task_state(void)
{
	return &fathom_user_task;
}

/* Stacks of threads are large; see fathom/task.h. */
#define FATHOM_STACK_BYTES (1u << 20)

/*
 * The thread's stack; `hi` 0: not asked for yet. The first walk of a stack looks into /proc/self/maps, and the stack tracer
 * with each thread: a thread that has better to do then calls fathom_user_stack_init() before.
 */
extern __thread uintptr_t fathom_user_stack_lo, fathom_user_stack_hi;
void fathom_user_stack_init(void);
void fathom_user_stack_find(void);

#define fathom_port_stack fathom_port_stack
static inline void fathom_port_stack(uintptr_t fp, uintptr_t *lo, uintptr_t *hi)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	if (!fathom_user_stack_hi)
		fathom_user_stack_find();
	/* What lies below this frame need not be there. */
	if (fp < here && here < fathom_user_stack_hi && here >= fathom_user_stack_lo)
		return;
	if (fp >= fathom_user_stack_lo && fp < fathom_user_stack_hi) {
		*lo = fp;
		*hi = fathom_user_stack_hi;
	}
}

/* Traced code has live FP arguments, and libc, which this port calls, may use the registers. See port_default.h. */
#ifdef __riscv_flen
#define FATHOM_SAVE_FP 1
#endif

/* FATHOM_PATCH: a program chooses with -DFATHOM_PATCH=1 or 0; libfathom.a works with both. */

#endif
