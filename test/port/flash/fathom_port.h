/* SPDX-License-Identifier: MIT */
/* fathom_port.h -- a Cortex-M3 without an operating system: one CPU, a 25 MHz timer of 32 bits that counts down. */
#ifndef FATHOM_PORT_H
#define FATHOM_PORT_H

#include <stdint.h>

#define FATHOM_CPUS_MAX	  1
#define fathom_port_cpu() 0u

/* Longer than the test runs: its 171 s do not wrap. */
#define FLASH_TIMER	    ((volatile uint32_t *)0x40000000)
#define fathom_port_clock() ((uint64_t)~FLASH_TIMER[1])

#define fathom_port_task() 7

#define fathom_port_context fathom_port_context
static inline uint32_t fathom_port_context(uintptr_t pin)
{
	(void)pin;
	uint32_t ipsr;

	__asm__ volatile("mrs %0, ipsr" : "=r"(ipsr));
	return ipsr >= 15 ? 0x08 : 0;
}

#define FATHOM_SHADOW_DEPTH 16
struct fathom_task;
extern struct fathom_task flash_task;
#define fathom_port_task_state() (&flash_task)

#endif
