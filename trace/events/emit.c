/* SPDX-License-Identifier: MIT */
/* emit.c -- events off the fast path: page ends, nesting; filters, triggers, stacks, for which records are built beside the ring. */
#include "events/lock.h"
#include "fathom/inside/emit.h"
#include "wire/copy.h"

/* One copy of each for what is not the ordinary case of an event that is on. */
static __attribute__((__noinline__)) void *emit_reserve(struct fathom_emit *e)
{
	return fathom_ring_reserve(e->ring, e->bytes, &e->slot);
}

static __attribute__((__noinline__)) void emit_commit(const struct fathom_emit *e)
{
	fathom_ring_commit(e->ring, &e->slot);
}

/*
 * Scratch is a stack: events nest, so what an interrupt takes it gives back before the interrupted event goes on, and
 * plain loads and stores on the CPU's own counter do. NULL: there is no room; the record goes straight into the ring and is
 * taken back if the gate says no.
 */
static void *emit_scratch(const struct fathom_emit *e)
{
	uint32_t take = (e->bytes + 15) & ~15u, used = fathom_core.scratch_used[e->cpu];

	if (e->bytes > FATHOM_SCRATCH_BYTES || take > FATHOM_SCRATCH_BYTES - used)
		return NULL;
	__atomic_store_n(&fathom_core.scratch_used[e->cpu], used + take, __ATOMIC_RELAXED);
	return fathom_core.scratch[e->cpu] + used;
}

/* An event that is on while nothing records (tracing_on 0) costs less than a record: the ring refuses and counts it here. */
static void *emit_room(struct fathom_emit *e)
{
	e->scratch = NULL;
	if (!FATHOM_ATTACH || e->state == FATHOM_EVENT_ON)
		return fathom_ring_refuses(e->ring)
			       ? NULL
			       : fathom_ring_reserve(e->ring, e->bytes, &e->slot);
	e->scratch = emit_scratch(e);
	return e->scratch ? e->scratch : emit_reserve(e);
}

#if FATHOM_DEBUG
/* A record is open on this CPU: whoever makes another has interrupted it, and its context must say so. */
static void emit_see_context(const struct fathom_emit *e, const void *record)
{
	const uint32_t inside = WIRE_FLAG_HARDIRQ | WIRE_FLAG_SOFTIRQ | WIRE_FLAG_NMI;

	if (!e->scratch && !FATHOM_POS_SAME(fathom_load(&e->ring->commit), e->slot.before) &&
	    !(wire_context(record) & inside))
		fathom_store(&fathom_port_seen.flat, 1);
}
#else
#define emit_see_context(e, record) ((void)0)
#endif

void *fathom_emit_cold(struct fathom_event *ev, uint32_t bytes, struct fathom_emit *e)
{
	void *record = NULL;

	e->state = fathom_event_state(ev);
	if (!(e->state & (FATHOM_EVENT_ON | FATHOM_EVENT_GATE)))
		return NULL;
	e->pin = fathom_port_pin();
	e->cpu = fathom_port_cpu();
	e->bytes = bytes;
	if (e->cpu >= fathom_core.nr_cpus) {
		__atomic_fetch_add(&fathom_core.no_cpu, 1, __ATOMIC_RELAXED);
	} else {
		e->ring = fathom_load(&fathom_hot.ring[e->cpu]);
		record = emit_room(e);
	}
	if (!record) {
		fathom_port_unpin(e->pin);
		return NULL;
	}
	fathom_emit_common(record, ev->id, e->pin);
	emit_see_context(e, record);
	return record;
}

/* The record's time; 0: it is not in the ring. */
static uint64_t emit_copy(struct fathom_emit *e)
{
	void *to = emit_reserve(e);

	if (!to)
		return 0;
	wire_copy(to, e->scratch, e->bytes);
	emit_commit(e);
	return e->slot.time;
}

/* Something is attached to the event: it is asked, and the record kept or not. */
static void emit_gate(struct fathom_event *ev, struct fathom_emit *e)
{
	const void *record = e->scratch ? e->scratch : e->slot.data;
	uint32_t context = wire_context(record);
	uint32_t answer = FATHOM_GATE_KEEP;
	uint64_t time = 0;

	if ((e->state & FATHOM_EVENT_GATE) && fathom_gate.decide)
		answer = fathom_gate.decide(ev, record, e->bytes);
	if (!(e->state & FATHOM_EVENT_ON))
		answer &= ~(uint32_t)FATHOM_GATE_KEEP;
	if (e->scratch && (answer & FATHOM_GATE_KEEP))
		time = emit_copy(e);
	else if (!e->scratch && (answer & FATHOM_GATE_KEEP))
		emit_commit(e);
	else if (!e->scratch)
		fathom_ring_discard(e->ring, &e->slot);
	if ((answer & FATHOM_GATE_AFTER) && fathom_gate.after)
		fathom_gate.after(ev, e->scratch, e->scratch ? e->bytes : 0, context,
				  !(answer & FATHOM_GATE_CALL) ? 0
				  : time		       ? time
							       : fathom_now());
	if ((answer & FATHOM_GATE_KEEP) && (e->state & FATHOM_EVENT_STACK) && fathom_gate.stack)
		fathom_gate.stack(context);
	if (e->scratch)
		__atomic_store_n(&fathom_core.scratch_used[e->cpu],
				 (uint32_t)(e->scratch - fathom_core.scratch[e->cpu]),
				 __ATOMIC_RELAXED);
}

void fathom_emit_cold_end(struct fathom_event *ev, struct fathom_emit *e)
{
	if (FATHOM_ATTACH && e->state != FATHOM_EVENT_ON)
		emit_gate(ev, e);
	else
		emit_commit(e);
	fathom_port_unpin(e->pin);
}

static inline __attribute__((__always_inline__)) void emit_put(void *record, const uint32_t *w,
							       uint32_t nr)
{
	uint32_t *to = (uint32_t *)record + sizeof(struct wire_common) / 4;

	for (uint32_t i = 0; i < nr; i++)
		to[i] = w[i];
}

__attribute__((__cold__)) void fathom_publish_rest(uintptr_t pin, unsigned long end,
						   struct fathom_ring *ring, uint64_t time)
{
	fathom_ring_publish(ring, end, time);
	fathom_port_unpin(pin);
}

/* What fathom_emit_try() refused. */
static __attribute__((__noinline__, __cold__)) void emit_words_cold(const uint32_t *w, uint32_t nr,
								    struct fathom_event *ev)
{
	struct fathom_emit e;
	void *record = fathom_emit_cold(ev, sizeof(struct wire_common) + nr * 4, &e);

	if (!record)
		return;
	emit_put(record, w, nr);
	fathom_emit_cold_end(ev, &e);
}

/* Flattened into its callers, where `nr` is constant: the words stay in registers. */
static inline __attribute__((__always_inline__)) void emit_words(const uint32_t *w, uint32_t nr,
								 struct fathom_event *ev)
{
	uint32_t bytes = sizeof(struct wire_common) + nr * 4;
	struct fathom_try t;
	void *record = fathom_emit_try(ev, bytes, &t);

	if (FATHOM_LIKELY(record)) {
		emit_put(record, w, nr);
		fathom_emit_try_end(&t, bytes);
	} else {
		const uint32_t again[] = {w[0], w[nr / 2], w[nr - 1]};

		emit_words_cold(again, nr, ev);
	}
}

__attribute__((__flatten__)) void fathom_emit_words1(uint32_t a, struct fathom_event *ev)
{
	emit_words(&a, 1, ev);
}

__attribute__((__flatten__)) void fathom_emit_words2(uint32_t a, uint32_t b,
						     struct fathom_event *ev)
{
	const uint32_t w[] = {a, b};

	emit_words(w, 2, ev);
}

__attribute__((__flatten__)) void fathom_emit_words3(uint32_t a, uint32_t b, uint32_t c,
						     struct fathom_event *ev)
{
	const uint32_t w[] = {a, b, c};

	emit_words(w, 3, ev);
}
