/* SPDX-License-Identifier: MIT */
/* summary.c -- what is in a trace, in numbers: counts by event, CPU and task, span, rates, losses. */
#include "view/summary.h"
#include "model/learn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_type_count(const void *a, const void *b)
{
	const struct summary_type *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int by_pid_count(const void *a, const void *b)
{
	const struct summary_pid *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void add_up(struct summary *out)
{
	uint64_t watched = 0;
	bool any = false;

	for (size_t i = 0; i < out->nr_streams; i++) {
		const struct summary_stream *t = &out->streams[i];

		out->nr_events += t->count;
		if (!t->count)
			continue;
		if (!any || t->first < out->first)
			out->first = t->first;
		if (!any || t->last > out->last)
			out->last = t->last;
		any = true;
	}
	for (size_t i = 0; i < out->nr_streams; i++)
		if (out->streams[i].count)
			watched += out->last - out->first;
	/* Where times go back (a board that was reset, files put together), gaps may be longer than all of it. */
	out->observed = watched && out->account.gap_time <= watched
				? 1.0 - (double)out->account.gap_time / (double)watched
				: 1.0;
	out->observed_less = out->account.unplaced || out->account.unplaced_unknown ||
			     out->account.gap_time > watched;
	if (out->nr_types)
		qsort(out->types, out->nr_types, sizeof(*out->types), by_type_count);
	if (out->nr_pids)
		qsort(out->pids, out->nr_pids, sizeof(*out->pids), by_pid_count);
}

void summary_free(struct summary *s)
{
	free(s->types);
	free(s->pids);
	free(s->streams);
	free(s->losses);
	account_free(&s->account);
}

static int from_store(struct store *st, struct summary *out)
{
	int err = store_complete(st);

	memset(out, 0, sizeof(*out));
	if (err)
		return err;
	out->types = calloc(st->nr_types + 1, sizeof(*out->types));
	out->pids = calloc(st->nr_pids + 1, sizeof(*out->pids));
	out->streams = calloc(st->nr_streams + 1ull, sizeof(*out->streams));
	out->losses = calloc(st->nr_losses + 1, sizeof(*out->losses));
	if (!out->types || !out->pids || !out->streams || !out->losses) {
		summary_free(out);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < st->nr_types; i++)
		out->types[out->nr_types++] =
			(struct summary_type){st->types[i].id, st->types[i].count};
	for (uint64_t i = 0; i < st->nr_pids; i++)
		out->pids[out->nr_pids++] =
			(struct summary_pid){st->pids[i].pid, st->pids[i].count};
	for (uint32_t i = 0; i < st->nr_streams; i++)
		out->streams[out->nr_streams++] =
			(struct summary_stream){.stream = i,
						.count = st->streams[i].nr_events,
						.first = st->streams[i].first_time,
						.last = st->streams[i].last_time};
	out->nr_losses = st->nr_losses;
	if (st->nr_losses)
		memcpy(out->losses, st->losses, st->nr_losses * sizeof(*out->losses));
	err = account_make(&out->account, st->source, out->losses, out->nr_losses, true, NULL,
			   NULL);
	if (err)
		summary_free(out);
	else
		add_up(out);
	return err;
}

/* ---- by walking ---- */

struct summary_walk {
	struct source *source;
	uint64_t *by_type;
	struct pid_counts *pids;
	struct losses *losses;
	struct summary_stream *streams;
	uint64_t *seen; /* per stream: time of the last event fed + 1, 0: none */
};

static void walk_free(struct summary_walk *w)
{
	if (!w)
		return;
	free(w->by_type);
	if (w->pids)
		pid_counts_free(w->pids);
	if (w->losses)
		losses_free(w->losses);
	free(w->streams);
	free(w->seen);
	free(w);
}

static struct summary_walk *walk_new(struct source *s)
{
	struct summary_walk *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->source = s;
	w->by_type = calloc(SOURCE_ID_FAST, sizeof(*w->by_type));
	w->pids = pid_counts_new();
	w->losses = losses_new();
	w->streams = calloc(s->nr_streams + 1, sizeof(*w->streams));
	w->seen = calloc(s->nr_streams + 1, sizeof(*w->seen));
	if (w->by_type && w->pids && w->losses && w->streams && w->seen)
		return w;
	walk_free(w);
	return NULL;
}

static void walk_add(struct summary_walk *w, const struct event *e, bool count)
{
	struct summary_stream *t = &w->streams[e->stream];
	uint64_t *seen = &w->seen[e->stream];

	if (e->lost) {
		struct loss l = {.stream = e->stream,
				 .from = *seen ? *seen - 1 : e->time,
				 .to = e->time,
				 .lost = e->lost};

		losses_add(w->losses, &l);
	}
	*seen = e->time + 1;
	if (!count)
		return;
	if (!t->count++)
		t->first = t->last = e->time;
	if (e->time > t->last)
		t->last = e->time;
	w->by_type[e->type < SOURCE_ID_FAST ? e->type : 0]++;
	pid_counts_add(w->pids, e->pid, 1);
}

static void take_pid(int32_t pid, uint64_t n, void *arg)
{
	struct summary *out = arg;

	out->pids[out->nr_pids++] = (struct summary_pid){pid, n};
}

static int walk_finish(struct summary_walk *w, struct summary *out, const struct scan_choice *c)
{
	size_t types = 0;
	int err;

	memset(out, 0, sizeof(*out));
	for (uint32_t t = 0; t < SOURCE_ID_FAST; t++)
		types += w->by_type[t] != 0;
	out->types = calloc(types + 1, sizeof(*out->types));
	out->pids = calloc(pid_counts_nr(w->pids) + 1, sizeof(*out->pids));
	out->losses = calloc(losses_nr(w->losses) + 1, sizeof(*out->losses));
	if (!out->types || !out->pids || !out->losses) {
		summary_free(out);
		walk_free(w);
		return -ENOMEM;
	}
	for (uint32_t t = 0; t < SOURCE_ID_FAST; t++)
		if (w->by_type[t])
			out->types[out->nr_types++] = (struct summary_type){t, w->by_type[t]};
	pid_counts_each(w->pids, take_pid, out);
	for (size_t i = 0; i < losses_nr(w->losses); i++)
		out->losses[out->nr_losses++] = *losses_at(w->losses, i);
	for (size_t i = 0; i < w->source->nr_streams; i++)
		w->streams[i].stream = (uint32_t)i;
	out->streams = w->streams;
	out->nr_streams = w->source->nr_streams;
	w->streams = NULL;
	err = account_make(&out->account, w->source, out->losses, out->nr_losses, scan_is_whole(c),
			   scan_keep, (void *)c);
	walk_free(w);
	if (err)
		summary_free(out);
	else
		add_up(out);
	return err;
}

/* Any filter requires a look at the events, but no order: stream by stream. */
static int from_events(struct source *s, const struct summary_options *o, struct summary *out)
{
	struct scan_options so = {.order = SCAN_BY_STREAM, .progress = o->progress, .arg = o->arg};
	struct summary_walk *w = walk_new(s);
	struct scan *sc = w ? scan_open(s, o->choice, &so) : NULL;
	const struct event *e;
	bool wanted;

	while (sc && (e = scan_next_any(sc, &wanted)))
		walk_add(w, e, wanted);
	if (!sc) {
		walk_free(w);
		return -ENOMEM;
	}
	scan_close(sc);
	return walk_finish(w, out, o->choice);
}

static int from_index(struct source *s, const struct summary_options *o, struct summary *out)
{
	struct store_options so = {.no_file = o->no_index, .progress = o->progress, .arg = o->arg};
	struct store *st;
	int err = store_open(s, &so, &st);

	if (!err)
		err = from_store(st, out);
	store_close(st);
	return err;
}

/* The trace's table lacks tasks that have ended. */
static void learn_names(struct source *s, const struct summary_options *o, const struct summary *m)
{
	size_t nr = m->nr_pids < o->names ? m->nr_pids : o->names;
	int32_t *pids = calloc(nr + 1, sizeof(*pids));

	for (size_t i = 0; pids && i < nr; i++)
		pids[i] = m->pids[i].pid;
	if (pids && nr)
		model_learn_comms(s, pids, nr, o->no_index);
	free(pids);
}

int summary_make(struct source *s, const struct summary_options *o, struct summary *out)
{
	int err = scan_is_choosy(o->choice) ? from_events(s, o, out) : from_index(s, o, out);

	if (!err)
		learn_names(s, o, out);
	return err;
}
