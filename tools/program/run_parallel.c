/* SPDX-License-Identifier: MIT */
/* run_parallel.c -- a program whose maps only gather, over events in any order: threads share the blocks of the trace. */
#include "program/run.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define THREADS_MAX 16u
#define UNIT_BLOCKS 256u /* of a stream, that one thread takes at a time */

struct unit {
	uint32_t stream;
	uint64_t from, to; /* blocks */
};

struct share {
	struct runner *main;
	struct unit *units;
	size_t nr_units;
	size_t next;   /* taken by adding one */
	uint64_t last; /* latest time seen; of the END probe */
	pthread_mutex_t lock;
	int err;
};

bool parallel_is_possible(const struct runner *r)
{
	uint32_t i;

	if (r->c->orders || r->nr_ticks)
		return false;
	for (i = 0; i < r->c->nr_maps; i++)
		if (r->c->maps[i].is_read)
			return false;
	return true;
}

static int units_make(struct share *s)
{
	struct source *src = s->main->source;
	const struct program_options *o = s->main->o;
	uint64_t at;
	uint32_t i;

	for (i = 0; i < src->nr_streams; i++) {
		if (o->keep && !o->keep(src, i, o->arg))
			continue;
		for (at = 0; at < src->streams[i].nr_blocks; at += UNIT_BLOCKS) {
			if (!(s->nr_units & (s->nr_units - 1))) {
				struct unit *more = realloc(
					s->units,
					sizeof(*more) * (s->nr_units ? s->nr_units * 2 : 1));

				if (!more)
					return -ENOMEM;
				s->units = more;
			}
			s->units[s->nr_units++] = (struct unit){i, at, at + UNIT_BLOCKS};
		}
	}
	return 0;
}

static void walk(struct runner *r, struct cursor *c, const struct unit *u)
{
	const struct program_options *o = r->o;
	struct event e;

	cursor_seek(c, (struct position){u->from, 0});
	while (c->next.block < u->to && cursor_next(c, &e) && e.at.block < u->to) {
		if (e.time < o->from || e.time > o->to)
			continue;
		if (e.lost == LOST_UNKNOWN)
			r->lost_unknown = true;
		else
			r->lost += e.lost;
		if (e.time > r->machine.started)
			r->machine.started = e.time; /* here: the latest */
		if (e.type >= SOURCE_ID_FAST || r->by_type[e.type].nr)
			runner_event(r, &e);
	}
}

static void finish(struct share *s, struct runner *r, int err)
{
	struct runner *main = s->main;

	pthread_mutex_lock(&s->lock);
	if (err)
		s->err = err;
	machine_merge(&main->machine, &r->machine);
	main->lost += r->lost;
	main->cut += r->cut;
	main->lost_unknown |= r->lost_unknown;
	if (r->machine.started > s->last)
		s->last = r->machine.started;
	pthread_mutex_unlock(&s->lock);
}

static void *worker(void *arg)
{
	struct share *s = arg;
	struct runner r;
	int err = runner_init(&r, s->main->c, s->main->o, s->main->machine.out);
	struct cursor *c = NULL;
	size_t i;

	while (!err && (i = __atomic_fetch_add(&s->next, 1, __ATOMIC_RELAXED)) < s->nr_units) {
		if (!c || c->stream != s->units[i].stream) {
			if (c)
				cursor_close(c);
			c = cursor_open(s->main->source, s->units[i].stream);
		}
		if (c)
			walk(&r, c, &s->units[i]);
		else
			err = -ENOMEM;
	}
	if (c)
		cursor_close(c);
	finish(s, &r, err);
	runner_free(&r);
	return NULL;
}

int parallel_run(struct runner *r, uint32_t threads)
{
	struct share s = {.main = r, .lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_t ids[THREADS_MAX];
	uint32_t i, nr = 0;

	s.err = units_make(&s);
	threads = threads < THREADS_MAX ? threads : THREADS_MAX;
	for (i = 1; i < threads && !s.err; i++)
		if (!pthread_create(&ids[nr], NULL, worker, &s))
			nr++;
	if (!s.err)
		worker(&s);
	for (i = 0; i < nr; i++)
		pthread_join(ids[i], NULL);
	if (s.last > r->machine.now)
		r->machine.now = s.last;
	free(s.units);
	return s.err;
}
