/* SPDX-License-Identifier: MIT */
/* fathom_port.h -- a riscv64 machine without an operating system: one hart, in M-mode. */
#ifndef FATHOM_PORT_H
#define FATHOM_PORT_H

#include <stdint.h>

#define fathom_port_cpu() 0u

/* With FATHOM_SAVE_FP a port's hooks may use the FP registers: this one wipes those that hold arguments. */
#define fathom_port_clock fathom_port_clock
static inline uint64_t fathom_port_clock(void)
{
	uint64_t ticks;

#if FATHOM_SAVE_FP
	__asm__ volatile(
		"fmv.d.x fa0, zero\nfmv.d.x fa1, zero\nfmv.d.x fa2, zero\nfmv.d.x fa3, zero\n"
		"fmv.d.x fa4, zero\nfmv.d.x fa5, zero\nfmv.d.x fa6, zero\nfmv.d.x fa7, zero"
		:
		:
		: "fa0", "fa1", "fa2", "fa3", "fa4", "fa5", "fa6", "fa7");
#endif
	__asm__ volatile("csrr %0, mcycle" : "=r"(ticks));
	return ticks;
}

struct fathom_task;
extern struct fathom_task boot_task;
#define fathom_port_task_state() (&boot_task)

#endif
