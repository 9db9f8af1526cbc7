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
 *	old sp -  16	address behind the site
 *	old sp -  32	x8, x18
 *	    ...		x0 .. x7
 *
 * At a return x0 and x1 are live, and q0..q3.
 */

#define FRAME	96
#define BEHIND	80
#define SLOT	88

	.macro save_vectors
#ifdef __ARM_NEON
	stp	q6, q7, [sp, #-32]!
	stp	q4, q5, [sp, #-32]!
	stp	q2, q3, [sp, #-32]!
	stp	q0, q1, [sp, #-32]!
#endif
	.endm

	.macro restore_vectors
#ifdef __ARM_NEON
	ldp	q0, q1, [sp], #32
	ldp	q2, q3, [sp], #32
	ldp	q4, q5, [sp], #32
	ldp	q6, q7, [sp], #32
#endif
	.endm

/* \second is what the C function gets beside the site: the slot and the frame pointer, or the return address itself. */
	.macro entry name, target, second
	.globl	\name
	.type	\name, %function
	.balign	16
\name:
	stp	x0, x1, [sp, #-FRAME]!
	stp	x2, x3, [sp, #16]
	stp	x4, x5, [sp, #32]
	stp	x6, x7, [sp, #48]
	stp	x8, x18, [sp, #64]
	stp	x30, x9, [sp, #BEHIND]
	sub	x0, x30, #4
	.ifc	\second, slot
	add	x1, sp, #SLOT
	mov	x2, x29
	.else
	mov	x1, x9
	.endif
	save_vectors
	bl	\target
	restore_vectors
	ldp	x2, x3, [sp, #16]
	ldp	x4, x5, [sp, #32]
	ldp	x6, x7, [sp, #48]
	ldp	x8, x18, [sp, #64]
	ldp	x9, x30, [sp, #BEHIND]
	ldp	x0, x1, [sp], #FRAME
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
	stp	x0, x1, [sp, #-32]!
	add	x0, sp, #24
	save_vectors
	bl	fathom_graph_return
	restore_vectors
	mov	x30, x0
	ldp	x0, x1, [sp], #32
	ret
	.size	fathom_arch_return, . - fathom_arch_return

	.section .note.GNU-stack, "", %progbits
