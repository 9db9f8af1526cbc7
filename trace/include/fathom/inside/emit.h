/* SPDX-License-Identifier: MIT */
/* emit.h -- the path of one event into the ring: try, fill in, end. Inline; what is rare goes another way, out of line. */
#ifndef FATHOM_EMIT_H
#define FATHOM_EMIT_H

#include "fathom/inside/event.h"
#include "fathom/inside/internal.h"
#include "fathom/port_default.h"
#include "fathom/inside/ring.h"
#include "fathom/trace.h"

/* Lives on the writer's stack from fathom_emit_cold() to its end. */
struct fathom_emit {
	struct fathom_slot slot;
	struct fathom_ring *ring;
	uint8_t *scratch; /* not NULL: where the record is built, outside the ring */
	uint32_t bytes;
	uint32_t cpu;
	uint32_t state; /* the event's, when it began */
	uintptr_t pin;
};

#define FATHOM_LIKELY(x)   __builtin_expect(!!(x), 1)
#define FATHOM_UNLIKELY(x) __builtin_expect(!!(x), 0)

static inline FATHOM_NOTRACE __attribute__((__always_inline__)) uint32_t fathom_event_state(
	const struct fathom_event *ev)
{
	return fathom_load(&ev->state);
}

/*
 * The end of a fast path that interrupts have recorded in: what fathom_ring_close() asks for, and the unpin. As the last thing that
 * a function does it needs no frame.
 */
void fathom_publish_rest(uintptr_t pin, unsigned long end, struct fathom_ring *ring, uint64_t time);

/* The ring of the running CPU, for the fast paths: never NULL. The caller is pinned. */
static inline FATHOM_NOTRACE __attribute__((__always_inline__)) struct fathom_ring *
fathom_ring_quick(void)
{
	uint32_t cpu = fathom_port_cpu_quick();

#if FATHOM_DEBUG
	if (cpu > FATHOM_CPUS_MAX)
		cpu = FATHOM_CPUS_MAX;
#endif
	/* An index with a sign: a CPU that loads words so (riscv64) need not clear its upper half. */
	return fathom_load(&fathom_hot.ring[(int32_t)cpu]);
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
 * filled in. NULL if anything is out of the ordinary; nothing was changed or counted then, and fathom_emit_cold() does
 * it. Pair with fathom_emit_try_end() if not NULL. Context: any.
 */
static inline FATHOM_NOTRACE void *fathom_emit_try(const struct fathom_event *ev, uint32_t bytes,
						   struct fathom_try *t)
{
	void *record;

	t->pin = fathom_port_pin();
	t->ring = fathom_ring_quick();
	record = fathom_ring_try(t->ring, bytes, &t->at, &t->time);
	if (FATHOM_LIKELY(record))
		fathom_emit_common(record, ev->id, t->pin);
	else
		fathom_port_unpin(t->pin);
	return record;
}

static inline FATHOM_NOTRACE void fathom_emit_try_end(struct fathom_try *t, uint32_t bytes)
{
	unsigned long end = fathom_ring_end(t->at, fathom_ring_words(bytes));

	if (FATHOM_UNLIKELY(fathom_ring_close(t->ring, end, t->time)))
		fathom_publish_rest(t->pin, end, t->ring, t->time);
	else
		fathom_port_unpin(t->pin);
}

/*
 * Any case, for writers that count bytes, not nanoseconds, and for what fathom_emit_try() refused: room for a record of `bytes`,
 * its common fields filled in; NULL if it was refused (and counted). Pair with fathom_emit_cold_end() if not NULL. Context: any.
 */
void *fathom_emit_cold(struct fathom_event *ev, uint32_t bytes, struct fathom_emit *e);
void fathom_emit_cold_end(struct fathom_event *ev, struct fathom_emit *e);

/*
 * The whole of an event that is on and has so many 32-bit fields and no other: one copy for all of them, for code that is
 * compiled for size. Words first: they are where the event's own arguments are.
 */
#ifdef __OPTIMIZE_SIZE__
#define FATHOM_EMIT_WORDS 3
#else
#define FATHOM_EMIT_WORDS 0
#endif
void fathom_emit_words1(uint32_t a, struct fathom_event *ev);
void fathom_emit_words2(uint32_t a, uint32_t b, struct fathom_event *ev);
void fathom_emit_words3(uint32_t a, uint32_t b, uint32_t c, struct fathom_event *ev);
static inline FATHOM_NOTRACE __attribute__((__always_inline__)) void fathom_emit_words(
	const uint32_t *w, uint32_t nr, struct fathom_event *ev)
{
	if (nr == 1)
		fathom_emit_words1(w[0], ev);
	else if (nr == 2)
		fathom_emit_words2(w[0], w[1], ev);
	else
		fathom_emit_words3(w[0], w[1], w[2], ev);
}

#endif
