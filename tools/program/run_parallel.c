/* SPDX-License-Identifier: MIT */
/* run_parallel.c -- a program whose maps only gather, over events in any order: a thread for each stream. */
#include "program/run.h"

#include <pthread.h>

struct share {
	struct runner *main;
	uint64_t last; /* latest time seen: that of the END probe */
	pthread_mutex_t lock;
};

bool parallel_is_possible(const struct runner *r)
{
	uint32_t i;

	if (r->c->orders || r->nr_ticks || !r->nr_types)
		return false;
	for (i = 0; i < r->c->nr_maps; i++)
		if (r->c->maps[i].is_read)
			return false;
	return true;
}

static void finish(struct share *s, struct runner *r)
{
	pthread_mutex_lock(&s->lock);
	machine_merge(&s->main->machine, &r->machine);
	s->main->cut += r->cut;
	if (r->machine.now > s->last)
		s->last = r->machine.now;
	pthread_mutex_unlock(&s->lock);
}

static int stream(void *arg, struct scan *sc, uint32_t number)
{
	struct share *s = arg;
	struct runner r;
	const struct event *e;
	int err = runner_init(&r, s->main->c, s->main->o, s->main->machine.out);

	(void)number;
	r.machine.started = s->main->machine.started;
	while (!err && (e = scan_next(sc)))
		runner_event(&r, e);
	if (!err)
		finish(s, &r);
	runner_free(&r);
	return err;
}

int parallel_run(struct runner *r)
{
	struct share s = {.main = r, .lock = PTHREAD_MUTEX_INITIALIZER};
	struct scan_options so = {.order = SCAN_BY_STREAM, .threads = r->o->threads};
	int err = scan_each(r->source, &r->choice, &so, stream, &s);

	if (s.last > r->machine.now)
		r->machine.now = s.last;
	return err;
}
