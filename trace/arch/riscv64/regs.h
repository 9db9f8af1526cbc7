/* SPDX-License-Identifier: MIT */
/* regs.h -- riscv64: where entry.S leaves the registers of a traced call, in words from its return address. */
#ifndef ARCH_RISCV64_REGS_H
#define ARCH_RISCV64_REGS_H

#include <stdint.h>

#define FATHOM_ARCH_REGS                                                                           \
	{"a0", -19}, {"a1", -18}, {"a2", -17}, {"a3", -16}, {"a4", -15}, {"a5", -14}, {"a6", -13}, \
	{                                                                                          \
		"a7", -12                                                                          \
	}
#define FATHOM_ARCH_ARGS  -19, -18, -17, -16, -15, -14, -13, -12
/* The stack pointer at the entry: above what entry.S put there. */
#define FATHOM_ARCH_STACK 1

static inline int fathom_arch_retval(const uintptr_t *slot, int replaced, uintptr_t *v)
{
	*v = slot[-3];
	return replaced;
}

#endif
