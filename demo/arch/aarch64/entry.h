/* SPDX-License-Identifier: MIT */
/* entry.h -- aarch64: where entry.S and C meet. */
#ifndef DEMO_ENTRY_H
#define DEMO_ENTRY_H

#include "cpu.h"

extern uint8_t vector_table[];
void task_entry(void); /* where a new task's first switch_to() returns to */
void sync_arrived(struct trapframe *f);
void irq_arrived(struct trapframe *f);
void trap_overflow(struct trapframe *f);
extern struct kstack fault_stacks[CPUS_MAX];

#endif
