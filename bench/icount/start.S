/* SPDX-License-Identifier: MIT */
/* start.S -- a stack, the register that names the CPU, and on to C; x86 begins by multiboot, in 32 bits. */

	.section .start, "ax"
	.globl	_start

#if defined(__x86_64__) || defined(__i386__)
	.balign	4
	.long	0x1badb002, 0, -0x1badb002
	.code32
_start:
	movl	$bench_stack_end, %esp
#ifdef __x86_64__
	movl	$0x20, %eax			/* PAE */
	movl	%eax, %cr4
	movl	$bench_root, %eax
	movl	%eax, %cr3
	movl	$0xc0000080, %ecx		/* EFER: long mode */
	rdmsr
	orl	$0x100, %eax
	wrmsr
	movl	$0x80000011, %eax
	movl	%eax, %cr0
	lgdt	bench_gdt_ptr
	ljmp	$8, $1f
	.code64
1:	movl	$0xc0000101, %ecx		/* the base of gs, and what lies there */
	movl	$bench_here_at, %eax
	xorl	%edx, %edx
	wrmsr
#endif
	call	bench_main

#ifdef __x86_64__
	.data
	.balign	8
bench_here_at:
	.quad	bench_cpu
bench_gdt:
	.quad	0, 0x00af9a000000ffff
bench_gdt_ptr:
	.word	15
	.quad	bench_gdt
	.balign	4096
bench_root:
	.quad	bench_directories + 3
	.fill	511, 8, 0
bench_directories:
	.quad	bench_pages + 3
	.fill	511, 8, 0
bench_pages:
	.set	page, 0x83
	.rept	512
	.quad	page
	.set	page, page + 0x200000
	.endr
#endif

#elif defined(__aarch64__)
_start:
	ldr	x0, =bench_stack_end
	mov	sp, x0
	ldr	x0, =bench_cpu
	msr	tpidr_el1, x0
	bl	bench_main
	.ltorg

#elif defined(__riscv)
_start:
	la	sp, bench_stack_end
	la	tp, bench_cpu
	call	bench_main

#else
	.syntax	unified
	.thumb
	.long	bench_stack_end, _start + 1
	.fill	14, 4, 0
	.thumb_func
_start:
	ldr	r0, =0x40000000			/* the timer: value, reload, on */
	mvn	r1, #0
	str	r1, [r0, #8]
	str	r1, [r0, #4]
	movs	r1, #1
	str	r1, [r0]
	bl	bench_main
	.ltorg
#endif

	.bss
	.balign	16
	.skip	16384
bench_stack_end:

	.section .note.GNU-stack, "", %progbits
