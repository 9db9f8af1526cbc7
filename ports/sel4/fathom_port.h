/* SPDX-License-Identifier: MIT */
/* fathom_port.h -- the hot half of the seL4 port: which core this is, and the kernel's own cycle counter. */
#ifndef FATHOM_PORT_H
#define FATHOM_PORT_H

#include <config.h>
#include <arch/benchmark.h>
#include <model/statedata.h>
#include <stdint.h>

#define fathom_port_cpu fathom_port_cpu
static inline __attribute__((no_instrument_function)) uint32_t fathom_port_cpu(void)
{
#ifdef ENABLE_SMP_SUPPORT
	return (uint32_t)getCurrentCPUIndex();
#else
	return 0;
#endif
}

#define fathom_port_clock fathom_port_clock
static inline __attribute__((no_instrument_function)) uint64_t fathom_port_clock(void)
{
	return (uint64_t)timestamp();
}

#endif
