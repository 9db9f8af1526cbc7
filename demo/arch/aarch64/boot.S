/* SPDX-License-Identifier: MIT */
/* boot.S -- aarch64: the first instructions, from QEMU's entry at EL1 with the MMU off to C at the kernel's own addresses. */
#include "layout.h"

#define PHYS(x)		((x) - KERNEL_BASE + RAM_BASE)
#define TABLE		3
#define USED		(1 << 10)
#define SHARED		(3 << 8)
#define DEVICE		(1 << 2)		/* MAIR's attribute 1 */
#define PXN		(1 << 53)
#define UXN		(1 << 54)
#define MEMORY		(1 + USED + SHARED)	/* a large page of normal memory */

#define MAIR		0x04ff			/* 0: normal, write-back; 1: device, nGnRE */
/* 48-bit addresses in both halves, pages of 4 KiB, walks cached and shared, 40 bits of physical address. */
#define TCR		(16 | 16 << 16 | 0x3500 | 0x35 << 24 | 2 << 30 | 2 << 32)
#define SCTLR_ON	0x1005			/* MMU, data and instruction caches */
#define SCTLR_OFF	0x80002			/* alignment checks; what can be written cannot run */

	.section .boot, "ax"
	.globl boot, ap_boot
boot:
	bl	enable_paging
	ldr	x0, =bsp_stack_end
	mov	sp, x0
	mov	x29, xzr
	ldr	x0, =RAM_BASE			/* the device tree */
	bl	kernel_main
1:	wfi
	b	1b

/* Another CPU: smp.c put its stack's top and its number into ap_stack and ap_number before it was started. */
ap_boot:
	bl	enable_paging
	ldr	x0, =ap_stack
	ldr	x0, [x0]
	mov	sp, x0
	ldr	x0, =ap_number
	ldr	w0, [x0]
	mov	x29, xzr
	bl	ap_main
1:	wfi
	b	1b

/* Returns to where the kernel is linked. */
enable_paging:
	msr	daifset, #15
	ldr	x0, =MAIR
	msr	mair_el1, x0
	ldr	x0, =TCR
	msr	tcr_el1, x0
	ldr	x0, =PHYS(low_root)
	msr	ttbr0_el1, x0
	ldr	x0, =PHYS(kernel_root)
	msr	ttbr1_el1, x0
	isb
	tlbi	vmalle1
	dsb	nsh
	mrs	x0, sctlr_el1
	ldr	x1, =SCTLR_OFF
	bic	x0, x0, x1
	ldr	x1, =SCTLR_ON
	orr	x0, x0, x1
	msr	sctlr_el1, x0
	isb
	ldr	x0, =KERNEL_BASE - RAM_BASE
	add	x30, x30, x0
	ret
	.ltorg

/*
 * The first page tables: RAM at its own address (until every CPU is up), 4 GiB of devices and memory at PHYS_BASE in pages
 * of 1 GiB, and 1 GiB of RAM at KERNEL_BASE in pages of 2 MiB.
 */
	.section .data.pagetables, "aw"
	.align 12
	.globl kernel_root, kernel_pd, low_root
kernel_root:					/* TTBR1 */
	.fill	256, 8, 0
	.quad	PHYS(phys_l1) + TABLE
	.fill	254, 8, 0
	.quad	PHYS(kernel_l1) + TABLE
low_root:					/* TTBR0 */
	.quad	PHYS(low_l1) + TABLE
	.fill	511, 8, 0
low_l1:
	.fill	RAM_BASE >> 30, 8, 0
	.quad	RAM_BASE + MEMORY + UXN
	.fill	511 - (RAM_BASE >> 30), 8, 0
phys_l1:
	.quad	1 + USED + DEVICE + PXN + UXN
	.quad	(1 << 30) + MEMORY + PXN + UXN
	.quad	(2 << 30) + MEMORY + PXN + UXN
	.quad	(3 << 30) + MEMORY + PXN + UXN
	.fill	508, 8, 0
kernel_l1:
	.fill	510, 8, 0
	.quad	PHYS(kernel_pd) + TABLE
	.quad	0
	.set	i, 0
kernel_pd:
	.rept	512
	.quad	RAM_BASE + (i << 21) + MEMORY + UXN
	.set	i, i + 1
	.endr

	.bss
	.align 12
	.globl bsp_stack
bsp_stack:					/* struct kstack */
	.skip	4096
	.skip	KSTACK_SIZE
bsp_stack_end:
	.section .note.GNU-stack, "", %progbits
