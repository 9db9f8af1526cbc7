/* SPDX-License-Identifier: MIT */
/* fathom_port.h -- the smallest port that records and hands out: a Cortex-M3 that keeps what the host does without. */
#ifndef FATHOM_PORT_H
#define FATHOM_PORT_H

#include <stdint.h>

#define FATHOM_CPUS_MAX	  1
#define FATHOM_PAGE_BYTES 512
#define FATHOM_LINK_BYTES 640
#define FATHOM_DUMP_BYTES 0
#define FATHOM_FUNCTIONS  0
#define FATHOM_ATTACH	  0
#define FATHOM_EVENT_TEXT 0

#define fathom_port_cpu() 0u

/* CMSDK's timer of 25 MHz counts down from 2^32: the test does not run for 171 s. */
#define SMALL_TIMER	    ((volatile uint32_t *)0x40000000)
#define fathom_port_clock() ((uint64_t)~SMALL_TIMER[1])

#define fathom_port_context fathom_port_context
static inline uint32_t fathom_port_context(uintptr_t pin)
{
	(void)pin;
	uint32_t ipsr;

	__asm__ volatile("mrs %0, ipsr" : "=r"(ipsr));
	return ipsr >= 15 ? 0x08 : 0;
}

#endif
