/* SPDX-License-Identifier: MIT */
/* fathom_port.h -- the hot half of the user port: threads are CPUs, signals are interrupts. */
#ifndef FATHOM_PORT_H
#define FATHOM_PORT_H

#include <stdint.h>
#include <time.h>

extern __thread uint32_t fathom_user_cpu; /* given to a thread at its first event */

#define fathom_port_cpu fathom_port_cpu
static inline uint32_t fathom_port_cpu(void)
{
	return fathom_user_cpu;
}

#define fathom_port_clock fathom_port_clock
static inline uint64_t fathom_port_clock(void)
{
#ifdef __x86_64__
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
#else
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

#endif
