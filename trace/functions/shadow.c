/* SPDX-License-Identifier: MIT */
/* shadow.c -- a task's calls that have not returned yet, and what becomes of those that never will. */
#include "arch/arch.h"
#include "functions/shadow.h"
#include "functions/sites.h"
#include "functions/tracers.h"

/*
 * A frame is named by the address of its return address (the slot), so a return finds its call even if others were left
 * without one (longjmp, a task switch inside a function, a site that was off): entries above it are dropped.
 *
 * G1. Entries at and above task->depth have slot and ret 0. So a pop clears them before it lowers depth, and a push
 *     raises depth before it fills the entry in: an interrupt in between sees an entry that matches no return.
 * G2. A push by an interrupt is popped (or dropped by its own context) before the interrupted context goes on.
 * G3. An entry whose `ret` is set is only dropped when its frame is known to be dead: it lies below a frame of the same
 *     stack that has returned, or its slot is in use by another call. A return address is never lost.
 *
 * The depth in a record is the place of its call on the shadow stack, which the call's entry and exit agree on.
 *
 * G4. A call that is being recorded, or whose return is, is on the shadow stack for all of that time. So a record never shows
 *     less than the calls that are open where it stands. It may show more: for an interrupt that comes between the push and
 *     the record of the entry (or between the record of the exit and the pop), and for calls below it that the ring refused.
 *     A reader that wants the number of open calls counts them: a call is over once a record says its depth, or less.
 * G5. A call whose entry the ring refuses is skipped whole: it is not pushed, so its return is not recorded and its callees
 *     show as its caller's. If someone else wants it followed (the profile), or if it must be on the stack for returns to
 *     be told apart (names instead of slots), it is pushed without GRAPH_RECORD.
 *     Whoever was let in is let out: the return of a call that is on the stack is recorded in any context.
 * G6. The fast entries take the depth before they hold the guard. If a new tracing begins meanwhile and an interrupt is the
 *     first to be traced in it, it drops and moves calls (fathom_shadow_refresh), and the depth that was taken is too deep.
 *     A return then finds nothing on top; an entry finds that the ring has changed, or goes on with calls below it that are
 *     over. Whoever comes next and finds such a call on top is not fast, and takes them off.
 */

/*
 * The number in a call's flags says when it was made: in which tracing, and there before or after return sites went off.
 * graph_first is the number that the tracing began with.
 */
#define GENERATION_MASK \
	((1u << (32 - GRAPH_FLAG_BITS)) - 1) /* above the flags, in a word of 32 bits too */
static uint32_t graph_generation = 1, graph_first = 1;

void fathom_task_init(struct fathom_task *task)
{
	uint8_t *p = (uint8_t *)task;

	for (size_t i = 0; i < sizeof(*task); i++)
		((volatile uint8_t *)p)[i] = 0;
}

static uint32_t generation_of(uintptr_t flags)
{
	return (uint32_t)(flags >> GRAPH_FLAG_BITS) & GENERATION_MASK;
}

static int generation_is_before(uint32_t a, uint32_t b)
{
	return ((b - a - 1) & GENERATION_MASK) < GENERATION_MASK / 2;
}

uint32_t fathom_graph_next(void)
{
	return (graph_generation + 1) & GENERATION_MASK;
}

void fathom_graph_advance(void)
{
	graph_generation = fathom_graph_next();
	fathom_store(&fathom_hot.graph_plain, FATHOM_GRAPH_PLAIN(graph_generation));
}

void fathom_graph_reset(void)
{
	fathom_store(&graph_first, fathom_graph_next()); /* first: nobody takes old calls for new */
	fathom_local_barrier();
	fathom_graph_advance();
}

int fathom_shadow_is_over(const struct fathom_shadow *e)
{
	uint32_t made = generation_of(e->flags);
	int site;

	if (made == generation_of(fathom_load(&fathom_hot.graph_plain)))
		return 0;
	if (generation_is_before(made, fathom_load(&graph_first)))
		return 1;
	site = fathom_site_find(e->func);
	return site >= 0 &&
	       generation_is_before(made, fathom_load(&fathom_functions.site[site].off_since));
}

/* Drop the entries for which `dead` says so and close the gaps. Keeps G1. */
static void shadow_compact(struct fathom_task *task, uint32_t from,
			   int (*dead)(const struct fathom_shadow *e, uintptr_t arg), uintptr_t arg)
{
	uint32_t kept = from, depth = task->depth;

	for (uint32_t i = from; i < depth; i++) {
		if (dead(&task->shadow[i], arg))
			continue;
		if (kept != i)
			task->shadow[kept] = task->shadow[i];
		kept++;
	}
	for (uint32_t i = kept; i < depth; i++)
		task->shadow[i].slot = task->shadow[i].ret = 0;
	fathom_local_barrier();
	task->depth = kept;
}

static int dead_if_plain(const struct fathom_shadow *e, uintptr_t arg)
{
	(void)arg;
	return !e->ret;
}

/* Below a frame that has returned, on what must be the same stack. Return sites have nothing to lose: drop them all. */
static int dead_below(const struct fathom_shadow *e, uintptr_t slot)
{
	return !e->ret || (e->slot <= slot && slot - e->slot < FATHOM_STACK_BYTES);
}

/* Its frame lay below `sp`, on what must be the same stack. */
static int dead_left(const struct fathom_shadow *e, uintptr_t sp)
{
	return e->slot < sp && sp - e->slot < FATHOM_STACK_BYTES;
}

void fathom_shadow_refresh(struct fathom_task *task)
{
	if (task->plain == fathom_load(&fathom_hot.graph_plain) || fathom_guard_is_nested(task))
		return;
	if (generation_is_before(generation_of(task->plain), fathom_load(&graph_first))) {
		shadow_compact(task, 0, dead_if_plain, 0);
		task->inside = task->quiet = task->left_out = 0;
	}
	task->plain = fathom_load(&fathom_hot.graph_plain);
}

void fathom_shadow_trim(struct fathom_task *task)
{
	uint32_t depth = task->depth;

	if (fathom_guard_is_nested(task))
		return; /* an interrupted context is just putting one there: G1 */
	while (depth && !task->shadow[depth - 1].slot)
		depth--;
	task->depth = depth;
}

int fathom_shadow_find(const struct fathom_task *task, uintptr_t slot)
{
	for (uint32_t i = task->depth; i-- > 0;)
		if (task->shadow[i].slot == slot)
			return (int)i;
	return -1;
}

int fathom_shadow_find_named(const struct fathom_task *task, uintptr_t func)
{
	for (uint32_t i = task->depth; i-- > 0;)
		if (task->shadow[i].slot & SHADOW_NAMED && task->shadow[i].func == func)
			return (int)i;
	return -1;
}

/*
 * Told from below where the new one is: its frame is gone. Told from the very same place, it is if it was called from
 * elsewhere; else it may be a function that the new one is inlined in.
 */
static int dead_named(const struct fathom_shadow *e, uintptr_t named)
{
	uintptr_t was = e->slot & ~(uintptr_t)SHADOW_NAMED_BITS,
		  is = named & ~(uintptr_t)SHADOW_NAMED_BITS;

	return e->slot & SHADOW_NAMED && is - was < FATHOM_STACK_BYTES &&
	       (is != was || e->slot != named);
}

/* If no more fit, whatever is not above it. */
static int dead_named_full(const struct fathom_shadow *e, uintptr_t named)
{
	return e->slot & SHADOW_NAMED && (dead_named(e, named) || e->slot == named);
}

void fathom_shadow_leave_named(struct fathom_task *task, uintptr_t named)
{
	int (*dead)(const struct fathom_shadow *e, uintptr_t arg) = dead_named;
	uint32_t depth = task->depth;

	if (fathom_guard_is_nested(task))
		return;
	if (depth == FATHOM_SHADOW_DEPTH)
		dead = dead_named_full;
	while (depth && dead(&task->shadow[depth - 1], named))
		depth--;
	if (depth == task->depth)
		return;
	fathom_counts()->unwound += task->depth - depth;
	shadow_compact(task, depth, dead, named);
}

/*
 * The top of the shadow stack does not lie above the new frame: another stack (an interrupt's), a tail call, or calls
 * that were left by a longjmp. Only if this very slot is in use is it certain that its old owner is gone.
 */
static __attribute__((noinline)) void shadow_reuse(struct fathom_task *task, uintptr_t *slot)
{
	int i = fathom_shadow_find(task, (uintptr_t)slot);

	if (i < 0 || fathom_guard_is_nested(task))
		return;
	if (task->shadow[i].ret && fathom_arch_is_return(*slot))
		return; /* tail call: the caller's return is still to come, from here */
	fathom_counts()->unwound += task->depth - (uint32_t)i;
	task->shadow[i].ret = 0;
	shadow_compact(task, (uint32_t)i, dead_below, (uintptr_t)slot);
}

int fathom_shadow_room(struct fathom_task *task, uintptr_t *slot)
{
	uint32_t depth;

	fathom_shadow_refresh(task);
	fathom_shadow_trim(task);
	depth = task->depth;
	if (slot && depth && task->shadow[depth - 1].slot <= (uintptr_t)slot) {
		shadow_reuse(task, slot);
		depth = task->depth;
	}
	if (depth >= FATHOM_SHADOW_DEPTH) {
		task->overrun++;
		fathom_counts()->shadow_full++;
		return -1;
	}
	return (int)depth;
}

void fathom_shadow_unwind(struct fathom_task *task, uint32_t i)
{
	if (task->depth == i + 1)
		return;
	fathom_counts()->unwound += task->depth - 1 - i;
	shadow_compact(task, i + 1, dead_below, task->shadow[i].slot);
}

void fathom_shadow_pop(struct fathom_task *task, uint32_t i)
{
	/* If it is not on top, it leaves a hole below another stack's calls; compacted later. */
	task->shadow[i].slot = task->shadow[i].ret = 0; /* G1 */
	fathom_local_barrier();
	if (task->depth == i + 1)
		task->depth = i;
}

/* A tail call has its caller's slot, and what it replaced is the replaced one: so the innermost goes first, or comes last. */
void fathom_returns_put_back(void)
{
	const struct fathom_task *task = fathom_port_task_state();

	for (uint32_t i = task ? task->depth : 0; i-- > 0;) {
		const struct fathom_shadow *e = &task->shadow[i];
		volatile uintptr_t *slot = (uintptr_t *)e->slot;

		if (e->ret && fathom_arch_is_return(*slot))
			*slot = e->ret;
	}
}

void fathom_returns_replace(uintptr_t sp)
{
	struct fathom_task *task = fathom_port_task_state();
	uint32_t outer, depth = task ? task->depth : 0;
	uintptr_t pin;

	if (!depth)
		return;
	pin = fathom_port_pin();
	outer = fathom_guard_enter(task, fathom_port_context(pin));
	shadow_compact(task, 0, dead_left, sp);
	fathom_counts()->unwound += depth - task->depth;
	for (uint32_t i = 0; i < task->depth; i++) {
		const struct fathom_shadow *e = &task->shadow[i];
		volatile uintptr_t *slot = (uintptr_t *)e->slot;

		if (e->ret && *slot == e->ret)
			*slot = fathom_arch_return_address();
	}
	fathom_guard_leave(task, outer);
	fathom_port_unpin(pin);
}

/* The replaced return whose frame `at` is in: a CPU without return addresses on the stack saves them below the slot. */
static int shadow_above(const struct fathom_task *task, uintptr_t at)
{
	int best = -1;

	for (uint32_t i = 0; i < task->depth && i < FATHOM_SHADOW_DEPTH; i++) {
		const struct fathom_shadow *e = &task->shadow[i];

		if (e->ret && e->slot >= at && e->slot - at < FATHOM_STACK_BYTES &&
		    (best < 0 || e->slot < task->shadow[best].slot))
			best = (int)i;
	}
	return best;
}

uintptr_t fathom_return_address(uintptr_t slot, uintptr_t ret)
{
	struct fathom_task *task;
	int i;

	if (!ret || !fathom_arch_is_return(ret))
		return ret;
	task = fathom_port_task_state();
	i = task ? shadow_above(task, slot) : -1;
	return i >= 0 ? task->shadow[i].ret : ret;
}
