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
 *
 * At a return a0 and a1 are live, and fa0 and fa1.
 */

#define FRAME	160
#define SLOT	152
#define BEHIND	144	/* the address behind the site */
#define CHAIN	136
#define RETURN_FRAME 48
#define RETURN_SLOT  40

#if defined(__riscv_flen) && __riscv_flen >= 64
#define FSAVE	fsd
#define FLOAD	fld
#elif defined(__riscv_flen)
#define FSAVE	fsw
#define FLOAD	flw
#endif

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

/* \second is what the C function gets beside the site: the slot and the frame pointer, or the return address itself. */
	.macro entry name, target, second, fp
	.text
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
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
	save_fp	\fp
	sd	ra, SLOT(sp)
	sd	t0, BEHIND(sp)
	addi	a0, t0, -4
	.ifc	\second, slot
	addi	a1, sp, SLOT
	mv	a2, s0
	.else
	mv	a1, ra
	.endif
	call	\target
	restore_fp \fp
	ld	a0, 0(sp)
	ld	a1, 8(sp)
	ld	a2, 16(sp)
	ld	a3, 24(sp)
	ld	a4, 32(sp)
	ld	a5, 40(sp)
	ld	a6, 48(sp)
	ld	a7, 56(sp)
	ld	t2, CHAIN(sp)
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
	.type	\name, function
	.balign	16
\name:
	addi	sp, sp, -RETURN_FRAME
	sd	a0, 16(sp)
	sd	a1, 24(sp)
#ifdef FSAVE
	.if	\fp
	FSAVE	fa0, 0(sp)
	FSAVE	fa1, 8(sp)
	.endif
#endif
	addi	a0, sp, RETURN_SLOT
	call	fathom_graph_return
	mv	ra, a0
#ifdef FSAVE
	.if	\fp
	FLOAD	fa0, 0(sp)
	FLOAD	fa1, 8(sp)
	.endif
#endif
	ld	a0, 16(sp)
	ld	a1, 24(sp)
	addi	sp, sp, RETURN_FRAME
	ret
	.size	\name, . - \name
	.endm

/* Where sites lead, in the order of enum site_slot: site.c says why twice. */
	.macro entry_table name, fp
	.text
	.globl	\name
	.balign	16
	.option	push
	.option	norvc
\name:
	.rept	2
	j	fathom_arch_entry_function\fp
	j	fathom_arch_entry_hijack\fp
	j	fathom_arch_entry_any\fp
	nop
	.endr
	.option	pop
	.endm

	.macro entries fp, on
	entry	fathom_arch_entry_function\fp, fathom_function_enter, parent, \on
	entry	fathom_arch_entry_hijack\fp, fathom_graph_enter_hijack, slot, \on
	entry	fathom_arch_entry_any\fp, fathom_function_any, slot, \on
	entry_return	fathom_arch_return\fp, \on
	entry_table	fathom_arch_entries\fp, \fp
	.endm

	entries	, 0
#ifdef FSAVE
	entries	_fp, 1
#endif

	.section .note.GNU-stack, "", %progbits
