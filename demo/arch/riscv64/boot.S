/* SPDX-License-Identifier: MIT */
/* boot.S -- riscv64: the first instructions, from OpenSBI's hand-over in S-mode to C at the kernel's own addresses. */
#include "layout.h"

#define PTE_TABLE	0x01
#define PTE_RWX		0xcf			/* valid, read, write, execute, accessed, dirty */
#define PTE_RW		0xc7
#define LEAF(phys)	((phys) >> 2)		/* the page number begins at bit 10 */

/*
 * QEMU enters at the lowest address of the image: a0 is the hart, a1 the device tree. The MMU is off and the image lies at
 * RAM_BASE + 2 MiB; addresses that are made from the pc are physical until `high`. Only the first hart to come boots: OpenSBI
 * 1.1 marks a hart as started before it stores where to, so one that smp.c starts early may be sent here instead of ap_boot.
 */
	.section .boot, "ax"
	.globl boot, ap_boot
boot:
	csrw	sie, zero
	la	t0, boot_taken
	li	t1, 1
	amoswap.w.aqrl	t1, t1, (t0)
	bnez	t1, ap_boot
	la	t0, boot_hart
	sd	a0, (t0)
	la	t0, kernel_pd			/* the one entry that the assembler cannot make */
	srli	t0, t0, 2
	ori	t0, t0, PTE_TABLE
	la	t1, kernel_root
	li	t2, (KERNEL_BASE >> 30 & 511) * 8
	add	t1, t1, t2
	sd	t0, (t1)
	call	enable_paging
	la	sp, bsp_stack_end
	mv	s0, zero
	mv	a0, a1
	call	kernel_main
1:	wfi
	j	1b

/* Another CPU: smp.c put its stack's top and its number into ap_stack and ap_number before it was started. */
ap_boot:
	csrw	sie, zero
	call	enable_paging
	ld	sp, ap_stack
	lw	a0, ap_number
	mv	s0, zero
	call	ap_main
1:	wfi
	j	1b

/* Returns to where the kernel is linked, which the tables map as they map the place where it lies. */
enable_paging:
	la	t0, kernel_root
	srli	t0, t0, 12
	li	t1, 8 << 60			/* Sv39 */
	or	t0, t0, t1
	sfence.vma
	csrw	satp, t0
	sfence.vma
	li	t0, KERNEL_BASE - RAM_BASE
	add	ra, ra, t0
	ret

/*
 * The first page tables: RAM at its own address (until every CPU is up), 4 GiB of physical memory and devices at PHYS_BASE
 * in pages of 1 GiB, and 1 GiB of RAM at KERNEL_BASE in pages of 2 MiB.
 */
	.section .data.pagetables, "aw"
	.align 12
	.globl kernel_root, kernel_pd
kernel_root:
	.fill	RAM_BASE >> 30, 8, 0
	.quad	LEAF(RAM_BASE) + PTE_RWX
	.fill	255 - (RAM_BASE >> 30), 8, 0
	.quad	LEAF(0 << 30) + PTE_RW		/* PHYS_BASE is slot 256 */
	.quad	LEAF(1 << 30) + PTE_RW
	.quad	LEAF(2 << 30) + PTE_RW
	.quad	LEAF(3 << 30) + PTE_RW
	.fill	252, 8, 0
	.set	i, 0
kernel_pd:
	.rept	512
	.quad	LEAF(RAM_BASE + (i << 21)) + PTE_RWX
	.set	i, i + 1
	.endr

	.globl boot_hart
boot_hart:
	.quad	0
boot_taken:
	.quad	0

	.bss
	.align 12
	.globl bsp_stack
bsp_stack:					/* struct kstack */
	.skip	4096
	.skip	KSTACK_SIZE
bsp_stack_end:
	.section .note.GNU-stack, "", @progbits
