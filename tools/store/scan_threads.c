/* SPDX-License-Identifier: MIT */
/* scan_threads.c -- where order does not matter: the streams of a choice, several at a time. */
#include "store/scan.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#define THREADS_MAX 8

struct crowd {
	struct source *source;
	const struct scan_choice *choice;
	struct scan_options o;
	int (*fn)(void *arg, struct scan *sc, uint32_t stream);
	void *arg;
	uint32_t next; /* stream to be taken next */
	int error;     /* the first one */
};

static int one_stream(struct crowd *c, uint32_t stream)
{
	struct scan_options o = c->o;
	struct scan *sc;
	int err;

	o.order = SCAN_BY_STREAM;
	o.only_stream = true;
	o.stream = stream;
	o.progress = NULL; /* the callback is called by one thread only */
	sc = scan_open(c->source, c->choice, &o);
	err = sc ? c->fn(c->arg, sc, stream) : -ENOMEM;
	scan_close(sc);
	return err;
}

static void *work(void *arg)
{
	struct crowd *c = arg;

	for (;;) {
		uint32_t stream = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED);
		int err = 0, none = 0;

		if (stream >= c->source->nr_streams || __atomic_load_n(&c->error, __ATOMIC_RELAXED))
			return NULL;
		if (scan_stream(c->choice, c->source, stream))
			err = one_stream(c, stream);
		if (err)
			__atomic_compare_exchange_n(&c->error, &none, err, false, __ATOMIC_RELAXED,
						    __ATOMIC_RELAXED);
	}
}

int scan_each(struct source *s, const struct scan_choice *c, const struct scan_options *o,
	      int (*fn)(void *arg, struct scan *sc, uint32_t stream), void *arg)
{
	struct crowd crowd = {.source = s, .choice = c, .fn = fn, .arg = arg};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t ids[THREADS_MAX];
	long nr = 0;

	if (o)
		crowd.o = *o;
	if (o && o->threads)
		cpus = (long)o->threads;
	if (cpus > THREADS_MAX)
		cpus = THREADS_MAX;
	while (nr + 1 < cpus && (size_t)nr + 1 < s->nr_streams &&
	       !pthread_create(&ids[nr], NULL, work, &crowd))
		nr++;
	work(&crowd);
	while (nr)
		pthread_join(ids[--nr], NULL);
	return crowd.error;
}

static int count_stream(void *arg, struct scan *sc, uint32_t stream)
{
	uint64_t n = 0;

	(void)stream;
	while (scan_next(sc))
		n++;
	__atomic_fetch_add((uint64_t *)arg, n, __ATOMIC_RELAXED);
	return 0;
}

static int count_types(struct source *s, const struct scan_choice *c, const struct scan_options *o,
		       uint64_t *out)
{
	const struct store_options so = {.no_file = o && o->no_index};
	struct store *st;
	int err = store_open(s, &so, &st);

	for (size_t i = 0; !err && i < c->nr_types; i++)
		*out += store_count(st, c->types[i]);
	if (!err && !c->types)
		*out = st->nr_events;
	store_close(st);
	return err;
}

bool scan_count(struct source *s, const struct scan_choice *c, const struct scan_options *o,
		uint64_t *out)
{
	struct scan_choice rest = *c;

	rest.types = NULL;
	*out = 0;
	if (!scan_is_choosy(&rest))
		return !count_types(s, c, o, out);
	return !scan_each(s, c, o, count_stream, out);
}
