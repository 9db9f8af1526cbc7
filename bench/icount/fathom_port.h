/* SPDX-License-Identifier: MIT */
/* fathom_port.h -- a port as a kernel with tasks, preemption and interrupts has it, for counting instructions. */
#ifndef FATHOM_PORT_H
#define FATHOM_PORT_H

#include <stdint.h>

#define FATHOM_PORT_LEAF 1

struct fathom_task;
/* What the running CPU has; the demo kernel keeps the same in its task. */
struct bench_cpu {
	uint32_t id;
	int32_t pid;
	volatile uint32_t
		context; /* as a record has it: interrupts in the low byte, depth of preemption in the second one */
	volatile uint32_t pins; /* of the tracer: the scheduler looks at both */
	struct fathom_task *state;
};
extern struct bench_cpu bench_cpu;

#define BENCH_HOOK static inline __attribute__((always_inline, no_instrument_function))
#ifdef BENCH_CALLS /* a port that is no leaf */
#define BENCH_CLOCK static __attribute__((noinline, unused))
#else
#define BENCH_CLOCK BENCH_HOOK
#endif
#define BENCH_READ(text) __asm__ volatile(text : "=r"(v))

#if defined(__x86_64__) || defined(__i386__)
#define BENCH_CLOCK_HZ 1000000000
BENCH_HOOK uint64_t bench_clock(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}
#elif defined(__aarch64__)
#define BENCH_CLOCK_HZ 62500000
BENCH_CLOCK uint64_t bench_clock(void)
{
	uint64_t v;

	BENCH_READ("mrs %0, cntvct_el0");
	return v;
}
#elif defined(__riscv)
#define BENCH_CLOCK_HZ 10000000
BENCH_CLOCK uint64_t bench_clock(void)
{
	uint64_t v;

	BENCH_READ("rdtime %0");
	return v;
}
#else /* a Cortex-M3, and its 25 MHz timer that counts down */
#define FATHOM_CPUS_MAX 1
#define BENCH_CLOCK_HZ	25000000
BENCH_HOOK uint64_t bench_clock(void)
{
	return ~((volatile uint32_t *)0x40000000)[1];
}
#endif

/* Where a kernel would find it: a register for it alone, or, with one CPU, an address. */
BENCH_HOOK struct bench_cpu *bench_here(void)
{
#if defined(__x86_64__) || defined(__aarch64__) || defined(__riscv)
	struct bench_cpu *v; /* it is a task's own, so one answer will do: not volatile */
#if defined(__x86_64__)
	__asm__("movq %%gs:0, %0" : "=r"(v));
#elif defined(__aarch64__)
	__asm__("mrs %0, tpidr_el1" : "=r"(v));
#else
	register struct bench_cpu *tp __asm__("tp");

	__asm__("" : "=r"(tp));
	v = tp;
#endif
	return v;
#else
	return &bench_cpu;
#endif
}

#define fathom_port_cpu()	 (bench_here()->id)
#define fathom_port_clock	 bench_clock
#define fathom_port_task()	 (bench_here()->pid)
#define fathom_port_task_state() (bench_here()->state)

#define fathom_port_pin	  fathom_port_pin
#define fathom_port_unpin fathom_port_unpin
BENCH_HOOK uintptr_t fathom_port_pin(void)
{
	bench_here()->pins++;
	__asm__ volatile("" ::: "memory");
	return 0;
}
BENCH_HOOK void fathom_port_unpin(uintptr_t pin)
{
	(void)pin;
	__asm__ volatile("" ::: "memory");
	bench_here()->pins--;
}

#define fathom_port_context(pin) ((void)(pin), bench_here()->context)

#endif
