/* SPDX-License-Identifier: MIT */
/* entry.S -- aarch64: the table of ways into the kernel, the way out, and the switch between two tasks. */
#include "layout.h"

#define FRAME	     304			/* struct trapframe; cpu.c checks it */
#define FRAME_SP     248
#define FRAME_PC     256
#define FRAME_PMR    272
#define FRAME_FAULT  280
#define RECORD	     16				/* the stack frame for unwinders, below the trapframe */
#define KSTACK_BYTES (4096 + KSTACK_SIZE)	/* struct kstack */
#define PMR	     S3_0_C4_C6_0
#define MODE_BITS    0xf

/* x0 .. x29 to or from their places. */
.macro ALL_REGS op
	\op	x0, x1, [sp, #0]
	\op	x2, x3, [sp, #16]
	\op	x4, x5, [sp, #32]
	\op	x6, x7, [sp, #48]
	\op	x8, x9, [sp, #64]
	\op	x10, x11, [sp, #80]
	\op	x12, x13, [sp, #96]
	\op	x14, x15, [sp, #112]
	\op	x16, x17, [sp, #128]
	\op	x18, x19, [sp, #144]
	\op	x20, x21, [sp, #160]
	\op	x22, x23, [sp, #176]
	\op	x24, x25, [sp, #192]
	\op	x26, x27, [sp, #208]
	\op	x28, x29, [sp, #224]
.endm

/* The rest of the frame, once x0 .. x29 are in it; \sp is what sp was. x22: the pc. */
.macro SAVE_STATE sp
	stp	x30, \sp, [sp, #240]
	mrs	x22, elr_el1
	mrs	x23, spsr_el1
	stp	x22, x23, [sp, #FRAME_PC]
	mrs	x24, PMR
	mrs	x25, far_el1
	stp	x24, x25, [sp, #FRAME_PMR]
	mrs	x26, esr_el1
	stp	x26, xzr, [sp, #288]
.endm

/*
 * In the kernel: an exception must find room on the stack it is on; if there is none, the stack of this CPU that is kept
 * for that is used. TPIDRRO_EL0, which programs here do not use, keeps a register meanwhile.
 */
.macro FROM_KERNEL arrived
	msr	tpidrro_el0, x0
	mrs	x0, tpidr_el1
	ldr	x0, [x0, #TASK_KSTACK]
	sub	x0, sp, x0
	sub	x0, x0, #(FRAME + RECORD)
	tbnz	x0, #63, no_room
	mrs	x0, tpidrro_el0
	sub	sp, sp, #FRAME
	ALL_REGS stp
	add	x21, sp, #FRAME
	b	\arrived
.endm

.macro FROM_USER arrived
	sub	sp, sp, #FRAME
	ALL_REGS stp
	mrs	x21, sp_el0
	b	\arrived
.endm

/* \second: what unwinders find behind this frame: where the kernel was, or nothing, for a kernel stack has no user addresses. */
.macro GO_ON name, function, second
\name:
	SAVE_STATE x21
	mov	x0, sp
	stp	x29, \second, [sp, #-RECORD]!
	mov	x29, sp
	bl	\function
	add	sp, sp, #RECORD
	b	trap_return
.endm

	.text
	GO_ON	trap_entry, sync_arrived, x22
	GO_ON	irq_entry, irq_arrived, x22
	GO_ON	user_entry, sync_arrived, xzr
	GO_ON	user_irq_entry, irq_arrived, xzr

/* PSTATE.I is set: nothing comes in until eret. */
	.globl trap_return
trap_return:
	ldp	x22, x23, [sp, #FRAME_PC]
	ldr	x24, [sp, #FRAME_PMR]
	ldp	x30, x21, [sp, #240]
	msr	elr_el1, x22
	msr	spsr_el1, x23
	msr	PMR, x24
	tst	x23, #MODE_BITS
	b.ne	1f
	msr	sp_el0, x21
1:	ALL_REGS ldp
	add	sp, sp, #FRAME			/* which is where it was, in the kernel too */
	eret

/* sp is too low, x0 in TPIDRRO_EL0. The frame goes to the top of fault_stacks[cpu]; trap_overflow() does not return. */
no_room:
	mov	x0, sp
	msr	tpidr_el0, x0
	mrs	x0, tpidr_el1
	ldr	w0, [x0, #TASK_CPU]
	add	x0, x0, #1
	mov	sp, x1				/* a register more, kept where it does not matter */
	mov	x1, #KSTACK_BYTES
	mul	x0, x0, x1
	ldr	x1, =fault_stacks - FRAME
	add	x0, x0, x1
	mov	x1, sp
	mov	sp, x0
	mrs	x0, tpidrro_el0
	ALL_REGS stp
	mrs	x21, tpidr_el0
	SAVE_STATE x21
	mov	x0, sp
	bl	trap_overflow
	.ltorg

.macro VECTOR
	.align	7
.endm
.macro NEVER
	VECTOR
	FROM_KERNEL trap_entry
.endm

/* SP_EL0 in the kernel (never), the kernel, 64-bit programs, 32-bit programs (never): sync, IRQ, FIQ, SError each. */
	.align	11
	.globl vector_table
vector_table:
	NEVER
	NEVER
	NEVER
	NEVER
	VECTOR
	FROM_KERNEL trap_entry
	VECTOR
	FROM_KERNEL irq_entry
	NEVER
	NEVER
	VECTOR
	FROM_USER user_entry
	VECTOR
	FROM_USER user_irq_entry
	VECTOR
	FROM_USER user_entry
	VECTOR
	FROM_USER user_entry
	NEVER
	NEVER
	NEVER
	NEVER

/* void switch_to(struct task *from, struct task *to): callee-saved registers are all that a task is between two calls. */
	.globl switch_to
switch_to:
	stp	x29, x30, [sp, #-96]!
	stp	x19, x20, [sp, #16]
	stp	x21, x22, [sp, #32]
	stp	x23, x24, [sp, #48]
	stp	x25, x26, [sp, #64]
	stp	x27, x28, [sp, #80]
	mov	x9, sp
	str	x9, [x0, #TASK_SP]
	ldr	x9, [x1, #TASK_SP]
	msr	daifset, #2			/* an NMI between the two would find one task's number on the other's stack */
	mov	sp, x9
	msr	tpidr_el1, x1
	msr	daifclr, #2
	ldp	x19, x20, [sp, #16]
	ldp	x21, x22, [sp, #32]
	ldp	x23, x24, [sp, #48]
	ldp	x25, x26, [sp, #64]
	ldp	x27, x28, [sp, #80]
	ldp	x29, x30, [sp], #96
	ret

/* Where a new task's first switch_to returns to: x19 = function, x20 = its argument; user tasks have a frame above. */
	.globl task_entry
task_entry:
	bl	task_first
	cbz	x19, 1f
	mov	x0, x20
	blr	x19
	mov	x0, xzr
	bl	task_exit
1:	msr	daifset, #2
	b	trap_return
	.section .note.GNU-stack, "", %progbits
