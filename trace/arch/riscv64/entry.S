/* SPDX-License-Identifier: MIT */
/* entry.S -- riscv64: from a patched site into C and back, with every argument as it was. */

/*
 * At a site t0 holds the address behind it and ra the function's return address. Live are the arguments a0..a7, t2
 * (static chain) and, where traced code calculates with them, fa0..fa7. Callers must not count on more: compile with
 * -fno-ipa-ra.
 *
 * A kernel that runs with the FP unit off would trap at the first fsd, whatever its compiler was told. So there are two
 * entries and two returns; those that end in _fp save the FP registers too and are for ports that ask: FATHOM_SAVE_FP.
 *
 * The return address is not on the stack here, so it is put there: the word below the caller's stack is the slot that
 * names the frame. When the function returns the stack is where it was at the entry, and the slot in the same place.
 */

#define FRAME	160
#define SLOT	152
#define BEHIND	144	/* the address behind the site */
#define CHAIN	136

#if defined(__riscv_flen) && __riscv_flen >= 64
#define FSAVE	fsd
#define FLOAD	fld
#elif defined(__riscv_flen)
#define FSAVE	fsw
#define FLOAD	flw
#endif

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
	.endm

	.macro save_fp on
#ifdef FSAVE
	.if	\on
	FSAVE	fa0, 64(sp)
	FSAVE	fa1, 72(sp)
	FSAVE	fa2, 80(sp)
	FSAVE	fa3, 88(sp)
	FSAVE	fa4, 96(sp)
	FSAVE	fa5, 104(sp)
	FSAVE	fa6, 112(sp)
	FSAVE	fa7, 120(sp)
	.endif
#endif
	.endm

	.macro restore_fp on
#ifdef FSAVE
	.if	\on
	FLOAD	fa0, 64(sp)
	FLOAD	fa1, 72(sp)
	FLOAD	fa2, 80(sp)
	FLOAD	fa3, 88(sp)
	FLOAD	fa4, 96(sp)
	FLOAD	fa5, 104(sp)
	FLOAD	fa6, 112(sp)
	FLOAD	fa7, 120(sp)
	.endif
#endif
	.endm

	.macro entry_any name, fp
	.text
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
	save_arguments
	save_fp	\fp
	sd	ra, SLOT(sp)
	sd	t0, BEHIND(sp)
	addi	a0, t0, -4
	addi	a1, sp, SLOT
	mv	a2, s0
	call	fathom_function_any
	restore_fp \fp
	restore_arguments
	ld	ra, SLOT(sp)
	ld	t0, BEHIND(sp)
	addi	sp, sp, FRAME
	jr	t0
	.size	\name, . - \name
	.endm

/* Where a function arrives whose return address was replaced. */
	.macro entry_return name, fp
	.text
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
	save_arguments
	save_fp	\fp
	addi	a0, sp, SLOT
	call	fathom_graph_return
	mv	ra, a0
	restore_fp \fp
	restore_arguments
	addi	sp, sp, FRAME
	ret
	.size	\name, . - \name
	.endm

	entry_any	fathom_arch_entry_any, 0
	entry_return	fathom_arch_return, 0
#ifdef FSAVE
	entry_any	fathom_arch_entry_any_fp, 1
	entry_return	fathom_arch_return_fp, 1
#endif

	.section .note.GNU-stack, "", %progbits
