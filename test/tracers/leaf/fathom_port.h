/* SPDX-License-Identifier: MIT */
/* fathom_port.h -- the user port as a port whose hot hooks call nothing (FATHOM_PORT_LEAF): its clock is the CPU's counter. */
#ifndef TEST_TRACERS_LEAF_FATHOM_PORT_H
#define TEST_TRACERS_LEAF_FATHOM_PORT_H

#include "ports/user/fathom_port.h"

#undef fathom_port_clock
#define fathom_port_clock leaf_clock
static inline uint64_t leaf_clock(void)
{
	uint64_t v;

#ifdef __aarch64__
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
#else
	__asm__ volatile("rdtime %0" : "=r"(v));
#endif
	return v;
}

/* What is not hot may use any register; fathom_port_cpu() is not, where there is a fathom_port_cpu_quick(). */
#ifdef __aarch64__
static inline uint32_t leaf_cpu(void)
{
	__asm__ volatile("movi v0.2d, #0\n\tmovi v1.2d, #0\n\tmovi v2.2d, #0\n\tmovi v3.2d, #0\n\t"
			 "movi v4.2d, #0\n\tmovi v5.2d, #0\n\tmovi v6.2d, #0\n\tmovi v7.2d, #0" ::
				 : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7");
	return fathom_port_cpu();
}
#undef fathom_port_cpu
#define fathom_port_cpu leaf_cpu
#endif

#undef FATHOM_SAVE_FP /* such entries leave the FP registers alone on riscv64 */
#define FATHOM_PORT_LEAF 1

#endif
