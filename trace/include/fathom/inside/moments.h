/* SPDX-License-Identifier: MIT */
/* moments.h -- what the moments call while a tracer wants them. Included by fathom/moments.h. */
#ifndef FATHOM_INSIDE_MOMENTS_H
#define FATHOM_INSIDE_MOMENTS_H

#include <stdint.h>

struct fathom_sched_task;
struct fathom_task;

void fathom_task_init(struct fathom_task *task);
void fathom_note_switch_slow(const struct fathom_sched_task *prev,
			     const struct fathom_sched_task *next);
void fathom_note_wakeup_slow(const struct fathom_sched_task *current,
			     const struct fathom_sched_task *woken, uint32_t cpu);
void fathom_note_migrate_slow(int32_t pid, uint32_t cpu);
void fathom_note_irqs_slow(int off, uintptr_t ip, uintptr_t parent_ip);
void fathom_note_preempt_slow(int off, uintptr_t ip, uintptr_t parent_ip);
void fathom_note_fork_slow(int32_t parent, int32_t child);
void fathom_note_exit_slow(int32_t pid);
void fathom_kernel_left_slow(void);

#endif
