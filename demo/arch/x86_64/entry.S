/* SPDX-License-Identifier: MIT */
/* entry.S -- x86_64: the ways into the kernel (vectors, NMI, syscall), the ways out, and the switch between two tasks. */
#include "layout.h"

#define FRAME_RIP 136
#define FRAME_CS  144

	.text
/* Push what the hardware did not: struct trapframe is complete after this, and %rdi points to it. */
.macro SAVE_REGS
	pushq	%rax
	pushq	%rbx
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	pushq	%rbp
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%rsp, %rdi
	cld
.endm

.macro RESTORE_REGS
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rbp
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%rcx
	popq	%rbx
	popq	%rax
.endm

/*
 * A stack frame for unwinders: [old %rbp][interrupted %rip], so that a walk goes on in what was interrupted, or ends
 * ([...][0]) if that was the user's: a kernel stack has no user addresses. All registers are saved by now.
 */
.macro LINK_FRAME
	xorl	%eax, %eax
	testb	$3, FRAME_CS(%rdi)
	cmovz	FRAME_RIP(%rdi), %rax
	pushq	%rax
	pushq	%rbp
	movq	%rsp, %rbp
.endm

/* One stub of 16 bytes per vector. Vectors 8, 10-14, 17 and 21 push an error code of their own. */
	.align 16
	.globl vector_stubs
vector_stubs:
	.set	i, 0
	.rept	256
	.align	16
	.if	!(i == 8 || (i >= 10 && i <= 14) || i == 17 || i == 21)
	pushq	$0
	.endif
	pushq	$i
	jmp	trap_entry
	.set	i, i + 1
	.endr

trap_entry:
	testb	$3, 24(%rsp)			/* from user mode? Then %gs is still the user's */
	jz	1f
	swapgs
1:	SAVE_REGS
	LINK_FRAME
	call	trap
	addq	$16, %rsp
	.globl trap_return
trap_return:
	testb	$3, FRAME_CS(%rsp)
	jz	1f
	swapgs
	jmp	2f
1:	cmpl	$0, %gs:CPU_NMI
	jnz	return_in_nmi
2:	RESTORE_REGS
	addq	$16, %rsp			/* vector and error code */
	iretq

/*
 * An exception inside an NMI (a breakpoint while text is being patched). iretq would let the next NMI in, onto the stack
 * that the first one still stands on; so flags and %rip are laid below the interrupted stack pointer and popped there.
 */
return_in_nmi:
	RESTORE_REGS
	addq	$16, %rsp			/* now at: rip cs rflags rsp ss */
	pushq	%rax
	pushq	%rcx
	movq	40(%rsp), %rax			/* rsp */
	subq	$16, %rax
	movq	%rax, 24(%rsp)			/* kept where cs was */
	movq	16(%rsp), %rcx			/* rip; fetched before the stores below may reach it */
	pushq	32(%rsp)			/* rflags */
	movq	%rcx, 8(%rax)
	popq	(%rax)
	popq	%rcx
	popq	%rax
	movq	8(%rsp), %rsp
	popfq
	ret

/*
 * NMI and double fault: may come between any two instructions, so also where the kernel already runs with the user's %gs
 * (just before or after swapgs). Kernel %gs bases are negative, user's are not: ask the MSR. %ebx: was it the user's?
 * Both run on a stack of their own (IST).
 */
.macro KERNEL_GS
	movl	$0xc0000101, %ecx
	rdmsr
	xorl	%ebx, %ebx
	testl	%edx, %edx
	js	1f
	swapgs
	incl	%ebx
1:
.endm

	.globl double_fault_entry
double_fault_entry:
	pushq	$VEC_DOUBLE_FAULT
	SAVE_REGS
	LINK_FRAME
	KERNEL_GS
	call	trap				/* and does not return */

	.globl nmi_entry
nmi_entry:
	pushq	$0
	pushq	$VEC_NMI
	SAVE_REGS
	LINK_FRAME
	KERNEL_GS
	call	nmi
	testl	%ebx, %ebx
	jz	2f
	swapgs
2:	addq	$16, %rsp
	RESTORE_REGS
	addq	$16, %rsp
	iretq

/* syscall: %rcx = user's %rip, %r11 = its flags, interrupts off (FMASK), still on the user's stack. */
	.globl syscall_entry
syscall_entry:
	swapgs
	movq	%rsp, %gs:CPU_USER_RSP
	movq	%gs:CPU_KSTACK, %rsp
	pushq	$SEL_UDATA
	pushq	%gs:CPU_USER_RSP
	pushq	%r11
	pushq	$SEL_UCODE
	pushq	%rcx
	pushq	$0
	pushq	$VEC_SYSCALL
	SAVE_REGS
	LINK_FRAME
	call	syscall
	addq	$16, %rsp
	RESTORE_REGS
	addq	$16, %rsp
	popq	%rcx
	addq	$8, %rsp
	popq	%r11
	popq	%rsp
	swapgs
	sysretq

/* void switch_to(struct task *from, struct task *to): callee-saved registers are all that a task is between two calls. */
	.globl switch_to
switch_to:
	pushq	%rbp
	pushq	%rbx
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%rsp, TASK_SP(%rdi)
	movq	TASK_SP(%rsi), %rsp
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbx
	popq	%rbp
	ret

/* Where a new task's first switch_to returns to: %rbx = function, %r12 = its argument; user tasks have a frame above. */
	.globl task_entry
task_entry:
	call	task_first
	testq	%rbx, %rbx
	jz	trap_return
	movq	%r12, %rdi
	call	*%rbx
	xorl	%edi, %edi
	call	task_exit
	.section .note.GNU-stack, "", @progbits
