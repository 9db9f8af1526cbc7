/* SPDX-License-Identifier: MIT */
/* regs.h -- registers of a traced call, as the architecture's entry.S leaves them. */
#ifndef FATHOM_ARCH_REGS_H
#define FATHOM_ARCH_REGS_H

#if defined(__x86_64__)
#include "arch/x86_64/regs.h"
#elif defined(__aarch64__)
#include "arch/aarch64/regs.h"
#elif defined(__riscv) && __riscv_xlen == 64
#include "arch/riscv64/regs.h"
#else
#include "arch/none/regs.h"
#endif

struct fathom_arch_reg {
	const char *name;
	int8_t at; /* words from the slot */
};

#endif
