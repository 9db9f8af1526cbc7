/* SPDX-License-Identifier: MIT */
/* emit.h -- the path of one event into the ring: begin, fill in, end. Inline; what is rare is behind one test of the state. */
#ifndef FATHOM_EMIT_H
#define FATHOM_EMIT_H

#include "fathom/inside/event.h"
#include "fathom/inside/internal.h"
#include "fathom/port_default.h"
#include "fathom/inside/ring.h"
#include "fathom/trace.h"

/* Lives on the writer's stack from begin to end. */
struct fathom_emit {
	struct fathom_slot slot;
	struct fathom_ring *ring;
	void *scratch;	/* not NULL: the slow path built the record outside the ring */
	uint32_t bytes; /* the rest: slow path only */
	uint32_t cpu;
	uint32_t state;
	uintptr_t pin;
};

void *fathom_emit_slow(struct fathom_event *ev, uint32_t state, uint32_t bytes,
		       struct fathom_emit *e);
void fathom_emit_slow_end(struct fathom_event *ev, struct fathom_emit *e);
void fathom_emit_refused(void); /* counts an event of a CPU that does not exist */

#define FATHOM_LIKELY(x)   __builtin_expect(!!(x), 1)
#define FATHOM_UNLIKELY(x) __builtin_expect(!!(x), 0)

static inline FATHOM_NOTRACE __attribute__((__always_inline__)) uint32_t fathom_event_state(
	const struct fathom_event *ev)
{
	return fathom_load(&ev->state);
}

/* The eight bytes every record begins with. The caller is pinned, by `pin`. */
static inline FATHOM_NOTRACE void fathom_emit_common(void *record, uint16_t id, uintptr_t pin)
{
	uint32_t context = fathom_port_context(pin);

	fathom_common_put(record, id, context, fathom_port_task());
}

/* What an event holds from try to try_end: in registers, so that its function needs no frame. */
struct fathom_try {
	struct fathom_ring *ring;
	unsigned long at;
	uint64_t time;
	uintptr_t pin;
};

/*
 * The ordinary case of an event that is on and has nothing attached: room for a record of `bytes`, its common fields
 * filled in. NULL if anything is out of the ordinary; nothing was changed or counted then, and fathom_emit_far() does
 * it. Pair with fathom_emit_try_end() if not NULL. Context: any.
 */
static inline FATHOM_NOTRACE void *fathom_emit_try(const struct fathom_event *ev, uint32_t bytes,
						   struct fathom_try *t)
{
	void *record = NULL;
	uint32_t cpu;

	t->pin = fathom_port_pin();
	cpu = fathom_port_cpu_quick();
	if (FATHOM_LIKELY(cpu < fathom_core.nr_cpus)) {
		t->ring = fathom_load(&fathom_core.ring[cpu]);
		record = fathom_ring_try(t->ring, bytes, &t->at, &t->time);
	}
	if (FATHOM_LIKELY(record))
		fathom_emit_common(record, ev->id, t->pin);
	else
		fathom_port_unpin(t->pin);
	return record;
}

static inline FATHOM_NOTRACE void fathom_emit_try_end(struct fathom_try *t, uint32_t bytes)
{
	fathom_ring_try_commit(t->ring, fathom_ring_end(t->at, fathom_ring_words(bytes)), t->time);
	fathom_port_unpin(t->pin);
}

/*
 * Any case: room for a record of `bytes`, its common fields filled in; NULL if it was refused (and counted). Pair with
 * fathom_emit_end() if not NULL. `state` is the event's, read by the caller. Context: any.
 */
static inline FATHOM_NOTRACE void *fathom_emit_start(struct fathom_event *ev, uint32_t state,
						     uint32_t bytes, struct fathom_emit *e)
{
	uint32_t cpu;
	void *record;

	if (FATHOM_UNLIKELY(state != FATHOM_EVENT_ON)) {
		struct fathom_emit slow;

		record = fathom_emit_slow(ev, state, bytes, &slow);
		*e = slow;
		return record;
	}
	e->pin = fathom_port_pin();
	cpu = fathom_port_cpu();
	if (FATHOM_UNLIKELY(cpu >= fathom_core.nr_cpus)) {
		fathom_emit_refused();
		goto out;
	}
	e->ring = fathom_load(&fathom_core.ring[cpu]);
	e->scratch = NULL;
	record = fathom_ring_reserve(e->ring, bytes, &e->slot);
	if (FATHOM_LIKELY(record)) {
		fathom_emit_common(record, ev->id, e->pin);
		return record;
	}
out:
	fathom_port_unpin(e->pin);
	return NULL;
}

static inline FATHOM_NOTRACE void *fathom_emit_begin(struct fathom_event *ev, uint32_t bytes,
						     struct fathom_emit *e)
{
	return fathom_emit_start(ev, fathom_event_state(ev), bytes, e);
}

/* begin and end out of line, for writers that count bytes, not nanoseconds, and for what fathom_emit_try() refused. */
void *fathom_emit_far(struct fathom_event *ev, uint32_t bytes, struct fathom_emit *e);
void fathom_emit_far_end(struct fathom_event *ev, struct fathom_emit *e);

static inline FATHOM_NOTRACE void fathom_emit_end(struct fathom_event *ev, struct fathom_emit *e)
{
	if (FATHOM_UNLIKELY(e->scratch)) {
		struct fathom_emit slow = *e;

		fathom_emit_slow_end(ev, &slow);
		return;
	}
	fathom_ring_commit(e->ring, &e->slot);
	fathom_port_unpin(e->pin);
}

#endif
