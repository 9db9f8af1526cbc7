/* SPDX-License-Identifier: MIT */
/* regs.h -- x86_64: where entry.S leaves the registers of a traced call, in words from its return address. */
#ifndef ARCH_X86_64_REGS_H
#define ARCH_X86_64_REGS_H

#include <stdint.h>

#define FATHOM_ARCH_REGS                                                                    \
	{"ax", -2}, {"cx", -3}, {"dx", -4}, {"si", -5}, {"di", -6}, {"r8", -7}, {"r9", -8}, \
		{"r10", -9},                                                                \
	{                                                                                   \
		"r11", -10                                                                  \
	}
#define FATHOM_ARCH_ARGS  -6, -5, -4, -3, -7, -8
/* The stack pointer at the entry: at the return address. */
#define FATHOM_ARCH_STACK 0

/* In front of `ret` rax is the value; in front of a tail call it is none yet. */
static inline int fathom_arch_retval(const uintptr_t *slot, int replaced, uintptr_t *v)
{
	const uint8_t *behind = (const uint8_t *)slot[-1];

	*v = replaced ? slot[-1] : slot[-2];
	return replaced || behind[0] == 0xc3 || (behind[0] == 0xf3 && behind[1] == 0xc3);
}

#endif
