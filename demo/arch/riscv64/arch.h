/* SPDX-License-Identifier: MIT */
/* arch.h -- riscv64: the registers an entry saves, what a CPU has of its own, and instructions that C has no words for. */
#ifndef DEMO_ARCH_H
#define DEMO_ARCH_H

#include "layout.h"
#include <stddef.h>
#include <stdint.h>

struct task;

/*
 * What an entry into the kernel leaves on the kernel stack. In the kernel tp is the running task, and sscratch 0; in
 * user mode sscratch is the task.
 */
struct trapframe {
	uint64_t ra, sp, gp, tp, t0, t1, t2, s0, s1, a[8], s2_to_s11[10], t3_to_t6[4];
	uint64_t pc, status, fault_at;
	uint64_t vector; /* entry.S puts scause here, vectors.c what the kernel calls it */
	uint64_t error;
};

struct arch_cpu {
	uint64_t hart;	    /* the number that the firmware knows it by */
	uint64_t next_tick; /* of clock_counter() */
	uint32_t ipis;	    /* bit n: VEC_TIMER + n was sent to it */
};

#define HAVE_NMI   0
#define CLOCK_NAME "riscv-time"
#define FRAME_RECORD \
	16 /* a stack frame: right below the frame pointer are the caller's, and the return address */

#define STATUS_SIE  0x2u
#define STATUS_SPIE 0x20u
#define STATUS_SPP  0x100u
#define STATUS_SUM  0x40000u /* the kernel may touch user pages */

#define csr_read(name)                                                           \
	({                                                                       \
		uint64_t csr_value;                                              \
		__asm__ volatile("csrr %0, " #name : "=r"(csr_value)::"memory"); \
		csr_value;                                                       \
	})
#define csr_write(name, v) __asm__ volatile("csrw " #name ", %0" ::"r"((uint64_t)(v)) : "memory")
#define csr_set(name, v)   __asm__ volatile("csrs " #name ", %0" ::"r"((uint64_t)(v)) : "memory")
#define csr_clear(name, v) __asm__ volatile("csrc " #name ", %0" ::"r"((uint64_t)(v)) : "memory")

/* The clock: the same on every CPU. */
static inline uint64_t clock_counter(void)
{
	uint64_t t;

	__asm__ volatile("rdtime %0" : "=r"(t));
	return t;
}

/* An instruction after which this CPU has fetched nothing stale: what text that was written asks for. */
static inline void serialize(void)
{
	__asm__ volatile("fence.i" ::: "memory");
}

static inline void cpu_pause(void)
{
	__asm__ volatile(".4byte 0x0100000f" ::
				 : "memory"); /* pause, a hint that old assemblers do not know */
}

/* The running task: always right, for a task takes its answer along when it moves. */
static inline struct task *current_task(void)
{
	struct task *t;

	__asm__ volatile("mv %0, tp" : "=r"(t));
	return t;
}

/* Stale at once without preemption or interrupts held off. */
static inline uint32_t cpu_id(void)
{
	uint32_t id;

	__asm__ volatile("lw %0, %1(tp)" : "=r"(id) : "i"(TASK_CPU));
	return id;
}

/* Entries from user mode find the stack through the task. */
static inline void cpu_set_stack(struct arch_cpu *a, uintptr_t top)
{
	(void)a, (void)top;
}

static inline uint64_t irq_flags(void)
{
	return csr_read(sstatus);
}

static inline int irq_flags_on(uint64_t flags)
{
	return (flags & STATUS_SIE) != 0;
}

static inline void irq_mask(void)
{
	__asm__ volatile("csrci sstatus, 2" ::: "memory");
}

static inline void irq_unmask(void)
{
	__asm__ volatile("csrsi sstatus, 2" ::: "memory");
}

/* Interrupts are off, and on when it returns: behind the first one that came, for which wfi waits in any case. */
static inline void cpu_wait(void)
{
	__asm__ volatile("wfi" ::: "memory");
	irq_unmask();
}

static inline void cpu_halt(void)
{
	irq_mask();
	for (;;)
		__asm__ volatile("wfi" ::: "memory");
}

/* For `fault cpu`: without tp the first trap would find no stack, and there is no other way to one. */
static inline int cpu_lose(void)
{
	return -1;
}

/* What the rest of the kernel asks of a frame. */
static inline int frame_is_user(const struct trapframe *f)
{
	return !(f->status & STATUS_SPP);
}

static inline int frame_irqs_on(const struct trapframe *f)
{
	return (f->status & STATUS_SPIE) != 0;
}

#define frame_ip(f)	  ((f)->pc)
#define frame_sp(f)	  ((f)->sp)
#define frame_fp(f)	  ((f)->s0)
#define frame_fault_at(f) ((f)->fault_at)
#define frame_syscall(f)  ((f)->a[7])
#define frame_result(f)	  ((f)->a[0])
#define frame_arg(f, n)	  ((f)->a[n])

#endif
