/* SPDX-License-Identifier: MIT */
/* shadow.h -- a task's stack of open calls: what the graph tracer does with it off its fast path. */
#ifndef PROBE_SHADOW_H
#define PROBE_SHADOW_H

#include "fathom/task.h"

/*
 * fathom_hot.graph_plain is the tracing of now: its number, and the flags of a call that it simply records. Calls of an earlier
 * tracing, and of before return sites went off, carry another number and so fail the one comparison that the return makes.
 */

/* The caller holds the recursion guard: forget what an earlier tracing left, unless an interrupted context is at it. */
void fathom_shadow_refresh(struct fathom_task *task);
/* G6, likewise: no call on top that is over. */
void fathom_shadow_trim(struct fathom_task *task);
/*
 * Where one more call goes, which is the depth then; -1: full (counted). `slot` is where its return address lies; NULL: it
 * is named otherwise. The depth is the caller's to raise.
 */
int fathom_shadow_room(struct fathom_task *task, uintptr_t *slot);
/* The innermost call that `slot` names, or -1. */
int fathom_shadow_find(const struct fathom_task *task, uintptr_t slot);
/*
 * A call of which only the function is known, where it was called from, and a frame below its own, `told`
 * (-finstrument-functions). Frames are 16 bytes apart: the lowest bit of its slot says that it is such a one, the next
 * three tell it, mostly, from one that was called from elsewhere.
 */
#define SHADOW_NAMED	  1u
#define SHADOW_NAMED_BITS 15u
static inline uintptr_t fathom_shadow_named(uintptr_t told, uintptr_t from)
{
	return (told & ~(uintptr_t)SHADOW_NAMED_BITS) | ((from ^ from >> 3 ^ from >> 6) & 7) << 1 |
	       SHADOW_NAMED;
}
/* The innermost call of that function, or -1. */
int fathom_shadow_find_named(const struct fathom_task *task, uintptr_t func);
/* A new one comes: those on top that a longjmp must have left go. */
void fathom_shadow_leave_named(struct fathom_task *task, uintptr_t named);
/* It is of an earlier tracing, or its return was not seen, for its return sites were off: what returns there is another. */
int fathom_shadow_is_over(const struct fathom_shadow *e);
/* Call `i` returns: those above it never will. */
void fathom_shadow_unwind(struct fathom_task *task, uint32_t i);
/* Take call `i` off the stack. */
void fathom_shadow_pop(struct fathom_task *task, uint32_t i);

#endif
