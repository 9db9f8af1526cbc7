/* SPDX-License-Identifier: MIT */
/* merge.c -- the k-way merge of streams in the order of time, ties to the lowest stream. */
#include "decode/source.h"

#include <stdlib.h>

/*
 * A binary heap of slots, one per stream that has an event left. The event given last is advanced only at the next call:
 * its data must stay valid until then (S2), and a consumer that stops does not read ahead.
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

/* What the top must stay before to remain the top: most events come from the stream of the event before. */
static void set_limit(struct merge *m)
{
	uint32_t slot;

	m->limit = UINT64_MAX;
	m->limit_slot = MERGE_NONE;
	if (m->nr_heap < 2)
		return;
	slot = m->heap[1];
	if (m->nr_heap > 2 && before(m, m->heap[2], slot))
		slot = m->heap[2];
	m->limit = m->keys[slot];
	m->limit_slot = slot;
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
	m->heads = calloc(n, sizeof(*m->heads));
	m->heap = calloc(n, sizeof(*m->heap));
	m->keys = calloc(n, sizeof(*m->keys));
	if (!m->cursors || !m->heads || !m->heap || !m->keys) {
		merge_close(m);
		return NULL;
	}
	for (uint32_t i = 0; i < s->nr_streams; i++) {
		if (keep && !keep(s, i, arg))
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
	free(m->heads);
	free(m->heap);
	free(m->keys);
	free(m);
}

void merge_restart(struct merge *m)
{
	m->nr_heap = 0;
	m->given = m->peeked = MERGE_NONE;
	for (uint32_t i = 0; i < m->nr; i++) {
		if (!cursor_next(m->cursors[i], &m->heads[i]))
			continue;
		m->keys[i] = m->heads[i].time;
		m->heap[m->nr_heap++] = i;
	}
	for (uint32_t i = m->nr_heap / 2; i-- > 0;)
		sift_down(m, i);
	set_limit(m);
}

/* Move the stream of the event given last to its next one. True: that is the next of all. */
static inline bool advance(struct merge *m)
{
	uint32_t slot = m->given;

	if (cursor_next(m->cursors[slot], &m->heads[slot])) {
		uint64_t time = m->heads[slot].time;

		m->keys[slot] = time;
		if (time < m->limit || (time == m->limit && slot < m->limit_slot))
			return true;
	} else {
		m->heap[0] = m->heap[--m->nr_heap];
	}
	if (m->nr_heap)
		sift_down(m, 0);
	set_limit(m);
	return false;
}

const struct event *merge_next(struct merge *m)
{
	if (m->given == MERGE_NONE || !advance(m)) {
		if (!m->nr_heap) {
			m->given = MERGE_NONE;
			return NULL;
		}
		m->given = m->heap[0];
	}
	m->number++;
	return &m->heads[m->given];
}

const struct event *merge_peek(struct merge *m)
{
	uint32_t slot = m->given, nr = m->nr_heap;

	m->peeked = MERGE_NONE;
	if (slot == MERGE_NONE)
		return NULL;
	advance(m);
	m->given = MERGE_NONE;
	if (m->nr_heap != nr)
		return NULL;
	m->peeked = slot;
	return &m->heads[slot];
}

void merge_drop(struct merge *m)
{
	uint32_t slot = m->peeked, i = 0;

	if (slot == MERGE_NONE)
		return;
	m->peeked = MERGE_NONE;
	m->number++;
	while (m->heap[i] != slot)
		i++;
	if (cursor_next(m->cursors[slot], &m->heads[slot])) {
		uint64_t before = m->keys[slot];

		m->keys[slot] = m->heads[slot].time;
		if (m->keys[slot] >= before) {
			sift_down(m, i);
			set_limit(m);
			return;
		}
	} else {
		m->heap[i] = m->heap[--m->nr_heap];
	}
	/* It may have to go up: rare enough to order the heap anew. */
	for (i = m->nr_heap / 2; i-- > 0;)
		sift_down(m, i);
	set_limit(m);
}

/* The event given last is still the top of the heap: it was not advanced. */
void merge_unget(struct merge *m)
{
	if (m->given == MERGE_NONE)
		return;
	m->given = MERGE_NONE;
	m->number--;
}

/* Portions ahead of all cursors together: a few tens of kilobytes each. */
#define AHEAD_TOTAL 64u
#define AHEAD_MAX   7u

void merge_share(struct merge *m)
{
	const struct source_ops *ops = m->source->ops;

	if (!ops->expect || !ops->ahead || !m->nr)
		return;
	m->ahead = AHEAD_TOTAL / m->nr;
	m->ahead = m->ahead > AHEAD_MAX ? AHEAD_MAX : m->ahead ? m->ahead : 1;
	for (uint32_t i = 0; i < m->nr; i++)
		ops->expect(m->cursors[i], m->ahead);
}

bool merge_help(struct merge *m)
{
	for (uint32_t distance = 1; distance <= m->ahead; distance++)
		for (uint32_t i = 0; i < m->nr; i++)
			if (m->source->ops->ahead(m->cursors[i], distance))
				return true;
	return false;
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
