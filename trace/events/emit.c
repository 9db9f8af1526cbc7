/* SPDX-License-Identifier: MIT */
/* emit.c -- the slow half of an event's path: filters, triggers, instances, stacks; the record is built beside the ring. */
#include "fathom/inside/emit.h"
#include "wire/copy.h"

/* Stands for "the record is in the ring": struct fathom_emit may be copied between begin and end. */
static char emit_in_ring;

void fathom_emit_refused(void)
{
	__atomic_fetch_add(&fathom_core.no_cpu, 1, __ATOMIC_RELAXED);
}

/*
 * Scratch is a stack: events nest, so what an interrupt takes it gives back before the interrupted event goes on, and
 * plain loads and stores on the CPU's own counter do. A record that does not fit goes straight into the ring and is
 * taken back if the gate says no.
 */
void *fathom_emit_slow(struct fathom_event *ev, uint32_t state, uint32_t bytes,
		       struct fathom_emit *e)
{
	uint32_t take = (bytes + 15) & ~15u, used;
	void *record;

	if (!(state & (FATHOM_EVENT_ON | FATHOM_EVENT_GATE)))
		return NULL;
	e->pin = fathom_port_pin();
	e->cpu = fathom_port_cpu();
	e->state = state;
	e->bytes = bytes;
	if (e->cpu >= fathom_core.nr_cpus) {
		fathom_emit_refused();
		goto refused;
	}
	e->ring = fathom_core.ring[e->cpu];
	used = fathom_core.scratch_used[e->cpu];
	if (bytes <= FATHOM_SCRATCH_BYTES && take <= FATHOM_SCRATCH_BYTES - used) {
		__atomic_store_n(&fathom_core.scratch_used[e->cpu], used + take, __ATOMIC_RELAXED);
		e->scratch = record = fathom_core.scratch[e->cpu] + used;
	} else {
		record = fathom_ring_reserve(e->ring, bytes, &e->slot);
		e->scratch = &emit_in_ring;
		if (!record)
			goto refused;
	}
	fathom_emit_common(record, ev->id, e->pin);
	return record;
refused:
	fathom_port_unpin(e->pin);
	return NULL;
}

/* The record's time; 0: it is not in the ring. */
static uint64_t emit_copy(struct fathom_emit *e)
{
	void *to = fathom_ring_reserve(e->ring, e->bytes, &e->slot);

	if (!to)
		return 0;
	wire_copy(to, e->scratch, e->bytes);
	fathom_ring_commit(e->ring, &e->slot);
	return e->slot.time;
}

void fathom_emit_slow_end(struct fathom_event *ev, struct fathom_emit *e)
{
	int in_ring = e->scratch == &emit_in_ring;
	const void *record = in_ring ? e->slot.data : e->scratch;
	uint32_t context = wire_context(record);
	uint32_t answer = FATHOM_GATE_KEEP;
	uint64_t time = 0;

	if ((e->state & FATHOM_EVENT_GATE) && fathom_gate.decide)
		answer = fathom_gate.decide(ev, record, e->bytes);
	if (!(e->state & FATHOM_EVENT_ON))
		answer &= ~(uint32_t)FATHOM_GATE_KEEP;
	if (!in_ring && (answer & FATHOM_GATE_KEEP))
		time = emit_copy(e);
	else if (in_ring && (answer & FATHOM_GATE_KEEP))
		fathom_ring_commit(e->ring, &e->slot);
	else if (in_ring)
		fathom_ring_discard(e->ring, &e->slot);
	if ((answer & FATHOM_GATE_AFTER) && fathom_gate.after)
		fathom_gate.after(ev, in_ring ? NULL : record, in_ring ? 0 : e->bytes, context,
				  !(answer & FATHOM_GATE_CALL) ? 0
				  : time		       ? time
							       : fathom_now());
	if ((answer & FATHOM_GATE_KEEP) && (e->state & FATHOM_EVENT_STACK) && fathom_gate.stack)
		fathom_gate.stack(context);
	if (!in_ring)
		__atomic_store_n(&fathom_core.scratch_used[e->cpu],
				 (uint32_t)((const uint8_t *)record - fathom_core.scratch[e->cpu]),
				 __ATOMIC_RELAXED);
	fathom_port_unpin(e->pin);
}

/* Events that are on while nothing records (tracing_on 0) should cost less than recording: refused here, and counted. */
static int emit_is_paused(void)
{
	uintptr_t pin = fathom_port_pin();
	uint32_t cpu = fathom_port_cpu_quick();
	int paused = 0;

	if (cpu < fathom_core.nr_cpus)
		paused = fathom_ring_refuses(fathom_load(&fathom_core.ring[cpu]));
	fathom_port_unpin(pin);
	return paused;
}

void *fathom_emit_far(struct fathom_event *ev, uint32_t bytes, struct fathom_emit *e)
{
	uint32_t state = fathom_event_state(ev);

	if (state == FATHOM_EVENT_ON && emit_is_paused())
		return NULL;
	return fathom_emit_start(ev, state, bytes, e);
}

void fathom_emit_far_end(struct fathom_event *ev, struct fathom_emit *e)
{
	fathom_emit_end(ev, e);
}
