/* SPDX-License-Identifier: MIT */
/* boot.S -- x86_64: the first instructions: from QEMU's 32-bit PVH entry, and an AP's real mode, to C in long mode. */
#include "layout.h"

#define PHYS(x) ((x) - KERNEL_BASE)

/* QEMU finds the entry in this ELF note (XEN_ELFNOTE_PHYS32_ENTRY = 18). */
	.section .note.pvh, "a", @note
	.align 4
	.long 4, 8, 18
	.asciz "Xen"
	.quad PHYS(boot)

/* 32-bit, paging off; %ebx is the physical address of struct pvh_info. */
	.section .boot, "ax"
	.code32
	.globl boot
boot:
	cld
	movl	%ebx, %esi
	movl	$PHYS(boot64), %edi
	movl	$PHYS(bsp_stack_end), %esp
	jmp	enable_paging

/* Both roads meet here: %edi is where to go on in 64 bits, %esi is handed on. */
enable_paging:
	movl	%cr4, %eax
	orl	$0x20, %eax			/* PAE */
	movl	%eax, %cr4
	movl	$PHYS(kernel_root), %eax
	movl	%eax, %cr3
	movl	$0xc0000080, %ecx		/* EFER: syscall, long mode, no-execute */
	rdmsr
	orl	$0x901, %eax
	wrmsr
	movl	%cr0, %eax
	andl	$0x9fffffff, %eax		/* caches on */
	orl	$0x80010001, %eax		/* paging, write protection for the kernel too, protected mode */
	movl	%eax, %cr0
	lgdt	PHYS(boot_gdt_ptr)
	ljmp	$SEL_KCODE, $PHYS(low64)

	.code64
low64:
	xorl	%eax, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%eax, %ss
	movl	%eax, %fs
	movl	%eax, %gs
	movabsq	$KERNEL_BASE, %rax
	addq	%rax, %rdi
	jmp	*%rdi

boot64:
	movq	$bsp_stack_end, %rsp
	xorl	%ebp, %ebp
	movl	%esi, %edi
	call	kernel_main
1:	hlt
	jmp	1b

/* An AP: smp.c put its stack's top and its number into ap_stack and ap_number before it was woken. */
ap64:
	xorl	%edi, %edi
	xchgl	%edi, ap_number			/* 0: it was given up meanwhile */
	testl	%edi, %edi
	jz	1f
	movq	ap_stack, %rsp
	xorl	%ebp, %ebp
	call	ap_main
1:	hlt
	jmp	1b

/* Copied to AP_START: an AP begins here in real mode, with %cs = AP_START >> 4. */
	.globl ap_trampoline, ap_trampoline_end
	.code16
ap_trampoline:
	cli
	xorw	%ax, %ax
	movw	%ax, %ds
	lgdtl	AP_START + (ap_gdt_ptr - ap_trampoline)
	movl	$0x11, %eax
	movl	%eax, %cr0
	ljmpl	$0x18, $PHYS(ap32)
	.align 4
ap_gdt_ptr:
	.word	boot_gdt_end - boot_gdt - 1
	.long	PHYS(boot_gdt)
ap_trampoline_end:

	.code32
ap32:
	movl	$0x20, %eax
	movl	%eax, %ds
	movl	%eax, %ss
	movl	$PHYS(ap64), %edi
	jmp	enable_paging

	.align 8
boot_gdt:
	.quad	0
	.quad	0x00af9a000000ffff		/* 0x08 64-bit code */
	.quad	0x00cf92000000ffff		/* 0x10 data */
	.quad	0x00cf9a000000ffff		/* 0x18 32-bit code, for an AP on its way up */
	.quad	0x00cf92000000ffff		/* 0x20 32-bit data */
boot_gdt_end:
boot_gdt_ptr:
	.word	boot_gdt_end - boot_gdt - 1
	.quad	PHYS(boot_gdt)

/*
 * The first page tables, made by the assembler: 1 GiB of physical memory in 2 MiB pages, seen at 0 (until every CPU is
 * up), at PHYS_BASE and at KERNEL_BASE; and the APICs' registers, uncached, at PHYS_BASE + their address.
 */
	.section .data.pagetables, "aw"
	.align 4096
	.globl kernel_root, kernel_pd
kernel_root:
	.quad	PHYS(low_pdpt) + 3
	.fill	255, 8, 0
	.quad	PHYS(phys_pdpt) + 3
	.fill	254, 8, 0
	.quad	PHYS(kernel_pdpt) + 3
low_pdpt:
	.quad	PHYS(kernel_pd) + 3
	.fill	511, 8, 0
phys_pdpt:
	.quad	PHYS(phys_pd) + 3
	.fill	2, 8, 0
	.quad	PHYS(apic_pd) + 3
	.fill	508, 8, 0
kernel_pdpt:
	.fill	510, 8, 0
	.quad	PHYS(kernel_pd) + 3
	.quad	0
	.set	i, 0
kernel_pd:
	.rept	512
	.quad	(i << 21) + 0x83
	.set	i, i + 1
	.endr
	.set	i, 0
phys_pd:
	.rept	512
	.quad	0x8000000000000083 + (i << 21)
	.set	i, i + 1
	.endr
apic_pd:
	.fill	0x1f6, 8, 0
	.quad	0x80000000fec0009b		/* I/O APIC: present, writable, uncached, 2 MiB */
	.quad	0x80000000fee0009b		/* local APIC */
	.fill	8, 8, 0

	.bss
	.align 4096
	.globl bsp_stack
bsp_stack:					/* struct kstack */
	.skip	4096
	.skip	KSTACK_SIZE
bsp_stack_end:
	.section .note.GNU-stack, "", @progbits
