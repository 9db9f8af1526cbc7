/* SPDX-License-Identifier: MIT */
/* cpu.c -- what one CPU needs before it can run tasks: segments, its task-state segment, %gs, the syscall registers. */
#include "kernel.h"
#include "cpu.h"
#include "vm.h"

struct cpu cpus[CPUS_MAX];
uint32_t nr_cpus = 1;

static struct kstack nmi_stacks[CPUS_MAX], fault_stacks[CPUS_MAX];

_Static_assert(offsetof(struct cpu, self) == CPU_SELF, "layout.h");
_Static_assert(offsetof(struct cpu, current) == CPU_CURRENT, "layout.h");
_Static_assert(offsetof(struct cpu, kstack) == CPU_KSTACK, "layout.h");
_Static_assert(offsetof(struct cpu, user_rsp) == CPU_USER_RSP, "layout.h");
_Static_assert(offsetof(struct cpu, id) == CPU_ID, "layout.h");
_Static_assert(offsetof(struct cpu, preempt_count) == CPU_PREEMPT, "layout.h");
_Static_assert(offsetof(struct cpu, nmi_depth) == CPU_NMI, "layout.h");
_Static_assert(sizeof(struct trapframe) == 176, "entry.S");

struct descriptor_ptr {
	uint16_t limit;
	const void *base;
} __attribute__((packed));

struct gate {
	uint16_t offset0, selector;
	uint8_t ist, type;
	uint16_t offset1;
	uint32_t offset2, unused;
};

static struct gate idt[256];
extern uint8_t vector_stubs[], nmi_entry[], double_fault_entry[], syscall_entry[];

static void set_gate(int vector, const void *at, uint8_t ist, int user)
{
	uintptr_t a = (uintptr_t)at;

	idt[vector] = (struct gate){
		.offset0 = (uint16_t)a,
		.selector = SEL_KCODE,
		.ist = ist,
		.type = user ? 0xee : 0x8e, /* interrupt gate: enters with interrupts off */
		.offset1 = (uint16_t)(a >> 16),
		.offset2 = (uint32_t)(a >> 32),
	};
}

void trap_init(void)
{
	for (int v = 0; v < 256; v++)
		set_gate(v, vector_stubs + v * 16, 0, v == 3);
	set_gate(VEC_NMI, nmi_entry, 1, 0);
	set_gate(VEC_DOUBLE_FAULT, double_fault_entry, 2, 0);
}

void cpu_guard_stacks(void)
{
	for (int i = 0; i < CPUS_MAX; i++) {
		vm_guard(nmi_stacks[i].guard);
		vm_guard(fault_stacks[i].guard);
	}
}

static void load_segments(struct cpu *c)
{
	uint64_t tss = (uint64_t)&c->tss;
	struct descriptor_ptr gdtr = {sizeof(c->gdt) - 1, c->gdt}, idtr = {sizeof(idt) - 1, idt};

	c->gdt[SEL_KCODE / 8] = 0x00af9a000000ffff;
	c->gdt[SEL_KDATA / 8] = 0x00cf92000000ffff;
	c->gdt[SEL_UDATA / 8] = 0x00cff2000000ffff;
	c->gdt[SEL_UCODE / 8] = 0x00affa000000ffff;
	c->gdt[SEL_TSS / 8] = 0x0000890000000000 | (sizeof(c->tss) - 1) | (tss & 0xffffff) << 16 |
			      (tss >> 24 & 0xff) << 56;
	c->gdt[SEL_TSS / 8 + 1] = tss >> 32;
	__asm__ volatile(
		"lgdt %0\n\tlidt %1\n\t"
		"pushq %2\n\tleaq 1f(%%rip), %%rax\n\tpushq %%rax\n\tlretq\n1:\n\t"
		"movl %3, %%eax\n\tmovl %%eax, %%ss\n\tmovl %%eax, %%ds\n\tmovl %%eax, %%es\n\t"
		"movl %4, %%eax\n\tltr %%ax"
		:
		: "m"(gdtr), "m"(idtr), "i"(SEL_KCODE), "i"(SEL_KDATA), "i"(SEL_TSS)
		: "rax", "memory");
}

void cpu_init(uint32_t id)
{
	struct cpu *c = &cpus[id];

	c->self = c;
	c->id = id;
	c->tss.ist[0] = (uint64_t)(nmi_stacks[id].bytes + KSTACK_SIZE);
	c->tss.ist[1] = (uint64_t)(fault_stacks[id].bytes + KSTACK_SIZE);
	c->tss.io_map = sizeof(c->tss);
	load_segments(c);
	wrmsr(MSR_GS_BASE, (uint64_t)c);
	wrmsr(MSR_KERNEL_GS_BASE, 0);
	wrmsr(MSR_STAR, (uint64_t)(SEL_UBASE | 3) << 48 | (uint64_t)SEL_KCODE << 32);
	wrmsr(MSR_LSTAR, (uint64_t)syscall_entry);
	wrmsr(MSR_FMASK, FLAGS_IF | FLAGS_DF | FLAGS_TF);
}
