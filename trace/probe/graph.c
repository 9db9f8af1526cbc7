/* SPDX-License-Identifier: MIT */
/* graph.c -- function_graph: calls and their returns, matched through a per-task shadow stack. */
#include "arch/arch.h"
#include "fathom/stream.h"
#include "probe/sites.h"
#include "probe/tracers.h"

/*
 * A call is pushed at its entry and popped at its return. Where the compiler gave return sites these are patched and
 * nothing is replaced; elsewhere the return address is, and the shadow stack keeps the right one.
 *
 * A frame is named by the address of its return address (the slot), so a return finds its call even if others were left
 * without one (longjmp, a task switch inside a function, a site that was off): entries above it are dropped.
 *
 * G1. Entries at and above task->depth have slot and ret 0. So a pop clears them before it lowers depth, and a push
 *     raises depth before it fills the entry in: an interrupt in between sees an entry that matches no return.
 * G2. A push by an interrupt is popped (or dropped by its own context) before the interrupted context goes on.
 * G3. An entry whose `ret` is set is only dropped when its frame is known to be dead: it lies below a frame of the same
 *     stack that has returned, or its slot is in use by another call. A return address is never lost.
 */

#define ENTRY_BYTES 20 /* common, func, depth */
#define EXIT_BYTES  40 /* common, func, depth, overrun, calltime, rettime */

/* The four entries are all fast path: the ring's and the port's inline functions go in too. */
#ifdef __clang__
#define FLATTEN __attribute__((flatten))
#else
#define FLATTEN __attribute__((flatten, optimize("omit-frame-pointer")))
#endif

uint32_t fathom_graph_depth_max;
uint64_t fathom_thresh_ns;
/*
 * The tracing of now: its number, and the flags of a call that it simply records. Calls of an earlier tracing carry
 * another number and so fail the one comparison that the return makes.
 */
static uint32_t graph_generation = 1;
static uintptr_t graph_plain = 1u << GRAPH_FLAG_BITS | GRAPH_RECORD;

void fathom_task_init(struct fathom_task *task)
{
	uint8_t *p = (uint8_t *)task;

	for (size_t i = 0; i < sizeof(*task); i++)
		((volatile uint8_t *)p)[i] = 0;
}

void fathom_graph_reset(void)
{
	fathom_store(&graph_generation, (graph_generation + 1) & 0xffffff);
	fathom_store(&graph_plain, (uintptr_t)graph_generation << GRAPH_FLAG_BITS | GRAPH_RECORD);
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

/* What was left over by the tracing before this one. */
static __attribute__((noinline)) void shadow_renew(struct fathom_task *task)
{
	shadow_compact(task, 0, dead_if_plain, 0);
	task->generation = fathom_load(&graph_generation);
	task->inside = task->quiet = 0;
}

static int shadow_find(const struct fathom_task *task, uintptr_t slot)
{
	for (uint32_t i = task->depth; i-- > 0;)
		if (task->shadow[i].slot == slot)
			return (int)i;
	return -1;
}

/*
 * The top of the shadow stack does not lie above the new frame: another stack (an interrupt's), a tail call, or calls
 * that were left by a longjmp. Only if this very slot is in use is it certain that its old owner is gone.
 */
static __attribute__((noinline)) void shadow_reuse(struct fathom_task *task, uintptr_t *slot)
{
	int i = shadow_find(task, (uintptr_t)slot);

	if (i < 0 || fathom_guard_is_nested(task))
		return;
	if (task->shadow[i].ret && *slot == fathom_arch_return_address())
		return; /* tail call: the caller's return is still to come, from here */
	fathom_counts()->unwound += task->depth - (uint32_t)i;
	task->shadow[i].ret = 0;
	shadow_compact(task, (uint32_t)i, dead_below, (uintptr_t)slot);
}

/* Room for one more entry, or NULL. */
static struct fathom_shadow *shadow_push(struct fathom_task *task, uintptr_t *slot)
{
	uint32_t depth = task->depth;

	if (task->generation != fathom_load(&graph_generation)) {
		if (!fathom_guard_is_nested(task))
			shadow_renew(task);
		depth = task->depth;
	}
	if (depth && task->shadow[depth - 1].slot <= (uintptr_t)slot) {
		shadow_reuse(task, slot);
		depth = task->depth;
	}
	if (depth >= FATHOM_SHADOW_DEPTH) {
		task->overrun++;
		fathom_counts()->shadow_full++;
		return 0;
	}
	task->depth = depth + 1;
	fathom_local_barrier(); /* G1 */
	return &task->shadow[depth];
}

/* Time of the call, recorded or not. */
static uint64_t graph_write_entry(uintptr_t ip, uint32_t depth, uint32_t context)
{
	struct fathom_ring *ring = fathom_tracer_ring();
	struct fathom_slot slot;
	uint64_t time;
	uint8_t *to;

	if (fathom_likely(ring) && (to = fathom_ring_reserve(ring, ENTRY_BYTES, &slot))) {
		time = slot.time;
		fathom_put64(to, fathom_common_word(WIRE_ID_FUNCGRAPH_ENTRY, context));
		fathom_put64(to + 8, ip);
		fathom_put32(to + 16, depth);
		fathom_ring_commit(ring, &slot);
	} else {
		time = fathom_port_clock();
	}
	return time;
}

/* calltime 0: it took no time. */
static void graph_write_exit(uintptr_t func, uint64_t calltime, uint32_t depth, uint32_t overrun,
			     uint32_t context)
{
	struct fathom_ring *ring = fathom_tracer_ring();
	struct fathom_slot slot;
	uint8_t *to;

	if (fathom_likely(ring) && (to = fathom_ring_reserve(ring, EXIT_BYTES, &slot))) {
		fathom_put64(to, fathom_common_word(WIRE_ID_FUNCGRAPH_EXIT, context));
		fathom_put64(to + 8, func);
		fathom_put32(to + 16, depth);
		fathom_put32(to + 20, overrun);
		fathom_put64(to + 24, fathom_to_ns(calltime ? calltime : slot.time));
		fathom_put64(to + 32, fathom_to_ns(slot.time));
		fathom_ring_commit(ring, &slot);
	}
}

void fathom_graph_record(uintptr_t ip, uint32_t context)
{
	graph_write_entry(ip, 0, context);
	graph_write_exit(ip, 0, 0, 0, context);
}

/* The stream of the running CPU, which must not change on the way. */
static void graph_stream(uintptr_t func, void (*record)(uintptr_t))
{
	uintptr_t pin = fathom_port_pin();

	record(func);
	fathom_port_unpin(pin);
}

/*
 * The fast entries: no filter beyond the set of patched functions. When everything is as it nearly always is they make
 * no call and need no frame; else they start over in the general form, which copes with all.
 */
static __attribute__((noinline)) void graph_enter_general(uintptr_t ip, uintptr_t *slot, int hijack)
{
	struct fathom_task *task = fathom_port_task_state();
	uint32_t context = fathom_port_context(), outer;

	if (!task)
		return;
	if (fathom_guard_is_held(task, context)) {
		fathom_counts()->recursion++;
		return;
	}
	outer = fathom_guard_enter(task, context);
	fathom_graph_push(ip, slot, GRAPH_RECORD, hijack);
	fathom_guard_leave(task, outer);
}

static inline __attribute__((always_inline)) int graph_enter(uintptr_t ip, uintptr_t *slot,
							     int hijack)
{
	struct fathom_task *task = fathom_port_task_state();
	uint32_t context = fathom_port_context(), depth;
	uint32_t cpu = fathom_port_cpu_quick();
	struct fathom_ring *ring;
	struct fathom_shadow *e;
	unsigned long at;
	uint64_t time;
	uint8_t *to;

	if (fathom_unlikely(!task || cpu >= fathom_core.nr_cpus))
		return 0;
	FATHOM_OPAQUE(task);
	ring = fathom_load(&fathom_core.ring[cpu]);
	depth = task->depth;
	e = &task->shadow[depth];
	FATHOM_OPAQUE(e);
	if (fathom_unlikely(task->busy || depth >= FATHOM_SHADOW_DEPTH ||
			    task->generation != fathom_load(&graph_generation) ||
			    (depth && e[-1].slot <= (uintptr_t)slot)))
		return 0;
	fathom_guard_take(task, context);
	to = fathom_ring_try(ring, ENTRY_BYTES, &at, &time);
	if (fathom_unlikely(!to)) {
		fathom_guard_leave(task, 0);
		return 0;
	}
	fathom_put64(to, fathom_common_word(WIRE_ID_FUNCGRAPH_ENTRY, context));
	fathom_put64(to + 8, ip);
	fathom_put32(to + 16, depth);
	task->depth = depth + 1;
	fathom_local_barrier(); /* G1 */
	e->func = ip;
	e->flags = fathom_load(&graph_plain);
	if (hijack)
		e->ret = *slot;
	e->calltime = time;
	e->slot = (uintptr_t)slot;
	fathom_local_barrier();
	if (hijack)
		*(volatile uintptr_t *)slot = fathom_arch_return_address();
	fathom_guard_leave(task, 0);
	fathom_local_barrier();
	FATHOM_OPAQUE(at); /* add again rather than keep the sum */
	fathom_ring_try_commit(ring, fathom_ring_end(at, fathom_ring_words(ENTRY_BYTES)), time);
	return 1;
}

FLATTEN void fathom_graph_enter(uintptr_t ip, uintptr_t *slot)
{
	uintptr_t pin = fathom_port_pin();

	if (fathom_unlikely(!graph_enter(ip, slot, 0)))
		graph_enter_general(ip, slot, 0);
	fathom_port_unpin(pin);
}

FLATTEN void fathom_graph_enter_hijack(uintptr_t ip, uintptr_t *slot)
{
	uintptr_t pin = fathom_port_pin();

	if (fathom_unlikely(!graph_enter(ip, slot, 1)))
		graph_enter_general(ip, slot, 1);
	fathom_port_unpin(pin);
}

/* ---- the slow entry ---- */

/* funcgraph-irqs off: what interrupts do is not recorded, unless set_graph_function asks for that very thing. */
static int graph_skips_irq(const struct fathom_task *task, uint32_t flags)
{
	if (fathom_load(&fathom_tracer_option_bits) & FATHOM_OPT_GRAPH_IRQS ||
	    !(fathom_port_context() & WIRE_FLAG_HARDIRQ))
		return 0;
	if (task->inside)
		flags = (uint32_t)task->shadow[task->inside - 1].flags;
	return !(flags & GRAPH_IN_IRQ);
}

uint32_t fathom_graph_wanted(uint32_t index)
{
	struct fathom_task *task = fathom_port_task_state();
	uint32_t flags = fathom_stream_is_on() ? GRAPH_STREAM
			 : fathom_thresh_ns    ? GRAPH_THRESH
					       : GRAPH_RECORD;
	uint32_t limit = fathom_load(&fathom_graph_depth_max);

	if (task->generation != fathom_load(&graph_generation) && !fathom_guard_is_nested(task))
		shadow_renew(task); /* no other context is in the middle of a push */
	if (task->inside > task->depth)
		task->inside = 0;
	if (task->quiet > task->depth)
		task->quiet = 0;
	if (task->quiet || (limit && task->depth >= limit))
		return 0;
	if (fathom_functions.set_count[FATHOM_SET_GRAPH] && !task->inside) {
		if (!fathom_set_has(FATHOM_SET_GRAPH, index))
			return 0;
		flags |= GRAPH_INSIDE;
		if (fathom_port_context() & WIRE_FLAG_HARDIRQ)
			flags |= GRAPH_IN_IRQ;
	}
	if (graph_skips_irq(task, flags))
		return 0;
	if (fathom_set_has(FATHOM_SET_GRAPH_NOTRACE, index))
		return GRAPH_QUIET;
	return flags;
}

/* The caller holds the recursion guard. */
void fathom_graph_push(uintptr_t ip, uintptr_t *slot, uint32_t flags, int hijack)
{
	struct fathom_task *task = fathom_port_task_state();
	uint32_t context = fathom_port_context(), depth;
	struct fathom_shadow *e = shadow_push(task, slot);

	if (!e)
		return;
	depth = (uint32_t)(e - task->shadow);
	if (flags & GRAPH_INSIDE)
		task->inside = depth + 1;
	if (flags & GRAPH_QUIET)
		task->quiet = depth + 1;
	e->func = ip;
	e->flags = (fathom_load(&graph_plain) & ~(uintptr_t)GRAPH_FLAGS) | flags;
	e->children = 0;
	e->ret = hijack ? *slot : 0;
	e->slot = (uintptr_t)slot;
	if (flags & GRAPH_STREAM)
		graph_stream(ip, fathom_stream_enter);
	e->calltime =
		flags & GRAPH_RECORD ? graph_write_entry(ip, depth, context) : fathom_port_clock();
	fathom_local_barrier();
	if (hijack)
		*(volatile uintptr_t *)slot = fathom_arch_return_address();
}

/* ---- returns ---- */

static __attribute__((noinline)) void graph_exit_slow(struct fathom_task *task,
						      const struct fathom_shadow *e, uint32_t depth,
						      uint32_t context)
{
	uint64_t now = fathom_port_clock(), took = now - e->calltime;

	if (task->inside > depth)
		task->inside = 0;
	if (task->quiet > depth)
		task->quiet = 0;
	if (e->flags & GRAPH_PROFILE) {
		if (depth)
			task->shadow[depth - 1].children += took;
		fathom_profile_leave(e->func, took, took - e->children);
	}
	if (e->flags & GRAPH_STREAM)
		graph_stream(e->func, fathom_stream_leave);
	if (e->flags & GRAPH_RECORD ||
	    (e->flags & GRAPH_THRESH && fathom_to_ns(took) >= fathom_load(&fathom_thresh_ns)))
		graph_write_exit(e->func, e->calltime, depth, task->overrun, context);
}

/*
 * A return that is not simply recorded: another kind of call, another tracing, or calls above it that never returned.
 * Its return address, 0 if the call was not followed.
 */
static __attribute__((noinline)) uintptr_t graph_leave_slow(uintptr_t slot)
{
	struct fathom_task *task = fathom_port_task_state();
	int i = task ? shadow_find(task, slot) : -1;
	uint32_t context = fathom_port_context(), outer;
	uint32_t depth = (uint32_t)i;
	struct fathom_shadow e;

	if (i < 0) {
		fathom_counts()->unmatched++;
		return 0;
	}
	if (task->depth != depth + 1) {
		fathom_counts()->unwound += task->depth - 1 - depth;
		shadow_compact(task, depth + 1, dead_below, slot);
	}
	e = task->shadow[depth];
	task->shadow[depth].slot = 0; /* G1 */
	fathom_local_barrier();
	if (task->depth == depth + 1)
		task->depth = depth;
	else
		task->shadow[depth].ret =
			0; /* a hole below another stack's calls; compacted later */
	if (fathom_guard_is_held(task, context)) {
		fathom_counts()->recursion++;
		return e.ret;
	}
	outer = fathom_guard_enter(task, context);
	if (!((e.flags ^ fathom_load(&graph_plain)) & ~(uintptr_t)GRAPH_FLAGS))
		graph_exit_slow(task, &e, depth, context); /* else its entry is not in this trace */
	fathom_guard_leave(task, outer);
	return e.ret;
}

/*
 * Take the call that returns at `slot` off the stack, record it, and give back its return address in `*ret` if it was
 * replaced. 0 if it is not the simple case; then nothing was done.
 */
static inline __attribute__((always_inline)) int graph_leave(uintptr_t *slot, uintptr_t *ret)
{
	struct fathom_task *task = fathom_port_task_state();
	uint32_t context = fathom_port_context(), depth;
	uint32_t cpu = fathom_port_cpu_quick();
	struct fathom_ring *ring;
	struct fathom_shadow *e;
	unsigned long at;
	uint64_t time;
	uint8_t *to;

	if (fathom_unlikely(!task || cpu >= fathom_core.nr_cpus))
		return 0;
	FATHOM_OPAQUE(task);
	ring = fathom_load(&fathom_core.ring[cpu]);
	depth = task->depth - 1;
	e = &task->shadow[depth & (FATHOM_SHADOW_DEPTH - 1)]; /* G1: no match if there is none */
	FATHOM_OPAQUE(e);
	if (fathom_unlikely(e->slot != (uintptr_t)slot || e->flags != fathom_load(&graph_plain) ||
			    task->busy))
		return 0;
	fathom_guard_take(task, context);
	to = fathom_ring_try(ring, EXIT_BYTES, &at, &time);
	if (fathom_unlikely(!to)) {
		fathom_guard_leave(task, 0);
		return 0;
	}
	fathom_put64(to, fathom_common_word(WIRE_ID_FUNCGRAPH_EXIT, context));
	fathom_put64(to + 8, e->func);
	fathom_put32(to + 16, depth);
	fathom_put32(to + 20, task->overrun);
	fathom_put64(to + 24, fathom_to_ns(e->calltime));
	fathom_put64(to + 32, fathom_to_ns(time));
	if (ret) {
		*ret = e->ret;
		e->ret = 0;
	}
	e->slot = 0; /* G1 */
	fathom_local_barrier();
	task->depth = depth;
	fathom_guard_leave(task, 0);
	fathom_local_barrier();
	FATHOM_OPAQUE(at); /* add again rather than keep the sum */
	fathom_ring_try_commit(ring, fathom_ring_end(at, fathom_ring_words(EXIT_BYTES)), time);
	return 1;
}

/* At a return site. Context: any. */
FLATTEN void fathom_graph_leave(uintptr_t *slot)
{
	uintptr_t pin = fathom_port_pin();

	if (fathom_unlikely(!graph_leave(slot, 0)))
		graph_leave_slow((uintptr_t)slot);
	fathom_port_unpin(pin);
}

/* At a replaced return. Context: any. G3 says the entry is there. */
FLATTEN uintptr_t fathom_graph_return(uintptr_t *slot)
{
	uintptr_t pin = fathom_port_pin(), ret;

	if (fathom_unlikely(!graph_leave(slot, &ret)))
		ret = graph_leave_slow((uintptr_t)slot);
	fathom_port_unpin(pin);
	return ret;
}

/*
 * -finstrument-functions gives no slot, but calls it back strictly nested: the function itself names the frame, and the
 * innermost call of that name is the one that returns.
 */
void fathom_graph_enter_named(uintptr_t ip)
{
	uintptr_t pin = fathom_port_pin();
	struct fathom_task *task = fathom_port_task_state();
	uint32_t context = fathom_port_context(), outer, depth;

	if (!task || fathom_guard_is_held(task, context)) {
		fathom_counts()->recursion += task != 0;
		fathom_port_unpin(pin);
		return;
	}
	outer = fathom_guard_enter(task, context);
	if (task->generation != fathom_load(&graph_generation) && !fathom_guard_is_nested(task))
		shadow_renew(task);
	depth = task->depth;
	if (depth < FATHOM_SHADOW_DEPTH) {
		struct fathom_shadow *e = &task->shadow[depth];

		task->depth = depth + 1;
		fathom_local_barrier(); /* G1 */
		e->func = ip;
		e->flags = fathom_load(&graph_plain);
		e->calltime = graph_write_entry(ip, depth, context);
		e->slot = ip;
	} else {
		task->overrun++;
		fathom_counts()->shadow_full++;
	}
	fathom_guard_leave(task, outer);
	fathom_port_unpin(pin);
}

void fathom_graph_leave_named(uintptr_t ip)
{
	uintptr_t pin = fathom_port_pin();

	graph_leave_slow(ip);
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

uintptr_t fathom_graph_see_through(uintptr_t slot, uintptr_t ret)
{
	struct fathom_task *task;
	int i;

	if (!ret || ret != fathom_arch_return_address())
		return ret;
	task = fathom_port_task_state();
	i = task ? shadow_above(task, slot) : -1;
	return i >= 0 ? task->shadow[i].ret : ret;
}
