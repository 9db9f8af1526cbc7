/* SPDX-License-Identifier: MIT */
/* entry.S -- riscv64: the one way into the kernel, the way out, and the switch between two tasks. */
#include "layout.h"

#define FRAME	   288			/* struct trapframe; cpu.c checks it */
#define FRAME_SP   8
#define FRAME_TP   24
#define FRAME_T0   32
#define FRAME_S0   56
#define FRAME_PC   248
#define FRAME_STATUS 256
#define FRAME_FAULT 264
#define FRAME_CAUSE 272
#define RECORDS	   32			/* two stack frames for unwinders, below the trapframe: vectors.c */
#define STATUS_SPP 0x100
#define SCRATCH2   (TASK_SCRATCH + 8)
#define KSTACK_BYTES (4096 + KSTACK_SIZE) /* struct kstack */

/* x1, x3 and x5 .. x31 to or from their places; sp and tp are special. */
.macro ALL_REGS op
	\op	ra, 0(sp)
	\op	gp, 16(sp)
	\op	t0, 32(sp)
	\op	t1, 40(sp)
	\op	t2, 48(sp)
	\op	s0, 56(sp)
	\op	s1, 64(sp)
	\op	a0, 72(sp)
	\op	a1, 80(sp)
	\op	a2, 88(sp)
	\op	a3, 96(sp)
	\op	a4, 104(sp)
	\op	a5, 112(sp)
	\op	a6, 120(sp)
	\op	a7, 128(sp)
	\op	s2, 136(sp)
	\op	s3, 144(sp)
	\op	s4, 152(sp)
	\op	s5, 160(sp)
	\op	s6, 168(sp)
	\op	s7, 176(sp)
	\op	s8, 184(sp)
	\op	s9, 192(sp)
	\op	s10, 200(sp)
	\op	s11, 208(sp)
	\op	t3, 216(sp)
	\op	t4, 224(sp)
	\op	t5, 232(sp)
	\op	t6, 240(sp)
.endm

/*
 * Every trap. sscratch says where from: it is the task when user code runs, 0 when the kernel does. A trap in the kernel
 * must find room on the stack it is on; if there is none, the stack of this CPU that is kept for that is used.
 */
	.text
	.align 4
	.globl trap_entry
trap_entry:
	csrrw	tp, sscratch, tp
	bnez	tp, .Lfrom_user
	csrrw	tp, sscratch, zero
	sd	t0, TASK_SCRATCH(tp)
	ld	t0, TASK_KSTACK(tp)
	sub	t0, sp, t0
	addi	t0, t0, -(FRAME + RECORDS)
	bltz	t0, .Lno_room
	ld	t0, TASK_SCRATCH(tp)
	addi	sp, sp, -FRAME
	ALL_REGS sd
	addi	t0, sp, FRAME
	sd	t0, FRAME_SP(sp)
	sd	tp, FRAME_TP(sp)
	csrr	t1, sepc
	j	.Lenter

.Lfrom_user:
	sd	sp, TASK_SCRATCH(tp)
	sd	t0, SCRATCH2(tp)
	ld	sp, TASK_KSTACK(tp)
	li	t0, KSTACK_SIZE - FRAME
	add	sp, sp, t0
	ld	t0, SCRATCH2(tp)
	ALL_REGS sd
	ld	t0, TASK_SCRATCH(tp)
	sd	t0, FRAME_SP(sp)
	csrrw	t0, sscratch, zero
	sd	t0, FRAME_TP(sp)
	mv	t1, zero			/* a kernel stack has no user addresses: a walk ends here */

/* t1: what unwinders find behind this frame. */
.Lenter:
	csrr	t0, sepc
	sd	t0, FRAME_PC(sp)
	csrr	t0, sstatus
	sd	t0, FRAME_STATUS(sp)
	csrr	t0, stval
	sd	t0, FRAME_FAULT(sp)
	csrr	t0, scause
	sd	t0, FRAME_CAUSE(sp)
	mv	a0, sp
	addi	sp, sp, -RECORDS
	sd	s0, 0(sp)
	sd	t1, 8(sp)
	addi	s0, sp, 16
	call	trap_arrived
	addi	sp, sp, RECORDS

	.globl trap_return
trap_return:
	ld	t0, FRAME_PC(sp)
	addi	t2, sp, FRAME_PC
	sc.d	t1, t0, (t2)			/* a reservation of this context is not the next one's */
	csrw	sepc, t0
	ld	t0, FRAME_STATUS(sp)
	csrw	sstatus, t0
	andi	t0, t0, STATUS_SPP
	bnez	t0, 1f
	csrw	sscratch, tp
	ld	tp, FRAME_TP(sp)
1:	ALL_REGS ld
	ld	sp, FRAME_SP(sp)
	sret

/* t0 is in the task, sp is too low. The frame goes to the top of fault_stacks[cpu]; trap_overflow() does not return. */
.Lno_room:
	sd	t1, SCRATCH2(tp)
	lw	t0, TASK_CPU(tp)
	li	t1, KSTACK_BYTES
	addi	t0, t0, 1
	mul	t0, t0, t1
	la	t1, fault_stacks
	add	t0, t0, t1
	addi	t0, t0, -FRAME
	sd	sp, FRAME_SP(t0)
	mv	sp, t0
	ld	t0, TASK_SCRATCH(tp)
	ld	t1, SCRATCH2(tp)
	ALL_REGS sd
	sd	tp, FRAME_TP(sp)
	csrr	t0, sepc
	sd	t0, FRAME_PC(sp)
	csrr	t0, sstatus
	sd	t0, FRAME_STATUS(sp)
	csrr	t0, stval
	sd	t0, FRAME_FAULT(sp)
	mv	a0, sp
	call	trap_overflow

/* void switch_to(struct task *from, struct task *to): callee-saved registers are all that a task is between two calls. */
	.globl switch_to
switch_to:
	addi	sp, sp, -112
	sd	ra, 0(sp)
	sd	s0, 8(sp)
	sd	s1, 16(sp)
	sd	s2, 24(sp)
	sd	s3, 32(sp)
	sd	s4, 40(sp)
	sd	s5, 48(sp)
	sd	s6, 56(sp)
	sd	s7, 64(sp)
	sd	s8, 72(sp)
	sd	s9, 80(sp)
	sd	s10, 88(sp)
	sd	s11, 96(sp)
	sd	sp, TASK_SP(a0)
	ld	sp, TASK_SP(a1)
	mv	tp, a1
	ld	ra, 0(sp)
	ld	s0, 8(sp)
	ld	s1, 16(sp)
	ld	s2, 24(sp)
	ld	s3, 32(sp)
	ld	s4, 40(sp)
	ld	s5, 48(sp)
	ld	s6, 56(sp)
	ld	s7, 64(sp)
	ld	s8, 72(sp)
	ld	s9, 80(sp)
	ld	s10, 88(sp)
	ld	s11, 96(sp)
	addi	sp, sp, 112
	ret

/* Where a new task's first switch_to returns to: s1 = function, s2 = its argument; user tasks have a frame above. */
	.globl task_entry
task_entry:
	call	task_first
	beqz	s1, trap_return
	mv	a0, s2
	jalr	s1
	mv	a0, zero
	call	task_exit
	.section .note.GNU-stack, "", @progbits
