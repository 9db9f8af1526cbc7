/* SPDX-License-Identifier: MIT */
/* cpu.h -- what each CPU has for itself; interrupts off and on, preemption off and on. */
#ifndef DEMO_CPU_H
#define DEMO_CPU_H

#include "arch.h"
#include "sched.h"
#include "hooks.h"

/* A stack of the kernel's. An overflow hits the guard, and is reported from a stack that each CPU keeps for that. */
struct kstack {
	uint8_t guard[PAGE_SIZE];
	uint8_t bytes[KSTACK_SIZE];
} __attribute__((aligned(PAGE_SIZE)));

#define FRAME_CACHE 32

struct cpu {
	struct task *current;
	uint32_t id;
	volatile uint32_t nmi_depth;
	struct arch_cpu arch;
	volatile uint32_t irq_depth;
	volatile uint32_t need_resched; /* set by wakeups and the tick, also from other CPUs */
	volatile uint32_t online;
	struct task *idle;
	struct task *switched_from; /* hand-over of one switch to finish_switch() */
	struct runq rq;

	uint64_t frames[FRAME_CACHE]; /* frame.c: free frames of this CPU */
	uint32_t nr_frames;
	uint64_t ticks, nr_ipis, nr_nmis;
};

extern struct cpu cpus[CPUS_MAX];
extern uint32_t nr_cpus;

#define for_each_cpu(c) for (struct cpu *c = cpus; c < cpus + nr_cpus; c++)

/* The running CPU; without preemption or interrupts held off the answer may be stale at once. */
static inline struct cpu *this_cpu(void)
{
	return &cpus[cpu_id()];
}

static inline int irqs_on(void)
{
	return irq_flags_on(irq_flags());
}

/* Interrupts off and on. The hooks are where a latency tracer listens: called when the state really changes. */
static inline uint64_t irq_save(void)
{
	uint64_t flags = irq_flags();

	irq_mask();
	if (irq_flags_on(flags))
		hook_irqs_off();
	return flags;
}

static inline void irq_enable(void)
{
	hook_irqs_on();
	irq_unmask();
}

static inline void irq_restore(uint64_t flags)
{
	if (irq_flags_on(flags))
		irq_enable();
}

/*
 * How often the running task has asked to stay on its CPU. The count is the task's: it moves with it, so that counting
 * takes no more than a load, an addition and a store. Interrupts count on top of it and are done when they return.
 */
static inline volatile uint32_t *preempt_counter(void)
{
	return (volatile uint32_t *)((uintptr_t)current_task() + TASK_PREEMPT);
}

static inline uint32_t preempt_count(void)
{
	return *preempt_counter();
}

static inline void preempt_disable(void)
{
	++*preempt_counter();
	__asm__ volatile("" ::: "memory");
	if ((uint16_t)preempt_count() == 1)
		hook_preempt_off();
}

/* Without the look at need_resched: for those who are about to schedule anyway, or run with interrupts off. */
static inline void preempt_enable_no_resched(void)
{
	if ((uint16_t)preempt_count() == 1)
		hook_preempt_on();
	__asm__ volatile("" ::: "memory");
	--*preempt_counter();
}

static inline void preempt_enable(void)
{
	preempt_enable_no_resched();
	if (!preempt_count() && this_cpu()->need_resched && irqs_on())
		schedule();
}

/*
 * For the tracer: stay on this CPU. Counted above the kernel's own depth, which the trace shows, and without telling the
 * latency hooks, which feed the tracer.
 */
#define PREEMPT_PIN 0x10000
static inline uintptr_t preempt_pin(void)
{
	*preempt_counter() += PREEMPT_PIN;
	__asm__ volatile("" ::: "memory");
	return 0;
}

static inline void preempt_unpin(uintptr_t unused)
{
	(void)unused;
	__asm__ volatile("" ::: "memory");
	/* No schedule() here: it is traced, and would come back to this very place. The next tick sees to it. */
	*preempt_counter() -= PREEMPT_PIN;
}

/* smp.c */
void smp_init(void);		     /* wake the others, wait until they idle */
void ap_main(uint32_t id);	     /* where they arrive */
void smp_call_all(void (*fn)(void)); /* run fn on every other CPU, interrupts off there, and wait */
void smp_call_forever(void (*fn)(void));	  /* fn on every CPU, this one too; never returns */
void smp_stop_all(void (*fn)(void *), void *arg); /* run fn here while all others stand still */
void smp_call_interrupt(void);

/* trap.c, syscall.c: where entry.S goes on in C, interrupts off. */
void trap(struct trapframe *f);
void nmi(struct trapframe *f);
void syscall(struct trapframe *f);
void stop_other_cpus(void); /* panic: they halt where they are */

#endif
