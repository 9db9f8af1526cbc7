/* SPDX-License-Identifier: MIT */
/* entry.S -- aarch64: from a patched site into C and back, with every argument as it was. */

/*
 * At a site x9 holds the function's return address and x30 the address behind the site. Live are the arguments x0..x8,
 * x18 (static chain) and, where the C side may use them, q0..q7. Callers must not count on more: compile with
 * -fno-ipa-ra.
 *
 * The return address is not on the stack here, so it is put there: the word below the caller's stack is the slot that
 * names the frame. When the function returns the stack is where it was at the entry, and the slot in the same place.
 *
 *	old sp -   8	slot: return address
 *	old sp -  16	-
 *	old sp -  32	x8, x18
 *	    ...		x0 .. x7
 *	old sp - 112	x29, address behind the site
 */

#define FRAME	112
#define SLOT	104

	.macro save_vectors
#ifdef __ARM_FP
	stp	q6, q7, [sp, #-32]!
	stp	q4, q5, [sp, #-32]!
	stp	q2, q3, [sp, #-32]!
	stp	q0, q1, [sp, #-32]!
#endif
	.endm

	.macro restore_vectors
#ifdef __ARM_FP
	ldp	q0, q1, [sp], #32
	ldp	q2, q3, [sp], #32
	ldp	q4, q5, [sp], #32
	ldp	q6, q7, [sp], #32
#endif
	.endm

	.macro save_arguments
	stp	x29, x30, [sp, #-FRAME]!
	stp	x0, x1, [sp, #16]
	stp	x2, x3, [sp, #32]
	stp	x4, x5, [sp, #48]
	stp	x6, x7, [sp, #64]
	stp	x8, x18, [sp, #80]
	.endm

	.macro restore_arguments
	ldp	x0, x1, [sp, #16]
	ldp	x2, x3, [sp, #32]
	ldp	x4, x5, [sp, #48]
	ldp	x6, x7, [sp, #64]
	ldp	x8, x18, [sp, #80]
	.endm

/* \second is what the C function gets beside the site: the slot, or the return address itself. */
	.macro entry name, target, second
	.globl	\name
	.type	\name, %function
	.balign	16
\name:
	save_arguments
	str	x9, [sp, #SLOT]
	sub	x0, x30, #4
	.ifc	\second, slot
	add	x1, sp, #SLOT
	.else
	mov	x1, x9
	.endif
	mov	x2, x29
	save_vectors
	bl	\target
	restore_vectors
	restore_arguments
	ldr	x30, [sp, #SLOT]
	ldr	x9, [sp, #8]
	add	sp, sp, #FRAME
	ret	x9
	.size	\name, . - \name
	.endm

	.text
	entry	fathom_arch_entry_function, fathom_function_enter, parent
	entry	fathom_arch_entry_hijack, fathom_graph_enter_hijack, slot
	entry	fathom_arch_entry_any, fathom_function_any, slot

/* Where a function arrives whose return address was replaced. */
	.globl	fathom_arch_return
	.type	fathom_arch_return, %function
	.balign	16
fathom_arch_return:
	save_arguments
	add	x0, sp, #SLOT
	save_vectors
	bl	fathom_graph_return
	restore_vectors
	mov	x30, x0
	restore_arguments
	add	sp, sp, #FRAME
	ret
	.size	fathom_arch_return, . - fathom_arch_return

	.section .note.GNU-stack, "", %progbits
