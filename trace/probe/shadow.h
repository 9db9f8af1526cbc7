/* SPDX-License-Identifier: MIT */
/* shadow.h -- a task's stack of open calls: what the graph tracer does with it off its fast path. */
#ifndef PROBE_SHADOW_H
#define PROBE_SHADOW_H

#include "fathom/task.h"

/*
 * The tracing of now: its number, and the flags of a call that it simply records. Calls of an earlier tracing carry
 * another number and so fail the one comparison that the return makes.
 */
extern uintptr_t fathom_graph_plain;

/* The caller holds the recursion guard: forget what an earlier tracing left, unless an interrupted context is at it. */
void fathom_shadow_refresh(struct fathom_task *task);
/* Room for one more call, or NULL (counted). `slot` is where its return address lies; NULL: named otherwise. */
struct fathom_shadow *fathom_shadow_push(struct fathom_task *task, uintptr_t *slot);
/* The innermost call that `slot` names, or -1. */
int fathom_shadow_find(const struct fathom_task *task, uintptr_t slot);
/* Take call `i`, which returns now, off the stack, and those above it that never will. What it was. */
struct fathom_shadow fathom_shadow_pop(struct fathom_task *task, uint32_t i);

#endif
