/* SPDX-License-Identifier: MIT */
/* vectors.c -- aarch64: why the CPU came into the kernel, in the kernel's own numbers. */
#include "kernel.h"
#include "entry.h"
#include "irq.h"
#include "machine.h"
#include "task.h"

/* The class of an exception, and of an abort what it was: ESR_EL1. */
enum class {
	CLASS_UNKNOWN = 0x00,
	CLASS_FP = 0x07,
	CLASS_STATE = 0x0e,
	CLASS_CALL = 0x15,
	CLASS_FETCH_USER = 0x20,
	CLASS_FETCH = 0x21,
	CLASS_PC_ALIGN = 0x22,
	CLASS_DATA_USER = 0x24,
	CLASS_DATA = 0x25,
	CLASS_SP_ALIGN = 0x26,
	CLASS_BREAKPOINT = 0x3c,
};

#define ESR_CLASS(esr)	 ((uint32_t)((esr) >> 26 & 0x3f))
#define ESR_WRITE	 0x40u
#define ABORT_KIND(esr)	 ((esr) >> 2 & 0xf)
#define ABORT_NOT_THERE	 1
#define ABORT_UNUSED	 2 /* the accessed flag: never clear here */
#define ABORT_PERMISSION 3
#define ABORT_ALIGNMENT	 0x21u

static NOTRACE uint64_t abort_of(struct trapframe *f, uint64_t esr)
{
	uint32_t class = ESR_CLASS(esr);
	int fetch = class == CLASS_FETCH || class == CLASS_FETCH_USER;

	if ((esr & 0x3f) == ABORT_ALIGNMENT)
		return VEC_ALIGNMENT;
	if (ABORT_KIND(esr) < ABORT_NOT_THERE || ABORT_KIND(esr) > ABORT_PERMISSION)
		return VEC_PROTECTION;
	f->error = (fetch ? FAULT_FETCH : 0) | (!fetch && esr & ESR_WRITE ? FAULT_WRITE : 0) |
		   (frame_is_user(f) ? FAULT_USER : 0) |
		   (ABORT_KIND(esr) != ABORT_NOT_THERE ? FAULT_PRESENT : 0);
	return VEC_PAGE_FAULT;
}

static NOTRACE uint64_t vector_of(struct trapframe *f, uint64_t esr)
{
	switch (ESR_CLASS(esr)) {
	case CLASS_FETCH:
	case CLASS_FETCH_USER:
	case CLASS_DATA:
	case CLASS_DATA_USER: return abort_of(f, esr);
	case CLASS_UNKNOWN:
	case CLASS_STATE:
	case CLASS_FP: return VEC_INVALID_OPCODE;
	case CLASS_BREAKPOINT: return VEC_BREAKPOINT;
	case CLASS_PC_ALIGN:
	case CLASS_SP_ALIGN: return VEC_ALIGNMENT;
	default: return VEC_PROTECTION;
	}
}

/* Interrupts go off by the mask, and NMIs on, unless this came in an NMI or on the way out of the kernel. */
static NOTRACE void enter(const struct trapframe *f)
{
	irq_mask();
	if (!(f->pstate & PSTATE_I))
		nmi_unmask();
}

/* From entry.S, with all interrupts held off; to it likewise. */
NOTRACE void sync_arrived(struct trapframe *f)
{
	uint64_t esr = f->vector;

	enter(f);
	if (ESR_CLASS(esr) == CLASS_CALL && frame_is_user(f)) {
		f->vector = VEC_SYSCALL;
		syscall(f);
	} else {
		f->vector = vector_of(f, esr);
		trap(f);
	}
	nmi_mask();
}

NOTRACE void irq_arrived(struct trapframe *f)
{
	uint32_t vector = irq_taken();

	f->vector = vector;
	if (vector == VEC_NMI) {
		irq_mask();
		nmi(f);
	} else if (vector != VEC_SPURIOUS) {
		enter(f);
		trap(f);
	}
	nmi_mask();
}

/* The stack had no room for an exception: what is wrong is the guard below it, whatever the exception was. */
NOTRACE void trap_overflow(struct trapframe *f)
{
	irq_mask();
	f->vector = VEC_DOUBLE_FAULT;
	if (!vm_is_guard(f->fault_at))
		f->fault_at = (uintptr_t)current_task()->kstack - 8;
	trap(f);
}

void frame_print(const struct trapframe *f)
{
	kprintf("x0 %lx x1 %lx x2 %lx x8 %lx x29 %lx x30 %lx pstate %lx pmr %lx\n", f->x[0],
		f->x[1], f->x[2], f->x[8], f->x[29], f->x[30], f->pstate, f->pmr);
}
