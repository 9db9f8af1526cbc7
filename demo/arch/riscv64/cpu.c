/* SPDX-License-Identifier: MIT */
/* cpu.c -- riscv64: what one CPU needs before it can run tasks: tp, where traps go, leave to touch user pages. */
#include "kernel.h"
#include "entry.h"
#include "machine.h"
#include "task.h"

/* What switch_to() saves. */
struct switch_frame {
	uint64_t ra, s0, s1, s2, s3_to_s11[9], unused;
};

_Static_assert(sizeof(struct trapframe) == 288 && offsetof(struct trapframe, pc) == 248, "entry.S");
_Static_assert(sizeof(struct switch_frame) == 112, "entry.S");

struct kstack fault_stacks[CPUS_MAX]; /* for a task that has used up its own */

void cpu_guard_stacks(void)
{
	for (int i = 0; i < CPUS_MAX; i++)
		vm_guard(fault_stacks[i].guard);
}

void cpu_init(struct cpu *c)
{
	__asm__ volatile("mv tp, %0" ::"r"(c->current));
	csr_write(sscratch, 0);
	csr_write(stvec, trap_entry);
	csr_set(sstatus, STATUS_SUM);
}

void cpu_build_stack(struct task *t, void (*fn)(void *), uint64_t arg, uintptr_t entry)
{
	struct trapframe *f = (struct trapframe *)(t->kstack + KSTACK_SIZE) - 1;
	struct switch_frame *s = (struct switch_frame *)f - 1;

	memset(s, 0, sizeof(*s) + sizeof(*f));
	f->pc = entry;
	f->status = STATUS_SPIE | STATUS_SUM;
	f->sp = USER_TOP - 16;
	f->a[0] = arg;
	s->ra = (uint64_t)task_entry;
	s->s1 = (uint64_t)fn;
	s->s2 = arg;
	t->sp = (uint64_t)s;
}
