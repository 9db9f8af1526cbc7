/* SPDX-License-Identifier: MIT */
/* regs.h -- aarch64: where entry.S leaves the registers of a traced call, in words from its return address. */
#ifndef ARCH_AARCH64_REGS_H
#define ARCH_AARCH64_REGS_H

#include <stdint.h>

#define FATHOM_ARCH_REGS                                                                      \
	{"x0", -11}, {"x1", -10}, {"x2", -9}, {"x3", -8}, {"x4", -7}, {"x5", -6}, {"x6", -5}, \
		{"x7", -4},                                                                   \
	{                                                                                     \
		"x8", -3                                                                      \
	}
#define FATHOM_ARCH_ARGS  -11, -10, -9, -8, -7, -6, -5, -4
/* The stack pointer at the entry: above what entry.S put there. */
#define FATHOM_ARCH_STACK 1

static inline int fathom_arch_retval(const uintptr_t *slot, int replaced, uintptr_t *v)
{
	*v = slot[-3];
	return replaced;
}

#endif
