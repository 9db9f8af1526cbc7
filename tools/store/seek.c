/* SPDX-License-Identifier: MIT */
/* seek.c -- event number N and the n-th of a type: bisect over time, then read one step per stream. */
#include "store/store.h"

#include <errno.h>

/* The number of steps of a stream that begin before t. */
static uint64_t steps_before(const struct store *st, uint32_t stream, uint64_t t)
{
	const struct store_stream *ss = &st->streams[stream];
	const struct store_step *steps = st->steps + ss->first_step;
	uint64_t lo = 0, hi = ss->nr_steps;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (steps[mid].time < t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static uint64_t events_before_step(const struct store *st, uint32_t stream, uint64_t step)
{
	const struct store_stream *ss = &st->streams[stream];

	return step < ss->nr_steps ? st->steps[ss->first_step + step].before : ss->nr_events;
}

/* Events of a type in a stream before a step: the posting at or after it knows; else the last one before. */
static uint64_t type_before_step(const struct store *st, const struct store_type *t,
				 uint32_t stream, uint64_t step)
{
	const struct store_posting *p = st->postings + t->first_posting;
	uint64_t lo = 0, hi = t->nr_postings;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (p[mid].stream < stream || (p[mid].stream == stream && p[mid].step < step))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo && p[lo - 1].stream == stream)
		return p[lo - 1].before + p[lo - 1].count;
	return 0;
}

/* An upper bound on the events (of the type) before t: all steps that begin before t count completely. */
static uint64_t at_most_before(const struct store *st, const struct store_type *type, uint64_t t)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < st->nr_streams; i++) {
		uint64_t steps = steps_before(st, i, t);

		n += type ? type_before_step(st, type, i, steps) : events_before_step(st, i, steps);
	}
	return n;
}

/*
 * Place a cursor before the first event that has reached t; the number of events (of the type) before it. The last step
 * that begins before t is read; those before it are entirely before t (X1).
 */
static uint64_t stand(struct store *st, struct cursor *c, const struct store_type *type, uint64_t t,
		      uint64_t *events)
{
	uint64_t steps = steps_before(st, c->stream, t), step = steps ? steps - 1 : 0, n, reached;
	struct event e;

	n = type ? type_before_step(st, type, c->stream, step) : 0;
	*events += events_before_step(st, c->stream, step);
	cursor_seek(c, (struct position){step * STORE_STEP, 0});
	if (!steps)
		return n;
	reached = st->steps[st->streams[c->stream].first_step + step].time;
	while (cursor_next(c, &e)) {
		if (e.time > reached)
			reached = e.time;
		if (reached >= t) {
			cursor_seek(c, e.at);
			break;
		}
		n += type && e.type == type->id;
		++*events;
	}
	return n;
}

static uint64_t stand_all(struct store *st, struct merge *m, const struct store_type *type,
			  uint64_t t)
{
	uint64_t n = 0, events = 0;

	for (uint32_t i = 0; i < m->nr; i++)
		n += stand(st, m->cursors[i], type, t, &events);
	m->number = events;
	merge_restart(m);
	return type ? n : events;
}

/* The largest t that certainly has no more than n events before it. */
static uint64_t bisect(const struct store *st, const struct store_type *type, uint64_t n)
{
	uint64_t lo = 0, hi = st->last_time;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2 + 1;

		if (at_most_before(st, type, mid) <= n)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

static int walk_to(struct merge *m, const struct store_type *type, uint64_t have, uint64_t n)
{
	const struct event *e;

	while ((e = merge_next(m))) {
		if (type && e->type != type->id)
			continue;
		if (have++ == n) {
			merge_unget(m);
			return 0;
		}
	}
	return -ENOENT;
}

const struct store_type *store_type(const struct store *st, uint32_t id)
{
	for (uint64_t lo = 0, hi = st->nr_types; lo < hi;) {
		uint64_t mid = (lo + hi) / 2;

		if (st->types[mid].id == id)
			return &st->types[mid];
		if (st->types[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

uint64_t store_count(const struct store *st, uint32_t type)
{
	const struct store_type *t;

	if (!st->complete && source_index(st->source))
		return source_index(st->source)->count(st->source, type);
	t = store_type(st, type);
	return t ? t->count : 0;
}

bool store_has_list(struct store *st, uint32_t type)
{
	const struct source_index *own = source_index(st->source);
	struct cursor *c = own && st->source->nr_streams ? cursor_open(st->source, 0) : NULL;
	bool listed = c && own->seek_type(st->source, &c, type, 0) != -ENOTSUP;

	cursor_close(c);
	return listed;
}

int store_seek_number(struct store *st, struct merge *m, uint64_t n)
{
	struct source *s = st->source;
	int err = -ENOTSUP;

	if (n >= st->nr_events)
		return -ENOENT;
	if (source_index(s))
		err = source_index(s)->seek_number(s, m->cursors, n);
	if (err != -ENOTSUP) {
		merge_restart(m);
		m->number = n;
		return err;
	}
	err = store_complete(st);
	if (err)
		return err;
	return walk_to(m, NULL, stand_all(st, m, NULL, bisect(st, NULL, n)), n);
}

int store_seek_type(struct store *st, struct merge *m, uint32_t type, uint64_t n)
{
	const struct store_type *t;
	struct source *s = st->source;
	int err = -ENOTSUP;

	if (source_index(s))
		err = source_index(s)->seek_type(s, m->cursors, type, n);
	if (err != -ENOTSUP) {
		merge_restart(m);
		return err;
	}
	err = store_complete(st);
	t = store_type(st, type);
	if (err || !t || n >= t->count)
		return -ENOENT;
	return walk_to(m, t, stand_all(st, m, t, bisect(st, t, n)), n);
}

uint64_t store_seek_time(struct store *st, struct merge *m, uint64_t t)
{
	if (store_complete(st)) {
		merge_seek_time(m, t);
		return 0;
	}
	return stand_all(st, m, NULL, t);
}
