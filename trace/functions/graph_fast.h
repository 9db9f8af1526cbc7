/* SPDX-License-Identifier: MIT */
/* graph_fast.h -- the fast halves of function_graph: what an entry and a return do when all is as it nearly always is. */
#ifndef FUNCTIONS_GRAPH_FAST_H
#define FUNCTIONS_GRAPH_FAST_H

#include "arch/arch.h"
#include "functions/shadow.h"
#include "functions/tracers.h"

#define ENTRY_BYTES (12 + (uint32_t)sizeof(uintptr_t)) /* common, func, depth */
#define EXIT_BYTES  (32 + (uint32_t)sizeof(uintptr_t)) /* and overrun, calltime, rettime */

static inline void graph_put_entry(uint8_t *to, uintptr_t ip, uint32_t depth, uint32_t context)
{
	struct fathom_rec_funcgraph_entry *r = (void *)to;

	fathom_put_common(to, WIRE_ID_FUNCGRAPH_ENTRY, context);
	r->func = ip;
	r->depth = (int32_t)depth;
}

/* One member after the other: the compiler would load all first, and save registers for them. */
static inline void graph_put_exit(uint8_t *to, uintptr_t func, uint32_t depth, uint32_t overrun,
				  uint64_t calltime, uint64_t now, uint32_t context)
{
	struct fathom_rec_funcgraph_exit *r = (void *)to;

	r->func = func;
	fathom_local_barrier();
	fathom_put_common(to, WIRE_ID_FUNCGRAPH_EXIT, context);
	fathom_local_barrier();
	r->depth = (int32_t)depth;
	r->overrun = overrun;
	fathom_local_barrier();
	r->calltime = fathom_to_ns(calltime);
	fathom_local_barrier();
	r->rettime = fathom_to_ns(now);
}

/*
 * No filter beyond the set of patched functions. When everything is as it nearly always is these make no call and need no
 * frame. Else (GRAPH_NOT) nothing was done, and the general form starts over, which copes with all.
 */
enum graph_result {
	GRAPH_NOT,
	GRAPH_DONE,
	GRAPH_NESTED, /* done, and records of interrupts are left to publish */
};

/* Who runs where, and for GRAPH_NESTED what fathom_ring_publish() wants. */
struct graph_here {
	struct fathom_task *task;
	struct fathom_ring *ring;
	unsigned long end;
	uint64_t time;
};

/* 0: not the simple case. */
static inline __attribute__((always_inline)) int graph_here(struct graph_here *h)
{
	uint32_t cpu = fathom_port_cpu_quick();

	h->task = fathom_port_task_state();
	if (fathom_unlikely(!h->task || cpu >= fathom_core.nr_cpus))
		return 0;
	FATHOM_OPAQUE(h->task);
	h->ring = fathom_load(&fathom_core.ring[cpu]);
	return 1;
}

/* Others keep off the shadow stack, but for pushing on top of it. */
static inline __attribute__((always_inline)) void graph_guard(struct fathom_task *task)
{
	fathom_local_barrier();
	fathom_store(&task->busy, GUARD_FAST);
	fathom_local_barrier();
}

static inline __attribute__((always_inline)) enum graph_result graph_close(struct graph_here *h,
									   unsigned long at,
									   uint32_t bytes)
{
	h->end = fathom_ring_end(at, fathom_ring_words(bytes));
	return fathom_unlikely(fathom_ring_close(h->ring, h->end, h->time)) ? GRAPH_NESTED
									    : GRAPH_DONE;
}

/* `hijack`: what the return address is replaced by, 0 if it is not. */
static inline __attribute__((always_inline)) enum graph_result graph_enter(
	struct graph_here *h, uintptr_t ip, uintptr_t *slot, uintptr_t hijack, uintptr_t pin)
{
	struct fathom_shadow *e;
	unsigned long at;
	uint32_t delta;
	uint64_t depth;
	uint8_t *to;

	if (!graph_here(h))
		return GRAPH_NOT;
	depth = h->task->state; /* far too deep if somebody is busy */
	if (fathom_unlikely(depth >= FATHOM_SHADOW_DEPTH ||
			    h->task->plain != fathom_load(&fathom_graph_plain) ||
			    (depth && h->task->shadow[depth - 1].slot <= (uintptr_t)slot) ||
			    !fathom_ring_look(h->ring, ENTRY_BYTES, &at, &h->time, &delta)))
		return GRAPH_NOT;
	/* Few values live across the clock, and the call is written down at once: no register must be saved for them. */
	graph_guard(h->task);
	fathom_store(&h->task->depth, (uint32_t)depth + 1);
	e = &h->task->shadow[depth];
	FATHOM_OPAQUE(e);
	e->func = ip;
	e->flags = fathom_load(&fathom_graph_plain);
	if (hijack)
		e->ret = *slot;
	e->calltime = h->time;
	e->slot = (uintptr_t)slot;
	to = fathom_ring_grab(h->ring, ENTRY_BYTES, at, delta);
	if (fathom_unlikely(!to)) {
		FATHOM_OPAQUE(depth); /* computed again, rather than kept in a register */
		h->task->shadow[depth].slot = h->task->shadow[depth].ret = 0; /* G1 */
		fathom_task_move(h->task, depth, 0);
		return GRAPH_NOT;
	}
	graph_put_entry(to, ip, (uint32_t)depth, fathom_port_context(pin));
	fathom_local_barrier();
	if (hijack)
		*(volatile uintptr_t *)slot = hijack;
	FATHOM_OPAQUE(depth);
	fathom_task_move(h->task, depth + 1, 0);
	return graph_close(h, at, ENTRY_BYTES);
}

/*
 * Take the call that returns at `slot` off the stack, record it, and give back its return address in `*ret` if it was
 * replaced.
 */
static inline __attribute__((always_inline)) enum graph_result graph_leave(struct graph_here *h,
									   uintptr_t *slot,
									   uintptr_t *ret,
									   uintptr_t pin)
{
	struct fathom_shadow *e;
	unsigned long at;
	uint32_t delta;
	uint64_t depth;
	uint8_t *to;

	if (!graph_here(h))
		return GRAPH_NOT;
	depth = h->task->state - 1; /* far too deep if there is none, or somebody is busy */
	FATHOM_OPAQUE(depth);
	e = &h->task->shadow[depth];
	FATHOM_OPAQUE(e);
	if (fathom_unlikely(depth >= FATHOM_SHADOW_DEPTH ||
			    fathom_word_differs(&e->slot, (uintptr_t)slot) ||
			    fathom_word_differs(&e->flags, fathom_load(&fathom_graph_plain)) ||
			    !fathom_ring_look(h->ring, EXIT_BYTES, &at, &h->time, &delta)))
		return GRAPH_NOT;
	graph_guard(h->task);
	/* G6: is it still there, now that nobody moves it? A wrong return address would be fatal. */
	if (fathom_unlikely(fathom_word_differs(&e->slot, (uintptr_t)slot) ||
			    !(to = fathom_ring_grab(h->ring, EXIT_BYTES, at, delta)))) {
		fathom_guard_leave(h->task, 0);
		return GRAPH_NOT;
	}
	graph_put_exit(to, e->func, (uint32_t)depth, h->task->overrun, e->calltime, h->time,
		       fathom_port_context(pin));
	if (ret) {
		*ret = e->ret;
		e->ret = 0;
	}
	e->slot = 0; /* G1 */
	fathom_task_move(h->task, depth, 0);
	return graph_close(h, at, EXIT_BYTES);
}

#endif
