/* SPDX-License-Identifier: MIT */
/* far.h -- riscv64: from text that is more than 2 GiB away to the entry. */
#ifndef FATHOM_ARCH_FAR_H
#define FATHOM_ARCH_FAR_H

/* t0 is the way back, and t1 is nobody's at a function's entry. The same entry as in site.c. */
#if FATHOM_SAVE_FP
#define FATHOM_FAR_ASM "la t1, fathom_arch_entry_any_fp\njr t1\n"
#else
#define FATHOM_FAR_ASM "la t1, fathom_arch_entry_any\njr t1\n"
#endif

#endif
