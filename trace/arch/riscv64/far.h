/* SPDX-License-Identifier: MIT */
/* far.h -- riscv64: from text that is more than 2 GiB away to the entries. */
#ifndef FATHOM_ARCH_FAR_H
#define FATHOM_ARCH_FAR_H

#if FATHOM_SAVE_FP
#define FATHOM_FAR_ENTRY(name) "fathom_arch_entry_" #name "_fp"
#else
#define FATHOM_FAR_ENTRY(name) "fathom_arch_entry_" #name
#endif

/* A table like the entries' own (entry.S), and the jumps it leads to. t0 is the way back; t1 is nobody's at a function's entry. */
#define FATHOM_FAR_ASM                                                                         \
	".option push\n.option norvc\n"                                                        \
	".rept 2\nj 1f\nj 2f\nj 3f\nnop\n.endr\n.option pop\n"                                 \
	"1: la t1, " FATHOM_FAR_ENTRY(function) "\njr t1\n"                                    \
						"2: la t1, " FATHOM_FAR_ENTRY(                 \
							hijack) "\njr t1\n"                    \
								"3: la t1, " FATHOM_FAR_ENTRY( \
									any) "\njr t1\n"

#endif
