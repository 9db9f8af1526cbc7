/* SPDX-License-Identifier: MIT */
/* hot.h -- riscv64: registers that functions/hot.c may not touch, the way in, and the way out of the ordinary. */
#ifndef ARCH_RISCV64_HOT_H
#define ARCH_RISCV64_HOT_H

#include <stdint.h>

/* That a call may change them is the very point; the warning for it has no name, so it cannot be switched off by one. */
#pragma GCC system_header

register uintptr_t fathom_hot_a0 __asm__("a0");
register uintptr_t fathom_hot_a1 __asm__("a1");
/* An entry: the traced function's return address. A return: where it goes on. */
register uintptr_t fathom_hot_t6 __asm__("t6");
#ifndef FATHOM_HOT_RETURN
/* Arguments, the site, and the static chain. */
register uintptr_t fathom_hot_a2 __asm__("a2");
register uintptr_t fathom_hot_a3 __asm__("a3");
register uintptr_t fathom_hot_a4 __asm__("a4");
register uintptr_t fathom_hot_a5 __asm__("a5");
register uintptr_t fathom_hot_a6 __asm__("a6");
register uintptr_t fathom_hot_a7 __asm__("a7");
register uintptr_t fathom_hot_t0 __asm__("t0");
register uintptr_t fathom_hot_t2 __asm__("t2");
#endif

#define fathom_arch_hot_ip()	     fathom_hot_t0
#define fathom_arch_hot_parent()     fathom_hot_t6
#define FATHOM_ARCH_HOT_STAYS	     1 /* they need not be copied to be kept */
/* The way in of function_graph has put the return address on the stack, as entry.S does. */
#define fathom_arch_hot_slot()	     ((uintptr_t *)__builtin_dwarf_cfa() + 1)
/* A return: its slot lies where it was then, which is below the stack. */
#define fathom_arch_hot_slot_left()  ((uintptr_t *)__builtin_dwarf_cfa() - 1)
#define fathom_arch_hot_go_on(where) ((void)(fathom_hot_t6 = (where)))

static inline uintptr_t fathom_arch_hot_saved_return(void)
{
	uintptr_t at;

	__asm__("la %0, fathom_arch_return" : "=r"(at));
	return at;
}

/* Call `to`, with all registers that must live on saved. No call to the compiler: ra is as it was. */
static inline __attribute__((always_inline)) void fathom_arch_hot_call(void *to, uintptr_t a,
								       uintptr_t b, uintptr_t c,
								       uintptr_t d)
{
	register uintptr_t t1 __asm__("t1") = a;
	register uintptr_t t3 __asm__("t3") = b;
	register uintptr_t t4 __asm__("t4") = c;
	register uintptr_t t5 __asm__("t5") = d;

	__asm__ volatile("addi	sp, sp, -16\n\t"
			 "sd	ra, 0(sp)\n\t"
			 "la	ra, %4\n\t"
			 "sd	ra, 8(sp)\n\t"
			 "call	fathom_arch_hot_saved\n\t"
			 "ld	ra, 0(sp)\n\t"
			 "addi	sp, sp, 16"
			 : "+r"(t1), "+r"(t3), "+r"(t4), "+r"(t5)
			 : "i"(to)
			 : "memory"
#ifdef FATHOM_HOT_RETURN
			   ,
			   "a2", "a3", "a4", "a5", "a6", "a7", "t0", "t2"
#endif
	);
}

#ifdef FATHOM_HOT_RETURN
__asm__(".pushsection .text.fathom_hot, \"ax\", @progbits\n"
	"	.balign	16\n"
	"	.globl	fathom_arch_hot_return\n"
	"	.type	fathom_arch_hot_return, @function\n"
	"fathom_arch_hot_return:\n"
	"	call	fathom_hot_return\n"
	"	jr	t6\n"
	"	.size	fathom_arch_hot_return, . - fathom_arch_hot_return\n"
	"	.popsection\n");
#else
/* At a site t0 is behind it and ra the return address. The table is entry.S's, for these. */
__asm__(".pushsection .text.fathom_hot, \"ax\", @progbits\n"
	"	.balign	16\n"
	"	.globl	fathom_arch_entries_hot\n"
	"	.option	push\n"
	"	.option	norvc\n"
	"fathom_arch_entries_hot:\n"
	"	.rept	2\n"
	"	j	fathom_arch_hot_function\n"
	"	j	fathom_arch_hot_graph\n"
	"	j	.Lhot_any\n"
	"	nop\n"
	"	.endr\n"
	"	.option	pop\n"
	/* In another section, which a linker may put farther away than a j reaches. */
	".Lhot_any:\n"
	"	tail	fathom_arch_entry_any\n"
	"	.globl	fathom_arch_hot_function\n"
	"	.type	fathom_arch_hot_function, @function\n"
	"fathom_arch_hot_function:\n"
	"	mv	t6, ra\n"
	"	addi	t0, t0, -4\n"
	"	call	fathom_hot_function\n"
	"	mv	ra, t6\n"
	"	jr	4(t0)\n"
	"	.size	fathom_arch_hot_function, . - fathom_arch_hot_function\n"
	"	.balign	16\n"
	"	.globl	fathom_arch_hot_graph\n"
	"	.type	fathom_arch_hot_graph, @function\n"
	"fathom_arch_hot_graph:\n"
	"	addi	sp, sp, -16\n"
	"	addi	t0, t0, -4\n"
	"	sd	ra, 8(sp)\n"
	"	call	fathom_hot_graph\n"
	"	ld	ra, 8(sp)\n"
	"	addi	sp, sp, 16\n"
	"	jr	4(t0)\n"
	"	.size	fathom_arch_hot_graph, . - fathom_arch_hot_graph\n"
	"	.balign	16\n"
	"	.globl	fathom_arch_hot_saved\n"
	"	.type	fathom_arch_hot_saved, @function\n"
	"fathom_arch_hot_saved:\n"
	"	addi	sp, sp, -96\n"
	"	sd	a0, 0(sp)\n"
	"	sd	a1, 8(sp)\n"
	"	sd	a2, 16(sp)\n"
	"	sd	a3, 24(sp)\n"
	"	sd	a4, 32(sp)\n"
	"	sd	a5, 40(sp)\n"
	"	sd	a6, 48(sp)\n"
	"	sd	a7, 56(sp)\n"
	"	sd	t0, 64(sp)\n"
	"	sd	t2, 72(sp)\n"
	"	sd	t6, 80(sp)\n"
	"	sd	ra, 88(sp)\n"
	"	ld	t0, 104(sp)\n"
	"	mv	a0, t1\n"
	"	mv	a1, t3\n"
	"	mv	a2, t4\n"
	"	mv	a3, t5\n"
	"	jalr	t0\n"
	"	ld	a0, 0(sp)\n"
	"	ld	a1, 8(sp)\n"
	"	ld	a2, 16(sp)\n"
	"	ld	a3, 24(sp)\n"
	"	ld	a4, 32(sp)\n"
	"	ld	a5, 40(sp)\n"
	"	ld	a6, 48(sp)\n"
	"	ld	a7, 56(sp)\n"
	"	ld	t0, 64(sp)\n"
	"	ld	t2, 72(sp)\n"
	"	ld	t6, 80(sp)\n"
	"	ld	ra, 88(sp)\n"
	"	addi	sp, sp, 96\n"
	"	ret\n"
	"	.size	fathom_arch_hot_saved, . - fathom_arch_hot_saved\n"
	/* A call as a site makes it: 1 if the arguments come back as they were. */
	"	.balign	16\n"
	"	.globl	fathom_hot_keeps\n"
	"	.type	fathom_hot_keeps, @function\n"
	"fathom_hot_keeps:\n"
	"	addi	sp, sp, -16\n"
	"	sd	ra, 8(sp)\n"
	"	.irp	r, a0, a1, a2, a3, a4, a5, a6, a7, t2\n"
	"	li	\\r, 0x5a5\n"
	"	.endr\n"
	"	call	t0, fathom_arch_hot_function\n"
	"	li	t1, 0\n"
	"	.irp	r, a0, a1, a2, a3, a4, a5, a6, a7, t2\n"
	"	xori	\\r, \\r, 0x5a5\n"
	"	or	t1, t1, \\r\n"
	"	.endr\n"
	"	seqz	a0, t1\n"
	"	ld	ra, 8(sp)\n"
	"	addi	sp, sp, 16\n"
	"	ret\n"
	"	.size	fathom_hot_keeps, . - fathom_hot_keeps\n"
	"	.popsection\n");
#endif

#endif
