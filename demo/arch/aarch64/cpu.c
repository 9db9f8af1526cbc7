/* SPDX-License-Identifier: MIT */
/* cpu.c -- aarch64: what one CPU needs before it can run tasks: the running task, where exceptions go, the priority mask. */
#include "kernel.h"
#include "entry.h"
#include "machine.h"
#include "task.h"

/* What switch_to() saves. */
struct switch_frame {
	uint64_t x29, x30, x19, x20, x21_to_x28[8];
};

_Static_assert(sizeof(struct trapframe) == 304 && offsetof(struct trapframe, pc) == 256, "entry.S");
_Static_assert(sizeof(struct switch_frame) == 96, "entry.S");

struct kstack fault_stacks[CPUS_MAX]; /* for a task that has used up its own */

void cpu_guard_stacks(void)
{
	for (int i = 0; i < CPUS_MAX; i++)
		vm_guard(fault_stacks[i].guard);
}

void cpu_init(struct cpu *c)
{
	reg_write(tpidr_el1, c->current);
	reg_write(vbar_el1, vector_table);
	reg_write(ICC_SRE, reg_read(ICC_SRE) | 1); /* the GIC's registers are this CPU's */
	serialize();
	irq_mask();
}

void cpu_build_stack(struct task *t, void (*fn)(void *), uint64_t arg, uintptr_t entry)
{
	struct trapframe *f = (struct trapframe *)(t->kstack + KSTACK_SIZE) - 1;
	struct switch_frame *s = (struct switch_frame *)f - 1;

	memset(s, 0, sizeof(*s) + sizeof(*f));
	f->pc = entry;
	f->pstate = PSTATE_EL0;
	f->pmr = MASK_NONE;
	f->sp = USER_TOP - 16;
	f->x[0] = arg;
	s->x30 = (uint64_t)task_entry;
	s->x19 = (uint64_t)fn;
	s->x20 = arg;
	t->sp = (uint64_t)s;
}
