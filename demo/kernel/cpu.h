/* SPDX-License-Identifier: MIT */
/* cpu.h -- what each CPU has for itself, found through %gs; interrupt and preemption state. */
#ifndef DEMO_CPU_H
#define DEMO_CPU_H

#include "layout.h"
#include "sched.h"
#include "hooks.h"
#include "x86.h"

/* What an entry into the kernel leaves on the kernel stack; entry.S pushes it. */
struct trapframe {
	uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rbp, rdi, rsi, rdx, rcx, rbx, rax;
	uint64_t vector, error;
	uint64_t rip, cs, rflags, rsp, ss;
};

struct tss {
	uint32_t unused0;
	uint64_t rsp[3];
	uint64_t unused1;
	uint64_t ist[7]; /* 1: NMI, 2: double fault */
	uint64_t unused2;
	uint16_t unused3, io_map;
} __attribute__((packed));

/* A stack of the kernel's. An overflow hits the guard, and the double fault that follows has a stack of its own. */
struct kstack {
	uint8_t guard[PAGE_SIZE];
	uint8_t bytes[KSTACK_SIZE];
} __attribute__((aligned(PAGE_SIZE)));

#define FRAME_CACHE 32

struct cpu {
	struct cpu *self;
	struct task *current;
	uint64_t kstack;   /* top of current's kernel stack: where syscall_entry goes */
	uint64_t user_rsp; /* scratch of syscall_entry */
	uint32_t id;
	volatile uint32_t preempt_count; /* > 0: schedule() may not be called here */
	volatile uint32_t nmi_depth, irq_depth;
	volatile uint32_t need_resched; /* set by wakeups and the tick, also from other CPUs */
	volatile uint32_t online;
	struct task *idle;
	struct task *switched_from; /* hand-over of one switch to finish_switch() */
	struct runq rq;

	uint64_t frames[FRAME_CACHE]; /* frame.c: free frames of this CPU */
	uint32_t nr_frames;
	uint64_t ticks, nr_ipis, nr_nmis;

	uint64_t gdt[8];
	struct tss tss;
};

extern struct cpu cpus[CPUS_MAX];
extern uint32_t nr_cpus;

#define for_each_cpu(c) for (struct cpu *c = cpus; c < cpus + nr_cpus; c++)

/* The running CPU; without preemption or interrupts held off the answer may be stale at once. */
static inline struct cpu *this_cpu(void)
{
	struct cpu *c;

	__asm__ volatile("movq %%gs:%c1, %0" : "=r"(c) : "i"(CPU_SELF));
	return c;
}

/* The running task: always right, for a task takes its answer along when it moves. */
static inline struct task *current_task(void)
{
	struct task *t;

	__asm__ volatile("movq %%gs:%c1, %0" : "=r"(t) : "i"(CPU_CURRENT));
	return t;
}

static inline uint32_t cpu_id(void)
{
	uint32_t id;

	__asm__ volatile("movl %%gs:%c1, %0" : "=r"(id) : "i"(CPU_ID));
	return id;
}

static inline uint32_t preempt_count(void)
{
	uint32_t n;

	__asm__ volatile("movl %%gs:%c1, %0" : "=r"(n) : "i"(CPU_PREEMPT));
	return n;
}

static inline int irqs_on(void)
{
	return (read_flags() & FLAGS_IF) != 0;
}

/* Interrupts off and on. The hooks are where a latency tracer listens: called when the state really changes. */
static inline uint64_t irq_save(void)
{
	uint64_t flags = read_flags();

	__asm__ volatile("cli" ::: "memory");
	if (flags & FLAGS_IF)
		hook_irqs_off();
	return flags;
}

static inline void irq_restore(uint64_t flags)
{
	if (!(flags & FLAGS_IF))
		return;
	hook_irqs_on();
	__asm__ volatile("sti" ::: "memory");
}

static inline void irq_enable(void)
{
	irq_restore(FLAGS_IF);
}

static inline void preempt_disable(void)
{
	__asm__ volatile("incl %%gs:%c0" : : "i"(CPU_PREEMPT) : "memory");
	if ((uint16_t)preempt_count() == 1)
		hook_preempt_off();
}

/* Without the look at need_resched: for those who are about to schedule anyway, or run with interrupts off. */
static inline void preempt_enable_no_resched(void)
{
	if ((uint16_t)preempt_count() == 1)
		hook_preempt_on();
	__asm__ volatile("decl %%gs:%c0" : : "i"(CPU_PREEMPT) : "memory");
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
	__asm__ volatile("addl %1, %%gs:%c0" : : "i"(CPU_PREEMPT), "i"(PREEMPT_PIN) : "memory");
	return 0;
}

static inline void preempt_unpin(uintptr_t unused)
{
	(void)unused;
	/* No schedule() here: it is traced, and would come back to this very place. The next tick sees to it. */
	__asm__ volatile("subl %1, %%gs:%c0" : : "i"(CPU_PREEMPT), "i"(PREEMPT_PIN) : "memory");
}

void cpu_init(uint32_t id);	     /* GDT, TSS, IDT, %gs, syscall MSRs of the running CPU */
void trap_init(void);		     /* the IDT all CPUs share */
void cpu_guard_stacks(void);	     /* boot only */
uint32_t smp_count(void);	     /* CPUs there are, at most CPUS_MAX */
void smp_init(void);		     /* wake the others, wait until they idle */
void ap_main(uint32_t id);	     /* where they arrive */
void smp_call_all(void (*fn)(void)); /* run fn on every other CPU, interrupts off there, and wait */
void smp_call_forever(void (*fn)(void));	  /* fn on every CPU, this one too; never returns */
void smp_stop_all(void (*fn)(void *), void *arg); /* run fn here while all others stand still */
void smp_call_interrupt(void);
void nmi_stop_others(void); /* panic: every other CPU halts in its NMI */
void trap(struct trapframe *f);
void nmi(struct trapframe *f);
void syscall(struct trapframe *f);

#endif
