/* SPDX-License-Identifier: MIT */
/* arch.h -- aarch64: the registers an entry saves, what a CPU has of its own, and instructions that C has no words for. */
#ifndef DEMO_ARCH_H
#define DEMO_ARCH_H

#include "layout.h"
#include <stddef.h>
#include <stdint.h>

struct task;

/* What an entry into the kernel leaves on the kernel stack. In TPIDR_EL1 is the running task, always. */
struct trapframe {
	uint64_t x[31], sp, pc, pstate;
	uint64_t pmr; /* the priority mask that was set */
	uint64_t fault_at;
	uint64_t vector; /* entry.S puts the syndrome here, vectors.c what the kernel calls it */
	uint64_t error;
};

struct arch_cpu {
	uint64_t mpidr;	    /* the number that the firmware knows it by */
	uint64_t next_tick; /* of clock_counter() */
	uint64_t next_nmi;
	uint32_t intid; /* of the interrupt that is being handled */
};

#define HAVE_NMI   1
#define CLOCK_NAME "arm-cntvct"
#define FRAME_RECORD \
	0 /* a stack frame: from the frame pointer to the caller's, and the return address */

#define PSTATE_I    0x80u
#define PSTATE_MODE 0xfu
#define PSTATE_EL0  0u

/*
 * Interrupts are off when the priority mask lets only NMIs through; PSTATE.I, which holds off all, is set by an exception
 * and while an NMI is handled. So an NMI here is an interrupt whose priority is above the mask.
 */
#define PRIORITY_NMI	0x20u
#define PRIORITY_NORMAL 0xa0u
#define MASK_NONE	0xf0u
#define MASK_BUT_NMI	0x60u

#define ICC_PMR	    S3_0_C4_C6_0
#define ICC_IAR1    S3_0_C12_C12_0
#define ICC_EOIR1   S3_0_C12_C12_1
#define ICC_BPR1    S3_0_C12_C12_3
#define ICC_CTLR    S3_0_C12_C12_4
#define ICC_SRE	    S3_0_C12_C12_5
#define ICC_IGRPEN1 S3_0_C12_C12_7
#define ICC_SGI1R   S3_0_C12_C11_5

#define REG_TEXT(name) #name
#define reg_read(name)                                                                   \
	({                                                                               \
		uint64_t reg_value;                                                      \
		__asm__ volatile("mrs %0, " REG_TEXT(name) : "=r"(reg_value)::"memory"); \
		reg_value;                                                               \
	})
#define reg_write(name, v) \
	__asm__ volatile("msr " REG_TEXT(name) ", %0" ::"r"((uint64_t)(v)) : "memory")

/* The clock: the same on every CPU. */
static inline uint64_t clock_counter(void)
{
	return reg_read(cntvct_el0);
}

/* An instruction after which this CPU has fetched nothing stale: what text that was written asks for. */
static inline void serialize(void)
{
	__asm__ volatile("isb" ::: "memory");
}

static inline void cpu_pause(void)
{
	__asm__ volatile("yield" ::: "memory");
}

/* The running task: always right, for a task takes its answer along when it moves. */
static inline struct task *current_task(void)
{
	struct task *t;

	__asm__ volatile("mrs %0, tpidr_el1" : "=r"(t));
	return t;
}

/* Stale at once without preemption or interrupts held off. */
static inline uint32_t cpu_id(void)
{
	return *(volatile uint32_t *)((uintptr_t)current_task() + TASK_CPU);
}

/* An entry from user mode finds the stack as the last return to it left it. */
static inline void cpu_set_stack(struct arch_cpu *a, uintptr_t top)
{
	(void)a, (void)top;
}

static inline uint64_t irq_flags(void)
{
	return reg_read(ICC_PMR);
}

static inline int irq_flags_on(uint64_t flags)
{
	return flags == MASK_NONE;
}

static inline void irq_mask(void)
{
	reg_write(ICC_PMR, MASK_BUT_NMI);
}

static inline void irq_unmask(void)
{
	reg_write(ICC_PMR, MASK_NONE);
}

/* All interrupts, NMIs too. */
static inline void nmi_mask(void)
{
	__asm__ volatile("msr daifset, #2" ::: "memory");
}

static inline void nmi_unmask(void)
{
	__asm__ volatile("msr daifclr, #2" ::: "memory");
}

/* Interrupts are off, and on when it returns. wfi does not wake for what the priority mask holds back: PSTATE.I does it. */
static inline void cpu_wait(void)
{
	nmi_mask();
	irq_unmask();
	__asm__ volatile("isb; wfi" ::: "memory");
	nmi_unmask();
}

static inline void cpu_halt(void)
{
	nmi_mask();
	for (;;)
		__asm__ volatile("wfi" ::: "memory");
}

/* For `fault cpu`: without TPIDR_EL1 the first exception would find no task, and could not tell how much stack is left. */
static inline int cpu_lose(void)
{
	return -1;
}

/* What the rest of the kernel asks of a frame. */
static inline int frame_is_user(const struct trapframe *f)
{
	return (f->pstate & PSTATE_MODE) == PSTATE_EL0;
}

static inline int frame_irqs_on(const struct trapframe *f)
{
	return irq_flags_on(f->pmr) && !(f->pstate & PSTATE_I);
}

#define frame_ip(f)	  ((f)->pc)
#define frame_sp(f)	  ((f)->sp)
#define frame_fp(f)	  ((f)->x[29])
#define frame_fault_at(f) ((f)->fault_at)
#define frame_syscall(f)  ((f)->x[8])
#define frame_result(f)	  ((f)->x[0])
#define frame_arg(f, n)	  ((f)->x[n])

#endif
