/* SPDX-License-Identifier: MIT */
/* fathom_port.h -- the hot half of the demo kernel's port. */
#ifndef FATHOM_PORT_H
#define FATHOM_PORT_H

#include "kernel/cpu.h"
#include "kernel/x86.h"

#define fathom_port_cpu fathom_port_cpu
static inline uint32_t fathom_port_cpu(void)
{
	return cpu_id();
}

#define fathom_port_clock fathom_port_clock
static inline uint64_t fathom_port_clock(void)
{
	return rdtsc();
}

#endif
