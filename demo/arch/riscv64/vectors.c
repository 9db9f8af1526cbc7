/* SPDX-License-Identifier: MIT */
/* vectors.c -- riscv64: why the CPU came into the kernel, in the kernel's own numbers. */
#include "kernel.h"
#include "entry.h"
#include "irq.h"
#include "machine.h"
#include "task.h"

#define CAUSE_INTERRUPT (1ull << 63)

enum cause {
	CAUSE_FETCH_ALIGN = 0,
	CAUSE_ILLEGAL = 2,
	CAUSE_BREAKPOINT = 3,
	CAUSE_LOAD_ALIGN = 4,
	CAUSE_STORE_ALIGN = 6,
	CAUSE_USER_CALL = 8,
	CAUSE_FETCH_PAGE = 12,
	CAUSE_LOAD_PAGE = 13,
	CAUSE_STORE_PAGE = 15,
};

/* The error code of a page fault: the hardware says what was tried, and whether a page is there the tables say. */
static NOTRACE uint64_t fault_error(const struct trapframe *f, uint64_t cause)
{
	return (cause == CAUSE_STORE_PAGE ? FAULT_WRITE : 0) |
	       (cause == CAUSE_FETCH_PAGE ? FAULT_FETCH : 0) | (frame_is_user(f) ? FAULT_USER : 0) |
	       (vm_peek(&current_task()->vm, f->fault_at) ? FAULT_PRESENT : 0);
}

static NOTRACE uint64_t vector_of(uint64_t cause)
{
	switch (cause) {
	case CAUSE_FETCH_PAGE:
	case CAUSE_LOAD_PAGE:
	case CAUSE_STORE_PAGE: return VEC_PAGE_FAULT;
	case CAUSE_ILLEGAL: return VEC_INVALID_OPCODE;
	case CAUSE_BREAKPOINT: return VEC_BREAKPOINT;
	case CAUSE_FETCH_ALIGN:
	case CAUSE_LOAD_ALIGN:
	case CAUSE_STORE_ALIGN: return VEC_ALIGNMENT;
	default: return VEC_PROTECTION;
	}
}

/*
 * gcc's frames of functions that call nothing have the caller's frame pointer where others have the return address, which
 * is in ra only. A walk from a trap in such a function goes through a second record, made from ra.
 *
 *	f - 32	frame pointer to go on at, where the trap was	<- entry.S; s0 points behind it
 *	f - 16	what the function that calls nothing should have saved
 */
struct record {
	uint64_t fp, ra;
};

extern const uint8_t text_start[], text_end_used[];

static NOTRACE void link_leaf(const struct trapframe *f)
{
	struct record *here = (struct record *)f - 2, *caller = here + 1;
	uintptr_t stack = (uintptr_t)current_task()->kstack, word;

	if (f->s0 % 8 || f->s0 < (uintptr_t)f || f->s0 > stack + KSTACK_SIZE)
		return;
	word = ((const uint64_t *)f->s0)[-1];
	if (word - (uintptr_t)text_start < (uintptr_t)(text_end_used - text_start))
		return;
	*caller = (struct record){word, f->ra};
	here->fp = (uintptr_t)(caller + 1);
}

/* From trap_entry, with interrupts off. */
NOTRACE void trap_arrived(struct trapframe *f)
{
	uint64_t cause = f->vector;

	f->error = 0;
	if (cause == CAUSE_USER_CALL) {
		f->vector = VEC_SYSCALL;
		f->pc += 4;
		syscall(f);
		return;
	}
	if (!frame_is_user(f))
		link_leaf(f);
	f->vector = cause & CAUSE_INTERRUPT ? irq_taken((uint32_t)cause) : vector_of(cause);
	if (f->vector == VEC_PAGE_FAULT)
		f->error = fault_error(f, cause);
	trap(f);
}

/* The stack had no room for a trap: what is wrong is the guard below it, whatever the trap was. */
NOTRACE void trap_overflow(struct trapframe *f)
{
	f->vector = VEC_DOUBLE_FAULT;
	f->error = 0;
	if (!vm_is_guard(f->fault_at))
		f->fault_at = (uintptr_t)current_task()->kstack - 8;
	trap(f);
}

void frame_print(const struct trapframe *f)
{
	kprintf("ra %lx tp %lx s0 %lx a0 %lx a1 %lx a2 %lx a7 %lx status %lx\n", f->ra, f->tp,
		f->s0, f->a[0], f->a[1], f->a[2], f->a[7], f->status);
}
