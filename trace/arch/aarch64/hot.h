/* SPDX-License-Identifier: MIT */
/* hot.h -- aarch64: registers that functions/hot.c may not touch, the way in, and the way out of the ordinary. */
#ifndef ARCH_AARCH64_HOT_H
#define ARCH_AARCH64_HOT_H

#include <stdint.h>

/* As entry.S has it: where C outside this file may use vector registers, they may hold arguments. */
#ifdef __ARM_NEON
#define FATHOM_HOT_VECTORS(op)               \
	"	" op "	q0, q1, [sp, #112]\n" \
	"	" op "	q2, q3, [sp, #144]\n" \
	"	" op "	q4, q5, [sp, #176]\n" \
	"	" op "	q6, q7, [sp, #208]\n"
#define FATHOM_HOT_FRAME "#240"
#else
#define FATHOM_HOT_VECTORS(op) ""
#define FATHOM_HOT_FRAME       "#112"
#endif

/* That a call may change them is the very point; the warning for it has no name, so it cannot be switched off by one. */
#pragma GCC system_header
#pragma GCC target("general-regs-only")

register uintptr_t fathom_hot_x0 __asm__("x0");
register uintptr_t fathom_hot_x1 __asm__("x1");
#ifdef FATHOM_HOT_RETURN
register uintptr_t fathom_hot_x16 __asm__("x16"); /* where the return goes on */
#else
/* Arguments, where a large result goes, and the static chain. */
register uintptr_t fathom_hot_x2 __asm__("x2");
register uintptr_t fathom_hot_x3 __asm__("x3");
register uintptr_t fathom_hot_x4 __asm__("x4");
register uintptr_t fathom_hot_x5 __asm__("x5");
register uintptr_t fathom_hot_x6 __asm__("x6");
register uintptr_t fathom_hot_x7 __asm__("x7");
register uintptr_t fathom_hot_x8 __asm__("x8");
register uintptr_t fathom_hot_x18 __asm__("x18");
#endif

/* The way in has put what is behind the site on the stack, and the return address, as entry.S does. */
#define fathom_arch_hot_slot()	     ((uintptr_t *)__builtin_dwarf_cfa() + 1)
#define fathom_arch_hot_ip()	     (fathom_arch_hot_slot()[-1] - 4)
#define fathom_arch_hot_parent()     (fathom_arch_hot_slot()[0])
/* A return: its slot lies where it was then, which is below the stack. */
#define fathom_arch_hot_slot_left()  ((uintptr_t *)__builtin_dwarf_cfa() - 1)
#define fathom_arch_hot_go_on(where) ((void)(fathom_hot_x16 = (where)))

static inline uintptr_t fathom_arch_hot_saved_return(void)
{
	uintptr_t at;

	__asm__("adrp %0, fathom_arch_return\n\tadd %0, %0, :lo12:fathom_arch_return" : "=r"(at));
	return at;
}

/* Call `to`, with all registers that must live on saved. No call to the compiler: the way back is in x17. */
static inline __attribute__((always_inline)) void fathom_arch_hot_call(void *to, uintptr_t a,
								       uintptr_t b, uintptr_t c,
								       uintptr_t d)
{
	register uintptr_t x11 __asm__("x11") = a;
	register uintptr_t x12 __asm__("x12") = b;
	register uintptr_t x13 __asm__("x13") = c;
	register uintptr_t x14 __asm__("x14") = d;
	register uintptr_t x15 __asm__("x15") = (uintptr_t)to;

	__asm__ volatile("adr x17, 1f\n\tb fathom_arch_hot_saved\n1:"
			 : "+r"(x11), "+r"(x12), "+r"(x13), "+r"(x14), "+r"(x15)
			 :
			 : "x9", "x10", "x17", "memory", "cc"
#ifndef FATHOM_HOT_RETURN
			   ,
			   "x16"
#else
			   ,
			   "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x18"
#endif
	);
}

#ifdef FATHOM_HOT_RETURN
__asm__(".pushsection .text.fathom_hot, \"ax\", %progbits\n"
	"	.balign	16\n"
	"	.globl	fathom_arch_hot_return\n"
	"	.type	fathom_arch_hot_return, %function\n"
	"fathom_arch_hot_return:\n"
	"	bl	fathom_hot_return\n"
	"	ret	x16\n"
	"	.size	fathom_arch_hot_return, . - fathom_arch_hot_return\n"
	"	.popsection\n");
#else
/* At a site x30 is behind it and x9 the return address. */
#define FATHOM_HOT_ENTRY(name)                                 \
	"	.balign	16\n"                                        \
	"	.globl	fathom_arch_hot_" name "\n"            \
	"	.type	fathom_arch_hot_" name ", %function\n" \
	"fathom_arch_hot_" name ":\n"                          \
	"	stp	x30, x9, [sp, #-16]!\n"                          \
	"	bl	fathom_hot_" name "\n"                 \
	"	ldp	x9, x30, [sp], #16\n"                            \
	"	ret	x9\n"                                            \
	"	.size	fathom_arch_hot_" name ", . - fathom_arch_hot_" name "\n"
__asm__(".pushsection .text.fathom_hot, \"ax\", %progbits\n" FATHOM_HOT_ENTRY("function") FATHOM_HOT_ENTRY(
	"graph") "	.balign	16\n"
		 "	.globl	fathom_arch_hot_saved\n"
		 "	.type	fathom_arch_hot_saved, %function\n"
		 "fathom_arch_hot_saved:\n"
		 "	sub	sp, sp, " FATHOM_HOT_FRAME "\n"
		 "	stp	x0, x1, [sp]\n"
		 "	stp	x2, x3, [sp, #16]\n"
		 "	stp	x4, x5, [sp, #32]\n"
		 "	stp	x6, x7, [sp, #48]\n"
		 "	stp	x8, x18, [sp, #64]\n"
		 "	stp	x16, x17, [sp, #80]\n"
		 "	stp	x29, x30, [sp, #96]\n" FATHOM_HOT_VECTORS(
			 "stp") "	mov	x0, x11\n"
				"	mov	x1, x12\n"
				"	mov	x2, x13\n"
				"	mov	x3, x14\n"
				"	blr	x15\n"
				"	ldp	x2, x3, [sp, #16]\n"
				"	ldp	x4, x5, [sp, #32]\n"
				"	ldp	x6, x7, [sp, #48]\n"
				"	ldp	x8, x18, [sp, #64]\n"
				"	ldp	x16, x17, [sp, #80]\n"
				"	ldp	x29, x30, [sp, #96]\n" FATHOM_HOT_VECTORS(
					"ldp") "	ldp	x0, x1, [sp]\n"
					       "	add	sp, sp, " FATHOM_HOT_FRAME "\n"
					       "	ret	x17\n"
					       "	.size	fathom_arch_hot_saved, . - "
					       "fathom_arch_hot_saved\n"
					       /* A call as a site makes it: 1 if the arguments come back as they were. */
					       "	.balign	16\n"
					       "	.globl	fathom_hot_keeps\n"
					       "	.type	fathom_hot_keeps, %function\n"
					       "fathom_hot_keeps:\n"
					       "	stp	x29, x30, [sp, #-16]!\n"
					       "	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8\n"
					       "	mov	x\\n, #0x5a0\\n\n"
					       "	.endr\n"
					       "	mov	x9, x30\n"
					       "	bl	fathom_arch_hot_function\n"
					       "	mov	x9, #0\n"
					       "	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8\n"
					       "	mov	x10, #0x5a0\\n\n"
					       "	eor	x10, x10, x\\n\n"
					       "	orr	x9, x9, x10\n"
					       "	.endr\n"
					       "	cmp	x9, #0\n"
					       "	cset	w0, eq\n"
					       "	ldp	x29, x30, [sp], #16\n"
					       "	ret\n"
					       "	.size	fathom_hot_keeps, . - "
					       "fathom_hot_keeps\n"
					       "	.popsection\n");
#endif

#endif
