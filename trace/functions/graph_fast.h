/* SPDX-License-Identifier: MIT */
/* graph_fast.h -- the fast halves of function_graph: what an entry and a return do when all is as it nearly always is. */
#ifndef FUNCTIONS_GRAPH_FAST_H
#define FUNCTIONS_GRAPH_FAST_H

#include "arch/arch.h"
#include "fathom/inside/emit.h"
#include "functions/function_fast.h"
#include "functions/shadow.h"
#include "functions/tracers.h"

/* The entries are all fast path: the ring's and the port's inline functions go in too. */
#ifdef __clang__
#define FLATTEN __attribute__((flatten))
#else
#define FLATTEN __attribute__((flatten, optimize("omit-frame-pointer")))
#endif

#define ENTRY_BYTES (12 + (uint32_t)sizeof(uintptr_t)) /* common, func, depth */
#define EXIT_BYTES  (32 + (uint32_t)sizeof(uintptr_t)) /* and overrun, calltime, rettime */

static inline void graph_put_entry(uint8_t *to, uintptr_t ip, uint32_t depth, uint32_t context)
{
	struct fathom_rec_funcgraph_entry *r = (void *)to;

	fathom_put_common(to, WIRE_ID_FUNCGRAPH_ENTRY, context);
	r->func = ip;
	r->depth = (int32_t)depth;
}

/* One member after the other: where registers are few the compiler would load all first, and save registers for them. */
#if FATHOM_FROM_MEMORY
#define GRAPH_APART() fathom_local_barrier()
#else
#define GRAPH_APART() ((void)0)
#endif
static inline void graph_put_exit(uint8_t *to, uintptr_t func, uint32_t depth, uint32_t overrun,
				  uint64_t calltime, uint64_t now, uint32_t context)
{
	struct fathom_rec_funcgraph_exit *r = (void *)to;

	r->func = func;
	GRAPH_APART();
	fathom_put_common(to, WIRE_ID_FUNCGRAPH_EXIT, context);
	GRAPH_APART();
	r->depth = (int32_t)depth;
	r->overrun = overrun;
	GRAPH_APART();
	r->calltime = fathom_to_ns(calltime);
	GRAPH_APART();
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
	h->task = fathom_port_task_state();
	if (fathom_unlikely(!h->task))
		return 0;
	FATHOM_OPAQUE(h->task);
	h->ring = fathom_ring_quick();
	return 1;
}

/* Others keep off the shadow stack, but for pushing on top of it. */
static inline __attribute__((always_inline)) void graph_guard(struct fathom_task *task)
{
	fathom_local_barrier();
	fathom_store(&task->busy, GUARD_FAST);
	fathom_local_barrier();
}

/* Where registers are few, its address in one of them. */
static inline __attribute__((always_inline)) struct fathom_shadow *graph_at(
	struct fathom_task *task, uint64_t depth)
{
	struct fathom_shadow *e = &task->shadow[depth];

#if FATHOM_FROM_MEMORY
	FATHOM_OPAQUE(e);
#endif
	return e;
}

static inline __attribute__((always_inline)) enum graph_result graph_close(struct graph_here *h,
									   unsigned long at,
									   uint32_t bytes)
{
	h->end = fathom_ring_end(at, fathom_ring_words(bytes));
	return fathom_unlikely(fathom_ring_close(h->ring, h->end, h->time)) ? GRAPH_NESTED
									    : GRAPH_DONE;
}

/* `hijack`: what the return address is replaced by, 0 if it is not */
static inline __attribute__((always_inline)) enum graph_result graph_enter(
	struct graph_here *h, uintptr_t ip, uintptr_t *slot, uintptr_t hijack, uintptr_t pin)
{
	struct fathom_shadow *e;
	unsigned long at;
	struct fathom_look look;
	uintptr_t plain;
	uint64_t depth;
	uint8_t *to;

	if (!graph_here(h))
		return GRAPH_NOT;
	depth = h->task->state; /* far too deep if somebody is busy */
	plain = fathom_load(&fathom_hot.graph_plain);
	if (fathom_unlikely(depth >= FATHOM_SHADOW_DEPTH || h->task->plain != plain ||
			    (depth && h->task->shadow[depth - 1].slot <= (uintptr_t)slot) ||
			    !fathom_ring_look(h->ring, ENTRY_BYTES, &at, &h->time, &look)))
		return GRAPH_NOT;
	/* Few values live across the clock, and the call is written down at once: no register must be saved for them. */
	if (FATHOM_FROM_MEMORY || sizeof(long) < 8) {
		graph_guard(h->task);
		fathom_store(&h->task->depth, (uint32_t)depth + 1);
	} else {
		fathom_task_move(h->task, depth + 1, GUARD_FAST);
	}
	e = graph_at(h->task, depth);
	e->func = CALL_IP(ip);
	e->flags = FATHOM_FROM_MEMORY ? fathom_load(&fathom_hot.graph_plain) : plain;
	if (hijack)
		e->ret = *slot;
	e->calltime = h->time;
	e->slot = (uintptr_t)slot;
	to = fathom_ring_grab(h->ring, ENTRY_BYTES, at, &look);
	if (fathom_unlikely(!to)) {
		FATHOM_OPAQUE(depth); /* computed again, rather than kept in a register */
		h->task->shadow[depth].slot = h->task->shadow[depth].ret = 0; /* G1 */
		fathom_task_move(h->task, depth, 0);
		return GRAPH_NOT;
	}
	graph_put_entry(to, CALL_IP(ip), (uint32_t)depth, fathom_port_context(pin));
	fathom_local_barrier();
	if (hijack)
		*(volatile uintptr_t *)slot = hijack;
	FATHOM_OPAQUE(depth);
	fathom_task_move(h->task, depth + 1, 0);
	return graph_close(h, at, ENTRY_BYTES);
}

/*
 * Take the call that returns at `slot` off the stack, record it, and give back its return address in `*ret` if it was
 * replaced. With FATHOM_ARCH_HOT one that was not is GRAPH_NOT: `*ret` is never 0 after the others.
 */
static inline __attribute__((always_inline)) enum graph_result graph_leave(struct graph_here *h,
									   uintptr_t *slot,
									   uintptr_t *ret,
									   uintptr_t pin)
{
	struct fathom_shadow *e;
	uintptr_t back = 0;
	unsigned long at;
	struct fathom_look look;
	uint64_t depth;
	uint8_t *to;

	if (!graph_here(h))
		return GRAPH_NOT;
	depth = h->task->state - 1; /* far too deep if there is none, or somebody is busy */
	FATHOM_OPAQUE(depth);
	e = graph_at(h->task, depth);
	if (fathom_unlikely(depth >= FATHOM_SHADOW_DEPTH))
		return GRAPH_NOT;
	graph_guard(h->task);
	/* G6: is it there, now that nobody moves it? A wrong return address would be fatal. */
	if (fathom_unlikely(fathom_word_differs(&e->slot, (uintptr_t)slot) ||
			    fathom_word_differs(&e->flags, fathom_load(&fathom_hot.graph_plain)) ||
			    (ret && FATHOM_ARCH_HOT && !(back = e->ret)) ||
			    !fathom_ring_look(h->ring, EXIT_BYTES, &at, &h->time, &look) ||
			    !(to = fathom_ring_grab(h->ring, EXIT_BYTES, at, &look)))) {
		fathom_guard_leave(h->task, 0);
		return GRAPH_NOT;
	}
	graph_put_exit(to, e->func, (uint32_t)depth, h->task->overrun, e->calltime, h->time,
		       fathom_port_context(pin));
	if (ret) {
		*ret = FATHOM_ARCH_HOT ? back : e->ret;
		e->ret = 0;
	}
	e->slot = 0; /* G1 */
	fathom_task_move(h->task, depth, 0);
	return graph_close(h, at, EXIT_BYTES);
}

#endif
