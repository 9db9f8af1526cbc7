/* SPDX-License-Identifier: MIT */
/* far.h -- jumps for modules and shared libraries that lie too far from the library for a call. */
#ifndef FATHOM_FAR_H
#define FATHOM_FAR_H

#include "fathom/inside/site.h"

/*
 * In one file of the module: text of that name, for fathom_module.far. A function's site calls it instead of the entry
 * that it cannot reach. The loader resolves the entries (fathom_arch_*) as it does any other symbol.
 */
#if defined(__x86_64__)
#include "arch/x86_64/far.h"
#elif defined(__aarch64__)
#include "arch/aarch64/far.h"
#elif defined(__riscv) && __riscv_xlen == 64
#include "arch/riscv64/far.h"
#endif

#define FATHOM_FAR_JUMPS(name)                  \
	extern const char name[] FATHOM_HIDDEN; \
	__asm__(".pushsection .text\n.balign 16\n" #name ":\n" FATHOM_FAR_ASM ".popsection")

#endif
