/* SPDX-License-Identifier: MIT */
/* merge.c -- the k-way merge of streams in the order of time, ties to the lowest stream. */
#include "decode/source.h"

#include <stdlib.h>

/*
 * A binary heap of slots, one per stream that has an event left, each with a run of events read at once. The event given
 * last is advanced only at the next call: its data must stay valid until then (S2).
 */
static bool before(const struct merge *m, uint32_t a, uint32_t b)
{
	if (m->keys[a] != m->keys[b])
		return m->keys[a] < m->keys[b];
	return a < b;
}

static void sift_down(struct merge *m, uint32_t i)
{
	uint32_t slot = m->heap[i];

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= m->nr_heap)
			break;
		if (child + 1 < m->nr_heap && before(m, m->heap[child + 1], m->heap[child]))
			child++;
		if (!before(m, m->heap[child], slot))
			break;
		m->heap[i] = m->heap[child];
		i = child;
	}
	m->heap[i] = slot;
}

/* What the top must stay before to remain the top. */
static void set_bound(struct merge *m)
{
	uint32_t slot;

	m->bound = UINT64_MAX;
	if (m->nr_heap < 2)
		return;
	slot = m->heap[1];
	if (m->nr_heap > 2 && before(m, m->heap[2], slot))
		slot = m->heap[2];
	m->bound = m->keys[slot];
	if (m->heap[0] < slot && m->bound != UINT64_MAX)
		m->bound++;
}

/* Stands for the run of the event given last when there is none. */
static struct merge_run no_run = {.at = no_run.events, .end = no_run.events};

static void forget_given(struct merge *m)
{
	m->given = MERGE_NONE;
	m->run = &no_run;
}

/* Read the next events of a slot. False: its stream is at the end. */
static bool refill(struct merge *m, uint32_t slot)
{
	struct merge_run *r = &m->runs[slot];
	struct cursor *c = m->cursors[slot];
	uint32_t nr;

	if (m->skip) {
		uint64_t block = m->skip(m->skip_arg, c->stream, c->next.block);

		if (block != c->next.block)
			m->source->ops->seek(c, block);
	}
	nr = m->source->ops->next_run ? m->source->ops->next_run(c, r->events, MERGE_RUN)
				      : cursor_next(c, &r->events[0]);
	r->at = r->events;
	r->end = r->events + nr;
	return nr != 0;
}

/* Go to the next event of a slot. False: there is none. */
static bool step(struct merge *m, uint32_t slot)
{
	struct merge_run *r = &m->runs[slot];

	if (++r->at >= r->end && !refill(m, slot))
		return false;
	m->keys[slot] = r->at->time;
	return true;
}

struct merge *merge_open(struct source *s,
			 bool (*keep)(const struct source *s, uint32_t stream, void *arg),
			 void *arg)
{
	struct merge *m = calloc(1, sizeof(*m));
	size_t n = s->nr_streams ? s->nr_streams : 1;

	if (!m)
		return NULL;
	m->source = s;
	m->cursors = calloc(n, sizeof(*m->cursors));
	m->runs = calloc(n, sizeof(*m->runs));
	m->heap = calloc(n, sizeof(*m->heap));
	m->keys = calloc(n, sizeof(*m->keys));
	if (!m->cursors || !m->runs || !m->heap || !m->keys) {
		merge_close(m);
		return NULL;
	}
	for (uint32_t i = 0; i < s->nr_streams; i++) {
		if ((!s->streams[i].nr_blocks && !s->map_room) || (keep && !keep(s, i, arg)))
			continue;
		m->cursors[m->nr] = cursor_open(s, i);
		if (!m->cursors[m->nr]) {
			merge_close(m);
			return NULL;
		}
		m->nr++;
	}
	merge_restart(m);
	return m;
}

void merge_close(struct merge *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; m->cursors && i < m->nr; i++)
		cursor_close(m->cursors[i]);
	free(m->cursors);
	free(m->runs);
	free(m->heap);
	free(m->keys);
	free(m);
}

void merge_restart(struct merge *m)
{
	m->nr_heap = 0;
	m->peeked = MERGE_NONE;
	forget_given(m);
	for (uint32_t i = 0; i < m->nr; i++) {
		if (!refill(m, i))
			continue;
		m->keys[i] = m->runs[i].at->time;
		m->heap[m->nr_heap++] = i;
	}
	for (uint32_t i = m->nr_heap / 2; i-- > 0;)
		sift_down(m, i);
	set_bound(m);
}

void merge_resume(struct merge *m)
{
	uint32_t had = m->nr_heap;

	for (uint32_t slot = 0; slot < m->nr; slot++) {
		uint32_t i = 0;

		while (i < had && m->heap[i] != slot)
			i++;
		if (i < had || !refill(m, slot))
			continue;
		m->keys[slot] = m->runs[slot].at->time;
		m->heap[m->nr_heap++] = slot;
	}
	for (uint32_t i = m->nr_heap / 2; i-- > 0;)
		sift_down(m, i);
	set_bound(m);
}

/* Move the slot of the event given last, which is the top, to its next one. */
static void advance(struct merge *m)
{
	bool more = step(m, m->given);

	if (more && m->keys[m->given] < m->bound)
		return;
	if (!more)
		m->heap[0] = m->heap[--m->nr_heap];
	if (m->nr_heap)
		sift_down(m, 0);
	set_bound(m);
}

const struct event *merge_next_slow(struct merge *m)
{
	if (m->given != MERGE_NONE)
		advance(m);
	if (!m->nr_heap) {
		forget_given(m);
		return NULL;
	}
	m->given = m->heap[0];
	m->run = &m->runs[m->given];
	m->number++;
	return m->run->at;
}

const struct event *merge_peek(struct merge *m)
{
	uint32_t slot = m->given, nr = m->nr_heap;

	m->peeked = MERGE_NONE;
	if (slot == MERGE_NONE)
		return NULL;
	advance(m);
	forget_given(m);
	if (m->nr_heap != nr)
		return NULL;
	m->peeked = slot;
	return m->runs[slot].at;
}

static uint32_t buffer_of(const struct merge *m, uint32_t slot)
{
	return m->source->streams[m->cursors[slot]->stream].buffer;
}

const struct event *merge_peek_buffer(struct merge *m)
{
	uint32_t buffer;

	m->peeked = MERGE_NONE;
	if (m->given == MERGE_NONE)
		return NULL;
	buffer = buffer_of(m, m->given);
	advance(m);
	forget_given(m);
	if (m->source->nr_buffers == 1 && m->nr_heap)
		m->peeked = m->heap[0];
	for (uint32_t i = 0; m->source->nr_buffers > 1 && i < m->nr_heap; i++) {
		uint32_t slot = m->heap[i];

		if (buffer_of(m, slot) == buffer &&
		    (m->peeked == MERGE_NONE || before(m, slot, m->peeked)))
			m->peeked = slot;
	}
	return m->peeked == MERGE_NONE ? NULL : m->runs[m->peeked].at;
}

void merge_drop(struct merge *m)
{
	uint32_t slot = m->peeked, i = 0;
	uint64_t before;

	if (slot == MERGE_NONE)
		return;
	m->peeked = MERGE_NONE;
	m->number++;
	while (m->heap[i] != slot)
		i++;
	before = m->keys[slot];
	if (step(m, slot) && m->keys[slot] >= before) {
		sift_down(m, i);
		set_bound(m);
		return;
	}
	if (m->runs[slot].at == m->runs[slot].end)
		m->heap[i] = m->heap[--m->nr_heap];
	/* It may have to go up: rare enough to rebuild the heap. */
	for (i = m->nr_heap / 2; i-- > 0;)
		sift_down(m, i);
	set_bound(m);
}

/* The event given last is still the top of the heap: it was not advanced. */
void merge_unget(struct merge *m)
{
	if (m->given == MERGE_NONE)
		return;
	m->keys[m->given] = m->run->at->time;
	forget_given(m);
	m->number--;
}

/* Portions, a few tens of kilobytes each: in a turn of a thread, and ahead of all cursors together. */
#define TURN_TOTAL  4u
#define AHEAD_TOTAL 64u

void merge_share(struct merge *m, uint32_t threads)
{
	const struct source_ops *ops = m->source->ops;
	uint32_t most;

	if (!ops->ahead || !m->nr)
		return;
	most = AHEAD_TOTAL / m->nr > 1 ? AHEAD_TOTAL / m->nr : 1;
	m->turn = TURN_TOTAL / m->nr > 1 ? TURN_TOTAL / m->nr : 1;
	m->ahead = m->turn * threads - 1 < most ? m->turn * threads - 1 : most;
	for (uint32_t i = 0; i < m->nr; i++)
		ops->ahead(m->cursors[i], m->ahead, true);
}

static bool help_from(struct merge *m, uint32_t distance)
{
	for (; distance <= m->ahead; distance++)
		for (uint32_t i = 0; i < m->nr; i++)
			if (m->source->ops->ahead(m->cursors[i], distance, false))
				return true;
	return false;
}

bool merge_help(struct merge *m)
{
	return help_from(m, 1);
}

/* The turns of the others come before the next one of this thread. */
bool merge_prepare(struct merge *m)
{
	return help_from(m, m->ahead >= m->turn ? m->ahead - m->turn + 1 : 1);
}

void merge_skip(struct merge *m, uint64_t (*skip)(void *arg, uint32_t stream, uint64_t block),
		void *arg)
{
	m->skip = skip;
	m->skip_arg = arg;
}

void merge_seek_time(struct merge *m, uint64_t t)
{
	for (uint32_t i = 0; i < m->nr; i++)
		cursor_seek_time(m->cursors[i], t);
	merge_restart(m);
}

void merge_seek_start(struct merge *m)
{
	for (uint32_t i = 0; i < m->nr; i++)
		cursor_seek(m->cursors[i], (struct position){0, 0});
	m->number = 0;
	merge_restart(m);
}
