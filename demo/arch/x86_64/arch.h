/* SPDX-License-Identifier: MIT */
/* arch.h -- x86_64: the registers an entry saves, what a CPU has of its own, and instructions that C has no words for. */
#ifndef DEMO_ARCH_H
#define DEMO_ARCH_H

#include "layout.h"
#include <stddef.h>
#include <stdint.h>

struct task;

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

struct arch_cpu {
	uint64_t kstack;   /* top of current's kernel stack: where syscall_entry goes */
	uint64_t user_rsp; /* scratch of syscall_entry */
	uint64_t gdt[8];
	struct tss tss;
};

#define HAVE_NMI   1
#define CLOCK_NAME "x86-tsc"
#define FRAME_RECORD \
	0 /* a stack frame: from the frame pointer to the caller's, and the return address */

#define MSR_STAR	   0xc0000081u
#define MSR_LSTAR	   0xc0000082u
#define MSR_FMASK	   0xc0000084u
#define MSR_GS_BASE	   0xc0000101u
#define MSR_KERNEL_GS_BASE 0xc0000102u

#define FLAGS_TF 0x100u
#define FLAGS_IF 0x200u
#define FLAGS_DF 0x400u

static inline void outb(uint16_t port, uint8_t v)
{
	__asm__ volatile("outb %0, %1" : : "a"(v), "Nd"(port));
}

static inline void outw(uint16_t port, uint16_t v)
{
	__asm__ volatile("outw %0, %1" : : "a"(v), "Nd"(port));
}

static inline uint8_t inb(uint16_t port)
{
	uint8_t v;

	__asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

static inline uint16_t inw(uint16_t port)
{
	uint16_t v;

	__asm__ volatile("inw %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

static inline uint32_t inl(uint16_t port)
{
	uint32_t v;

	__asm__ volatile("inl %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

static inline void outl(uint16_t port, uint32_t v)
{
	__asm__ volatile("outl %0, %1" : : "a"(v), "Nd"(port));
}

static inline uint64_t rdmsr(uint32_t msr)
{
	uint32_t lo, hi;

	__asm__ volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr));
	return (uint64_t)hi << 32 | lo;
}

static inline void wrmsr(uint32_t msr, uint64_t v)
{
	__asm__ volatile("wrmsr"
			 :
			 : "c"(msr), "a"((uint32_t)v), "d"((uint32_t)(v >> 32))
			 : "memory");
}

/* The clock: the same on every CPU. */
static inline uint64_t clock_counter(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

static inline uint64_t read_cr2(void)
{
	uint64_t v;

	__asm__ volatile("mov %%cr2, %0" : "=r"(v));
	return v;
}

static inline uint64_t read_cr3(void)
{
	uint64_t v;

	__asm__ volatile("mov %%cr3, %0" : "=r"(v));
	return v;
}

static inline void write_cr3(uint64_t v)
{
	__asm__ volatile("mov %0, %%cr3" : : "r"(v) : "memory");
}

static inline void invlpg(uintptr_t at)
{
	__asm__ volatile("invlpg (%0)" : : "r"(at) : "memory");
}

/* An instruction after which this CPU has fetched nothing stale: what cross-modified code asks for. */
static inline void serialize(void)
{
	uint32_t a = 0, b, c = 0, d;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d) : : "memory");
}

static inline void cpu_pause(void)
{
	__asm__ volatile("pause" ::: "memory");
}

/* The running task: always right, for a task takes its answer along when it moves. */
static inline struct task *current_task(void)
{
	struct task *t;

	__asm__ volatile("movq %%gs:%c1, %0" : "=r"(t) : "i"(CPU_CURRENT));
	return t;
}

/* Stale at once without preemption or interrupts held off. */
static inline uint32_t cpu_id(void)
{
	uint32_t id;

	__asm__ volatile("movl %%gs:%c1, %0" : "=r"(id) : "i"(CPU_ID));
	return id;
}

/* From here on, entries from user mode use this stack. */
static inline void cpu_set_stack(struct arch_cpu *a, uintptr_t top)
{
	a->kstack = top;
	a->tss.rsp[0] = top;
}

static inline uint64_t irq_flags(void)
{
	uint64_t v;

	__asm__ volatile("pushfq; popq %0" : "=r"(v));
	return v;
}

static inline int irq_flags_on(uint64_t flags)
{
	return (flags & FLAGS_IF) != 0;
}

static inline void irq_mask(void)
{
	__asm__ volatile("cli" ::: "memory");
}

static inline void irq_unmask(void)
{
	__asm__ volatile("sti" ::: "memory");
}

/* Interrupts are off, and on when it returns: behind the first one that came. */
static inline void cpu_wait(void)
{
	__asm__ volatile("sti; hlt" ::: "memory");
}

static inline void cpu_halt(void)
{
	for (;;)
		__asm__ volatile("cli; hlt" ::: "memory");
}

/* The kernel runs on with the user's %gs, which leads nowhere: for `fault cpu`. */
static inline int cpu_lose(void)
{
	__asm__ volatile("swapgs" ::: "memory");
	return 0;
}

/* What the rest of the kernel asks of a frame. */
static inline int frame_is_user(const struct trapframe *f)
{
	return (f->cs & 3) != 0;
}

static inline int frame_irqs_on(const struct trapframe *f)
{
	return (f->rflags & FLAGS_IF) != 0;
}

#define frame_ip(f)	  ((f)->rip)
#define frame_sp(f)	  ((f)->rsp)
#define frame_fp(f)	  ((f)->rbp)
#define frame_fault_at(f) ((void)(f), read_cr2())
#define frame_syscall(f)  ((f)->rax)
#define frame_result(f)	  ((f)->rax)
#define frame_arg(f, n)	  (*frame_arg_at(f, n))

static inline uint64_t *frame_arg_at(struct trapframe *f, int n)
{
	uint64_t *const at[] = {&f->rdi, &f->rsi, &f->rdx, &f->r10, &f->r8};

	return at[n];
}

#endif
