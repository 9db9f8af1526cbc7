/* SPDX-License-Identifier: MIT */
/* cpu.c -- x86_64: what one CPU needs before it can run tasks: segments, its task-state segment, %gs, the syscall registers. */
#include "kernel.h"
#include "machine.h"
#include "entry.h"
#include "task.h"

static struct kstack nmi_stacks[CPUS_MAX], fault_stacks[CPUS_MAX];

_Static_assert(CPU_ARCH + offsetof(struct arch_cpu, kstack) == CPU_KSTACK, "memory_map.h");
_Static_assert(CPU_ARCH + offsetof(struct arch_cpu, user_rsp) == CPU_USER_RSP, "memory_map.h");
_Static_assert(sizeof(struct trapframe) == 176, "entry.S");

void cpu_guard_stacks(void)
{
	for (int i = 0; i < CPUS_MAX; i++) {
		vm_guard(nmi_stacks[i].guard);
		vm_guard(fault_stacks[i].guard);
	}
}

static void load_segments(struct arch_cpu *a)
{
	uint64_t tss = (uint64_t)&a->tss;
	struct descriptor_ptr gdtr = {sizeof(a->gdt) - 1, a->gdt};

	a->gdt[SEL_KCODE / 8] = 0x00af9a000000ffff;
	a->gdt[SEL_KDATA / 8] = 0x00cf92000000ffff;
	a->gdt[SEL_UDATA / 8] = 0x00cff2000000ffff;
	a->gdt[SEL_UCODE / 8] = 0x00affa000000ffff;
	a->gdt[SEL_TSS / 8] = 0x0000890000000000 | (sizeof(a->tss) - 1) | (tss & 0xffffff) << 16 |
			      (tss >> 24 & 0xff) << 56;
	a->gdt[SEL_TSS / 8 + 1] = tss >> 32;
	__asm__ volatile(
		"lgdt %0\n\t"
		"pushq %1\n\tleaq 1f(%%rip), %%rax\n\tpushq %%rax\n\tlretq\n1:\n\t"
		"movl %2, %%eax\n\tmovl %%eax, %%ss\n\tmovl %%eax, %%ds\n\tmovl %%eax, %%es\n\t"
		"movl %3, %%eax\n\tltr %%ax"
		:
		: "m"(gdtr), "i"(SEL_KCODE), "i"(SEL_KDATA), "i"(SEL_TSS)
		: "rax", "memory");
}

void cpu_init(struct cpu *c)
{
	c->arch.tss.ist[0] = (uint64_t)(nmi_stacks[c->id].bytes + KSTACK_SIZE);
	c->arch.tss.ist[1] = (uint64_t)(fault_stacks[c->id].bytes + KSTACK_SIZE);
	c->arch.tss.io_map = sizeof(c->arch.tss);
	load_segments(&c->arch);
	entry_init();
	wrmsr(MSR_GS_BASE, (uint64_t)c);
	wrmsr(MSR_KERNEL_GS_BASE, 0);
	wrmsr(MSR_STAR, (uint64_t)(SEL_UBASE | 3) << 48 | (uint64_t)SEL_KCODE << 32);
	wrmsr(MSR_LSTAR, (uint64_t)syscall_entry);
	wrmsr(MSR_FMASK, FLAGS_IF | FLAGS_DF | FLAGS_TF);
}

/* The stack as switch_to() expects it: six registers and the way to task_entry; above it a user task's first frame. */
void cpu_build_stack(struct task *t, void (*fn)(void *), uint64_t arg, uintptr_t entry)
{
	uint64_t *sp = (uint64_t *)(t->kstack + KSTACK_SIZE);

	if (!fn) {
		struct trapframe *f = (struct trapframe *)sp - 1;

		memset(f, 0, sizeof(*f));
		f->rip = entry;
		f->cs = SEL_UCODE;
		f->ss = SEL_UDATA;
		f->rflags = FLAGS_IF;
		f->rsp = USER_TOP - 16;
		f->rdi = arg;
		sp = (uint64_t *)f;
	} else {
		*--sp = 0; /* where frame pointers end, and 16-byte alignment for what task_entry calls */
		*--sp = 0;
	}
	*--sp = (uint64_t)task_entry;
	*--sp = 0;	      /* rbp */
	*--sp = (uint64_t)fn; /* rbx */
	*--sp = arg;	      /* r12 */
	*--sp = 0;
	*--sp = 0;
	*--sp = 0;
	t->sp = (uint64_t)sp;
}
