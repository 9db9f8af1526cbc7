/* SPDX-License-Identifier: MIT */
/* entry.S -- riscv64: from a patched site into C and back, with every argument as it was. */

/*
 * At a site t0 holds the address behind it and ra the function's return address. Live are the arguments a0..a7, t2
 * (static chain) and, where there are floating-point registers, fa0..fa7. Callers must not count on more: compile with
 * -fno-ipa-ra.
 *
 * The return address is not on the stack here, so it is put there: the word below the caller's stack is the slot that
 * names the frame. When the function returns the stack is where it was at the entry, and the slot in the same place.
 */

#define FRAME	160
#define SLOT	152
#define BEHIND	144	/* the address behind the site */
#define CHAIN	136

	.macro save_arguments
	addi	sp, sp, -FRAME
	sd	a0, 0(sp)
	sd	a1, 8(sp)
	sd	a2, 16(sp)
	sd	a3, 24(sp)
	sd	a4, 32(sp)
	sd	a5, 40(sp)
	sd	a6, 48(sp)
	sd	a7, 56(sp)
	sd	t2, CHAIN(sp)
#ifdef __riscv_flen
	fsd	fa0, 64(sp)
	fsd	fa1, 72(sp)
	fsd	fa2, 80(sp)
	fsd	fa3, 88(sp)
	fsd	fa4, 96(sp)
	fsd	fa5, 104(sp)
	fsd	fa6, 112(sp)
	fsd	fa7, 120(sp)
#endif
	.endm

	.macro restore_arguments
	ld	a0, 0(sp)
	ld	a1, 8(sp)
	ld	a2, 16(sp)
	ld	a3, 24(sp)
	ld	a4, 32(sp)
	ld	a5, 40(sp)
	ld	a6, 48(sp)
	ld	a7, 56(sp)
	ld	t2, CHAIN(sp)
#ifdef __riscv_flen
	fld	fa0, 64(sp)
	fld	fa1, 72(sp)
	fld	fa2, 80(sp)
	fld	fa3, 88(sp)
	fld	fa4, 96(sp)
	fld	fa5, 104(sp)
	fld	fa6, 112(sp)
	fld	fa7, 120(sp)
#endif
	.endm

	.text
	.globl	fathom_arch_entry_any
	.type	fathom_arch_entry_any, @function
	.balign	16
fathom_arch_entry_any:
	save_arguments
	sd	ra, SLOT(sp)
	sd	t0, BEHIND(sp)
	addi	a0, t0, -4
	addi	a1, sp, SLOT
	mv	a2, s0
	call	fathom_function_any
	restore_arguments
	ld	ra, SLOT(sp)
	ld	t0, BEHIND(sp)
	addi	sp, sp, FRAME
	jr	t0
	.size	fathom_arch_entry_any, . - fathom_arch_entry_any

/* Where a function arrives whose return address was replaced. */
	.globl	fathom_arch_return
	.type	fathom_arch_return, @function
	.balign	16
fathom_arch_return:
	save_arguments
	addi	a0, sp, SLOT
	call	fathom_graph_return
	mv	ra, a0
	restore_arguments
	addi	sp, sp, FRAME
	ret
	.size	fathom_arch_return, . - fathom_arch_return

	.section .note.GNU-stack, "", %progbits
