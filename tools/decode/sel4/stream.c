/* SPDX-License-Identifier: MIT */
/* stream.c -- the events of a seL4 16-bit stream: one at a time, or only the rare ones of a block at once. */
#include "decode/sel4/stream.h"

#include <string.h>

/* Events that must decode in a row before a place is believed after an unknown marker or a gap. */
#define RESYNC_EVENTS 5u

/* How far sel4_boundary() looks. A writer would have to put a marker into every eight words to make it fail. */
#define BOUNDARY_SEARCH 4096u

static bool plausible(const uint16_t *w, size_t n, const struct sel4_dict *d)
{
	size_t at = 0;

	for (unsigned i = 0; i < RESYNC_EVENTS && at < n; i++) {
		uint32_t v = w[at];

		if (wire_sel4_is_marker(v)) {
			uint32_t type = wire_sel4_marker_type(v);

			if (type == WIRE_SEL4_UNKNOWN)
				return false;
			if (type == WIRE_SEL4_INIT_PT && at + 4 < n && w[at + 4] > 4)
				return false;
			at += wire_sel4_words(type);
		} else if (v < 0x200u) {
			if (v & 1u)
				return false;
			at++;
		} else if (sel4_dict_has(d, v >> 1)) {
			at++;
		} else {
			return false;
		}
	}
	return true;
}

uint32_t sel4_resync(const uint16_t *w, size_t n, const struct sel4_dict *d)
{
	for (uint32_t skip = 0; skip < WIRE_SEL4_WORDS_MAX && skip < n; skip++)
		if (plausible(w + skip, n - skip, d))
			return skip;
	return 0;
}

uint32_t sel4_step(const uint16_t *w, size_t n, bool last, const struct sel4_dict *d,
		   uint32_t *type)
{
	uint32_t v = w[0], words;

	if (!wire_sel4_is_special(v)) {
		*type = v & 1u ? WIRE_SEL4_FUNC_ENTER : WIRE_SEL4_FUNC_EXIT;
		return 1;
	}
	if (v < 0x200u) {
		*type = WIRE_SEL4_VMID;
		return 1;
	}
	*type = wire_sel4_marker_type(v);
	if (*type == WIRE_SEL4_UNKNOWN) {
		if (n < SEL4_AHEAD && !last)
			return 0;
		return 1 + sel4_resync(w + 1, n - 1 < SEL4_AHEAD ? n - 1 : SEL4_AHEAD - 1, d);
	}
	words = wire_sel4_words(*type);
	if (words > n) {
		if (!last)
			return 0;
		*type = WIRE_SEL4_CUT;
		return (uint32_t)n;
	}
	if (*type == WIRE_SEL4_TRACEPOINT && w[1] == WIRE_SEL4_TIMESTAMP_ID)
		*type = WIRE_SEL4_TIMESTAMP;
	return words;
}

size_t sel4_boundary(const uint16_t *w, size_t n, size_t from)
{
	size_t end = n - from > BOUNDARY_SEARCH ? from + BOUNDARY_SEARCH : n;
	size_t clear = 0; /* words before `i` that are surely no marker */

	for (size_t i = from; i < end; i++) {
		if (clear == WIRE_SEL4_WORDS_MAX - 1)
			return i;
		clear = wire_sel4_is_marker(w[i]) ? 0 : clear + 1;
	}
	return n;
}

void sel4_state_init(struct sel4_state *st)
{
	memset(st, 0, sizeof(*st));
	st->tcb = SEL4_NO_TCB;
	st->vmid = -1;
}

static void state_stamp(struct sel4_state *st, uint64_t raw)
{
	uint64_t now;

	/* The clock has 48 bits: a value far below the last one means that it went round. */
	if (st->time_known && raw < st->time_raw && st->time_raw - raw > 1ull << 47)
		st->wraps++;
	now = raw | (uint64_t)st->wraps << 48;
	if (!st->time_known || now > st->time)
		st->time = now;
	st->time_raw = raw;
	st->time_known = true;
}

void sel4_state_special(struct sel4_state *st, uint32_t type, const uint16_t *w)
{
	switch (type) {
	case WIRE_SEL4_VMID: st->vmid = w[0] >> 1; break;
	case WIRE_SEL4_THREAD: st->tcb = wire_sel4_get48(w + 1); break;
	case WIRE_SEL4_TIMESTAMP: state_stamp(st, wire_sel4_get48(w + 2)); break;
	case WIRE_SEL4_KERNEL_ENTRY:
		st->entry_known = st->time_known;
		st->entry_time = st->time;
		st->depth = 0;
		st->depth_known = true;
		break;
	case WIRE_SEL4_KERNEL_EXIT:
		if (st->entry_known && st->entry_time + wire_sel4_get32(w + 1) > st->time)
			st->time = st->entry_time + wire_sel4_get32(w + 1);
		st->entry_known = false;
		st->depth = 0;
		st->depth_known = true;
		break;
	default: break;
	}
}

static uint64_t count_odd(const uint16_t *w, size_t n)
{
	uint64_t odd = 0;

	for (size_t i = 0; i < n; i++)
		odd += w[i] & 1u;
	return odd;
}

/* Where a block's functions are counted from for the depth: after the last kernel entry or exit. */
struct depth_mark {
	size_t at;
	uint64_t event;
	uint64_t odd_operands; /* of special events since */
	uint64_t specials;
};

static void depth_end(struct sel4_bulk *b, const struct depth_mark *m, const uint16_t *w,
		      size_t end, uint64_t odd_of_block)
{
	uint64_t odd = m->at ? count_odd(w + m->at, end - m->at) : odd_of_block;
	int64_t enters = (int64_t)(odd - m->odd_operands);
	int64_t functions = (int64_t)(b->state.event - m->event - m->specials);

	b->state.depth += 2 * enters - functions;
}

size_t sel4_bulk_block(struct sel4_bulk *b, const uint16_t *w, size_t n, bool last)
{
	uint64_t first = b->state.event, odd = 0, odd_operands = 0, operands = 0, specials = 0;
	size_t nr = b->scan(w, n, b->at, &odd), next = 0, end = n;
	struct depth_mark mark = {.event = first};

	for (size_t i = 0; i < nr; i++) {
		struct sel4_special s;
		size_t at = b->at[i];
		uint64_t o;

		if (at < next)
			continue;
		s.nr_words = sel4_step(w + at, n - at + b->ahead, last, b->dict, &s.type);
		if (s.nr_words > n - at) { /* of a damaged index: the block ends within an event */
			s.nr_words = (uint32_t)(n - at);
			s.type = WIRE_SEL4_CUT;
		}
		if (!s.nr_words) {
			end = at;
			odd -= count_odd(w + at, n - at);
			break;
		}
		s.event = first + at - operands;
		s.word = b->word + at;
		s.w = w + at;
		sel4_state_special(&b->state, s.type, s.w);
		s.vmid = b->state.vmid;
		b->count[s.type]++;
		b->found(b->arg, &s);
		specials++;
		o = count_odd(w + at + 1, s.nr_words - 1);
		odd_operands += o;
		mark.odd_operands += o;
		mark.specials++;
		operands += s.nr_words - 1;
		next = at + s.nr_words;
		if (s.type == WIRE_SEL4_KERNEL_ENTRY || s.type == WIRE_SEL4_KERNEL_EXIT)
			mark = (struct depth_mark){.at = next, .event = s.event + 1};
	}
	b->state.event = first + end - operands;
	depth_end(b, &mark, w, end, odd);
	b->count[WIRE_SEL4_FUNC_ENTER] += odd - odd_operands;
	b->count[WIRE_SEL4_FUNC_EXIT] += end - operands - specials - (odd - odd_operands);
	b->word += end;
	return end;
}
