/* SPDX-License-Identifier: MIT */
/* fathom_port.h -- copy me: the hot half of a port. Two functions are required; see docs/PORTING.md. */
#ifndef FATHOM_PORT_H
#define FATHOM_PORT_H

#include <stdint.h>

/*
 * Each function is announced by a macro of its own name; what is left out has a default in fathom/port_default.h. They
 * are called with every event, from any context, NMI included: no locks, no tracing.
 */

#define fathom_port_cpu fathom_port_cpu
static inline uint32_t fathom_port_cpu(void)
{
	return 0; /* the number of the running CPU, 0 .. config.nr_cpus - 1 */
}

/*
 * A clock that never goes back on one CPU, in ticks of config.clock_hz. No static variable here: each file would have its own.
 * Where the hardware counts 32 bits, fathom_clock32() (fathom/port_default.h) extends it.
 */
#define fathom_port_clock fathom_port_clock
#if defined(__x86_64__) || defined(__i386__)
static inline uint64_t fathom_port_clock(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}
#elif defined(__aarch64__)
static inline uint64_t fathom_port_clock(void)
{
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
}
#elif defined(__riscv) && __riscv_xlen == 64
static inline uint64_t fathom_port_clock(void)
{
	uint64_t ticks;

	__asm__ volatile("rdtime %0" : "=r"(ticks));
	return ticks;
}
#else
uint64_t fathom_port_clock(void); /* write it: in a file of the kernel's */
#endif

/*
 * Optional, in the order they are worth it:
 *
 *	int32_t fathom_port_task(void)		the running task's number: the `pid` of traces
 *	uint32_t fathom_port_context(uintptr_t)	irqs off, in irq, NMI (enum wire_flags), preempt depth << 8
 *	uintptr_t fathom_port_pin(void)		a kernel that moves tasks between CPUs inside the kernel: stop that
 *	void fathom_port_unpin(uintptr_t)	... and allow it again
 *	#define FATHOM_PATCH 1			call sites are NOPs that are patched (config.text_map)
 */

#endif
