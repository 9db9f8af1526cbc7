/* SPDX-License-Identifier: MIT */
/* fathom_port.h -- copy me: the hot half of a port. See docs/PORTING.md. */
#ifndef FATHOM_PORT_H
#define FATHOM_PORT_H

#include <stdint.h>

#define fathom_port_cpu fathom_port_cpu
static inline uint32_t fathom_port_cpu(void)
{
	return 0; /* the number of the running CPU */
}

#define fathom_port_clock fathom_port_clock
static inline uint64_t fathom_port_clock(void)
{
	static uint64_t ticks; /* a monotonic clock of this CPU, in ticks of config.clock_hz */

	return ++ticks;
}

#endif
