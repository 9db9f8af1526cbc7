/* SPDX-License-Identifier: MIT */
/* fathom_port.h -- the port of the benchmark: what a kernel's would be, one load for the CPU and one for the task. */
#ifndef FATHOM_PORT_H
#define FATHOM_PORT_H

#include <stdint.h>

extern __thread uint32_t bench_cpu;
extern __thread int32_t bench_task;

#define fathom_port_cpu fathom_port_cpu
static inline uint32_t fathom_port_cpu(void)
{
	return bench_cpu;
}

#define fathom_port_clock fathom_port_clock
static inline uint64_t fathom_port_clock(void)
{
	return __builtin_ia32_rdtsc();
}

#define fathom_port_task fathom_port_task
static inline int32_t fathom_port_task(void)
{
	return bench_task;
}

#define fathom_port_context fathom_port_context
static inline uint32_t fathom_port_context(uintptr_t pin)
{
	(void)pin;
	return 0;
}

#define FATHOM_PATCH 1

#endif
