/* SPDX-License-Identifier: MIT */
/* site.h -- is this event on? A patched NOP (FATHOM_PATCH=1) or one relaxed load and a branch (0). */
#ifndef FATHOM_SITE_H
#define FATHOM_SITE_H

#include "fathom/inside/emit.h"

#define FATHOM_HIDDEN __attribute__((__visibility__("hidden")))

/* One call site, in the section `fathom_sites`: distances from the member itself, so the table needs no relocation. */
struct fathom_site {
	int32_t at;	/* the NOP */
	int32_t target; /* where it jumps when on */
	int32_t event;	/* struct fathom_event */
};

#if defined(__x86_64__)
#include "arch/x86_64/site.h"
#elif defined(__aarch64__)
#include "arch/aarch64/site.h"
#elif defined(__riscv) && __riscv_xlen == 64
#include "arch/riscv64/site.h"
#elif FATHOM_PATCH
#error "FATHOM_PATCH=1 is not possible on this arch; use 0"
#endif

#if FATHOM_PATCH

/*
 * The symbol is named in the text of the asm: an "i" operand is refused in position-independent code. The flag R keeps
 * the table under --gc-sections; the assembler's own comment character forbids `@progbits` on some targets.
 */
#define FATHOM_EVENT_IS_ON(name)                                                                 \
	({                                                                                       \
		__label__ fathom_on, fathom_off;                                                 \
		int fathom_is = 0;                                                               \
		__asm__ goto(FATHOM_SITE_ASM "\n"                                                \
					     ".pushsection fathom_sites, \"aR\"\n"               \
					     ".balign 4\n"                                       \
					     ".long 1b - ., %l[fathom_on] - ., fathom_ev_" #name \
					     " - .\n"                                            \
					     ".popsection"                                       \
			     :                                                                   \
			     :                                                                   \
			     :                                                                   \
			     : fathom_on);                                                       \
		goto fathom_off;                                                                 \
	fathom_on:                                                                               \
		fathom_is = 1;                                                                   \
	fathom_off:                                                                              \
		fathom_is;                                                                       \
	})

#else

#define FATHOM_EVENT_IS_ON(name) FATHOM_UNLIKELY(fathom_event_state(&fathom_ev_##name) != 0)

#endif
#endif
