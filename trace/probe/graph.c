/* SPDX-License-Identifier: MIT */
/* graph.c -- function_graph: calls and their returns, matched through a per-task shadow stack. */
#include "arch/arch.h"
#include "fathom/stream.h"
#include "probe/shadow.h"
#include "probe/sites.h"
#include "probe/tracers.h"

/*
 * A call is pushed on its task's shadow stack (shadow.c, whose invariants G1..G3 are kept here) at its entry and popped
 * at its return. Where the compiler gave return sites these are patched and nothing is replaced; elsewhere the return
 * address is, and the shadow stack keeps the right one.
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
	uint32_t outer;
	struct fathom_task *task = fathom_guard_open(fathom_port_context(), &outer);

	if (task) {
		fathom_graph_push(ip, slot, GRAPH_RECORD, hijack);
		fathom_guard_leave(task, outer);
	}
}

/* Who runs where. 0: not the simple case. */
struct graph_here {
	struct fathom_task *task;
	struct fathom_ring *ring;
	uint32_t context;
};

static inline __attribute__((always_inline)) int graph_here(struct graph_here *h)
{
	uint32_t cpu = fathom_port_cpu_quick();

	h->task = fathom_port_task_state();
	h->context = fathom_port_context();
	if (fathom_unlikely(!h->task || cpu >= fathom_core.nr_cpus))
		return 0;
	FATHOM_OPAQUE(h->task);
	h->ring = fathom_load(&fathom_core.ring[cpu]);
	return 1;
}

/* Reserve with the guard held; NULL: neither is. */
static inline __attribute__((always_inline)) uint8_t *graph_try(const struct graph_here *h,
								uint32_t bytes, unsigned long *at,
								uint64_t *time)
{
	uint8_t *to;

	fathom_guard_take(h->task, h->context);
	to = fathom_ring_try(h->ring, bytes, at, time);
	if (fathom_unlikely(!to))
		fathom_guard_leave(h->task, 0);
	return to;
}

static inline __attribute__((always_inline)) void graph_try_end(const struct graph_here *h,
								uint32_t bytes, unsigned long at,
								uint64_t time)
{
	fathom_guard_leave(h->task, 0);
	fathom_local_barrier();
	FATHOM_OPAQUE(at); /* add again rather than keep the sum */
	fathom_ring_try_commit(h->ring, fathom_ring_end(at, fathom_ring_words(bytes)), time);
}

static inline __attribute__((always_inline)) int graph_enter(uintptr_t ip, uintptr_t *slot,
							     int hijack)
{
	struct graph_here h;
	struct fathom_shadow *e;
	unsigned long at;
	uint32_t depth;
	uint64_t time;
	uint8_t *to;

	if (!graph_here(&h))
		return 0;
	depth = h.task->depth;
	e = &h.task->shadow[depth];
	FATHOM_OPAQUE(e);
	if (fathom_unlikely(h.task->busy || depth >= FATHOM_SHADOW_DEPTH ||
			    h.task->plain != fathom_load(&fathom_graph_plain) ||
			    (depth && e[-1].slot <= (uintptr_t)slot)))
		return 0;
	to = graph_try(&h, ENTRY_BYTES, &at, &time);
	if (fathom_unlikely(!to))
		return 0;
	fathom_put64(to, fathom_common_word(WIRE_ID_FUNCGRAPH_ENTRY, h.context));
	fathom_put64(to + 8, ip);
	fathom_put32(to + 16, depth);
	h.task->depth = depth + 1;
	fathom_local_barrier(); /* G1 */
	e->func = ip;
	e->flags = fathom_load(&fathom_graph_plain);
	if (hijack)
		e->ret = *slot;
	e->calltime = time;
	e->slot = (uintptr_t)slot;
	fathom_local_barrier();
	if (hijack)
		*(volatile uintptr_t *)slot = fathom_arch_return_address();
	graph_try_end(&h, ENTRY_BYTES, at, time);
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

	fathom_shadow_refresh(task);
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

/* Fill in a call that was just pushed, and record it if the flags say so. `name` names its frame. */
static void graph_open(struct fathom_shadow *e, uintptr_t ip, uintptr_t name, uint32_t flags,
		       uint32_t depth)
{
	e->func = ip;
	e->flags = (fathom_load(&fathom_graph_plain) & ~(uintptr_t)GRAPH_FLAGS) | flags;
	e->children = 0;
	e->slot = name;
	if (flags & GRAPH_STREAM)
		graph_stream(ip, fathom_stream_enter);
	e->calltime = flags & GRAPH_RECORD ? graph_write_entry(ip, depth, fathom_port_context())
					   : fathom_port_clock();
}

/* The caller holds the recursion guard. */
void fathom_graph_push(uintptr_t ip, uintptr_t *slot, uint32_t flags, int hijack)
{
	struct fathom_task *task = fathom_port_task_state();
	struct fathom_shadow *e = fathom_shadow_push(task, slot);
	uint32_t depth;

	if (!e)
		return;
	depth = (uint32_t)(e - task->shadow);
	if (flags & GRAPH_INSIDE)
		task->inside = depth + 1;
	if (flags & GRAPH_QUIET)
		task->quiet = depth + 1;
	e->ret = hijack ? *slot : 0;
	graph_open(e, ip, (uintptr_t)slot, flags, depth);
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
	int i = task ? fathom_shadow_find(task, slot) : -1;
	uint32_t context = fathom_port_context(), outer;
	struct fathom_shadow e;

	if (i < 0) {
		fathom_counts()->unmatched++;
		return 0;
	}
	e = fathom_shadow_pop(task, (uint32_t)i);
	task = fathom_guard_open(context, &outer);
	if (!task)
		return e.ret;
	if (!((e.flags ^ fathom_load(&fathom_graph_plain)) & ~(uintptr_t)GRAPH_FLAGS))
		graph_exit_slow(task, &e, (uint32_t)i,
				context); /* else its entry is not in this trace */
	fathom_guard_leave(task, outer);
	return e.ret;
}

/*
 * Take the call that returns at `slot` off the stack, record it, and give back its return address in `*ret` if it was
 * replaced. 0 if it is not the simple case; then nothing was done.
 */
static inline __attribute__((always_inline)) int graph_leave(uintptr_t *slot, uintptr_t *ret)
{
	struct graph_here h;
	struct fathom_shadow *e;
	unsigned long at;
	uint32_t depth;
	uint64_t time;
	uint8_t *to;

	if (!graph_here(&h))
		return 0;
	depth = h.task->depth - 1;
	e = &h.task->shadow[depth & (FATHOM_SHADOW_DEPTH - 1)]; /* G1: no match if there is none */
	FATHOM_OPAQUE(e);
	if (fathom_unlikely(e->slot != (uintptr_t)slot ||
			    e->flags != fathom_load(&fathom_graph_plain) || h.task->busy))
		return 0;
	to = graph_try(&h, EXIT_BYTES, &at, &time);
	if (fathom_unlikely(!to))
		return 0;
	fathom_put64(to, fathom_common_word(WIRE_ID_FUNCGRAPH_EXIT, h.context));
	fathom_put64(to + 8, e->func);
	fathom_put32(to + 16, depth);
	fathom_put32(to + 20, h.task->overrun);
	fathom_put64(to + 24, fathom_to_ns(e->calltime));
	fathom_put64(to + 32, fathom_to_ns(time));
	if (ret) {
		*ret = e->ret;
		e->ret = 0;
	}
	e->slot = 0; /* G1 */
	fathom_local_barrier();
	h.task->depth = depth;
	graph_try_end(&h, EXIT_BYTES, at, time);
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
	uint32_t outer;
	struct fathom_task *task = fathom_guard_open(fathom_port_context(), &outer);

	if (task) {
		struct fathom_shadow *e = fathom_shadow_push(task, 0);

		if (e)
			graph_open(e, ip, ip, GRAPH_RECORD, (uint32_t)(e - task->shadow));
		fathom_guard_leave(task, outer);
	}
	fathom_port_unpin(pin);
}

void fathom_graph_leave_named(uintptr_t ip)
{
	uintptr_t pin = fathom_port_pin();

	graph_leave_slow(ip);
	fathom_port_unpin(pin);
}
