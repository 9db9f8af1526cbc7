/* SPDX-License-Identifier: MIT */
/* fathom_port.h -- the port of the ring's own tests: the test owns the clock, and the race points where it wants them. */
#ifndef FATHOM_PORT_H
#define FATHOM_PORT_H

#include <stdint.h>

#define fathom_port_cpu fathom_port_cpu
static inline uint32_t fathom_port_cpu(void)
{
	return 0;
}

#ifdef RINGPORT_TSC
#define fathom_port_clock fathom_port_clock
static inline uint64_t fathom_port_clock(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#else
	uint64_t t;

	__asm__ volatile("rdtime %0" : "=r"(t));
	return t;
#endif
}
#else
extern uint64_t ringport_now, ringport_tick; /* the time, and how much each look at it adds */

#define fathom_port_clock fathom_port_clock
static inline uint64_t fathom_port_clock(void)
{
	return __atomic_add_fetch(&ringport_now, ringport_tick, __ATOMIC_RELAXED);
}
#endif

#ifdef RINGPORT_STEP
extern void ringport_step(const char *point);
#define FATHOM_STEP(letter) ringport_step(#letter)
#endif

#endif
