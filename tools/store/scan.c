/* SPDX-License-Identifier: MIT */
/* scan.c -- a choice of events, one by one: seek, list or walk, chosen once. */
#include "store/scan_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* For a type rarer than this, seeking to each event by the index is cheaper than reading what lies between. */
#define RARE 20000

enum scan_plan {
	PLAN_WALK, /* the merge, from where it stands */
	PLAN_NTH,  /* seek to each event of the one type */
};

struct scan {
	struct source *source;
	const struct scan_choice *choice;
	struct scan_options o;
	struct merge *merge; /* by stream: of the current stream alone */
	struct store *store; /* NULL: not needed so far */
	struct match match;
	enum scan_plan plan;
	uint64_t nth, nr_nth; /* PLAN_NTH: the next one, and how many there are */
	uint64_t *steps;      /* bit mask of the steps that hold wanted types; NULL: read all */
	uint32_t stream;      /* by stream: the current one */
	bool numbered;	      /* merge->number is the number of the event given last, plus 1 */
	bool failed;	      /* out of memory on the way: the scan ends */
	bool *given; /* per stream: its last event other than a stack was given; NULL: not asked for */
	uint32_t stack_types[2];
	uint64_t done, total; /* blocks, for progress */
};

/* ---- the index ---- */

/* The index, built if need be; with `existing` only if it lies beside the trace. */
static int need_store(struct scan *sc, bool existing)
{
	struct store_options so = {.no_file = sc->o.no_index,
				   .existing = existing,
				   .progress = sc->o.progress,
				   .arg = sc->o.arg};

	return sc->store ? 0 : store_open(sc->source, &so, &sc->store);
}

/* ---- list: blocks without a wanted type are skipped ---- */

static uint64_t skip_blocks(void *arg, uint32_t stream, uint64_t block)
{
	const struct scan *sc = arg;
	const struct store_stream *ss = &sc->store->streams[stream];
	uint64_t step = block / STORE_STEP;

	while (step < ss->nr_steps) {
		uint64_t at = ss->first_step + step;

		if (sc->steps[at / 64] >> (at % 64) & 1)
			return step * STORE_STEP > block ? step * STORE_STEP : block;
		step++;
	}
	return sc->source->streams[stream].nr_blocks;
}

static void mark_steps(struct scan *sc, uint32_t type)
{
	const struct store_type *t = store_type(sc->store, type);

	for (uint64_t i = 0; t && i < t->nr_postings; i++) {
		const struct store_posting *p = &sc->store->postings[t->first_posting + i];
		uint64_t at = sc->store->streams[p->stream].first_step + p->step;

		sc->steps[at / 64] |= 1ull << (at % 64);
	}
}

/* If an index lies beside the trace. Numbers are not known then: what is skipped is not counted. */
static void plan_list(struct scan *sc)
{
	if (sc->numbered || need_store(sc, true) || !sc->store->complete)
		return;
	sc->steps = calloc(sc->store->nr_steps / 64 + 1, sizeof(*sc->steps));
	for (size_t i = 0; sc->steps && i < sc->choice->nr_types; i++)
		mark_steps(sc, sc->choice->types[i]);
}

/* The merge was opened: stand before the first event that can be wanted. */
static void stand(struct scan *sc)
{
	if (sc->steps)
		merge_skip(sc->merge, skip_blocks, sc);
	if (sc->choice->from || sc->steps)
		merge_seek_time(sc->merge, sc->choice->from);
}

/* ---- the plan ---- */

static bool keep_one(const struct source *s, uint32_t stream, void *arg)
{
	const struct scan *sc = arg;

	return stream == sc->stream && scan_stream(sc->choice, s, stream);
}

/* Is exactly one type asked for, and nothing else? */
static bool type_alone(const struct scan_choice *c)
{
	struct scan_choice rest = *c;

	rest.types = NULL;
	return c->nr_types == 1 && !scan_is_choosy(&rest);
}

/* Only a type is asked for: the index knows how many there are and where. */
static int plan_type(struct scan *sc)
{
	uint32_t type = sc->choice->types[0];
	int err = need_store(sc, false);
	bool listed;

	if (err)
		return err;
	listed = store_has_list(sc->store, type);
	sc->numbered = sc->numbered && !source_index(sc->source);
	if (!listed && (err = store_complete(sc->store)))
		return err;
	sc->nr_nth = store_count(sc->store, type);
	if (listed || (sc->nr_nth && sc->store->nr_events / sc->nr_nth >= RARE) || !sc->nr_nth)
		sc->plan = PLAN_NTH;
	return 0;
}

static int plan(struct scan *sc)
{
	const struct scan_choice *c = sc->choice;
	int err = 0;

	/* Numbers count all events: without some streams they are not known. */
	sc->numbered = sc->o.numbered && !c->cpus && !c->buffer;
	if (sc->o.numbered && type_alone(c))
		return plan_type(sc);
	if (c->from && sc->numbered) {
		err = need_store(sc, false);
		if (!err)
			store_seek_time(sc->store, sc->merge, c->from);
		return err;
	}
	if (c->types)
		plan_list(sc);
	stand(sc);
	return 0;
}

/* By stream: the next one that takes part and has events. False: there is none. */
static bool open_stream(struct scan *sc, uint32_t from)
{
	merge_close(sc->merge);
	sc->merge = NULL;
	for (sc->stream = from; sc->stream < sc->source->nr_streams; sc->stream++) {
		if (!scan_stream(sc->choice, sc->source, sc->stream) ||
		    !sc->source->streams[sc->stream].nr_blocks)
			continue;
		sc->merge = merge_open(sc->source, keep_one, sc);
		sc->failed = !sc->merge;
		if (!sc->failed)
			stand(sc);
		return !sc->failed;
	}
	return false;
}

static void begin_streams(struct scan *sc)
{
	uint32_t from = sc->o.only_stream ? sc->o.stream : 0;

	open_stream(sc, from);
	if (sc->o.only_stream && sc->stream != from) {
		merge_close(sc->merge);
		sc->merge = NULL;
	}
}

/* Types of stacks, if they go with their events and a filter might separate them. */
static int want_stacks(struct scan *sc)
{
	static const char *const names[2] = {"ftrace:kernel_stack", "ftrace:user_stack"};

	if (!sc->o.stacks || !sc->choice->filter)
		return 0;
	for (int i = 0; i < 2; i++) {
		const struct schema *k = source_schema_named(sc->source, names[i]);

		sc->stack_types[i] = k ? k->id : UINT32_MAX;
	}
	sc->given = calloc(sc->source->nr_streams + 1, sizeof(*sc->given));
	return sc->given ? 0 : -ENOMEM;
}

struct scan *scan_open(struct source *s, const struct scan_choice *c, const struct scan_options *o)
{
	struct scan *sc = calloc(1, sizeof(*sc));
	int err = 0;

	if (!sc)
		return NULL;
	sc->source = s;
	sc->choice = c;
	if (o)
		sc->o = *o;
	for (uint32_t i = 0; i < s->nr_streams; i++)
		sc->total += scan_stream(c, s, i) ? s->streams[i].nr_blocks : 0;
	if (!match_init(&sc->match, s, c))
		err = -ENOMEM;
	if (!err)
		err = want_stacks(sc);
	if (!err && sc->o.order == SCAN_BY_TIME) {
		sc->merge = merge_open(s, scan_keep, (void *)c);
		err = sc->merge ? plan(sc) : -ENOMEM;
	} else if (!err) {
		if (c->types && !sc->o.only_stream)
			plan_list(sc);
		begin_streams(sc);
	}
	if (!err && !sc->failed)
		return sc;
	scan_close(sc);
	return NULL;
}

void scan_close(struct scan *sc)
{
	if (!sc)
		return;
	merge_close(sc->merge);
	store_close(sc->store);
	match_free(&sc->match);
	free(sc->steps);
	free(sc->given);
	free(sc);
}

void scan_rewind(struct scan *sc)
{
	sc->done = sc->nth = 0;
	if (sc->o.order == SCAN_BY_STREAM) {
		begin_streams(sc);
	} else if (sc->numbered && sc->choice->from) {
		store_seek_time(sc->store, sc->merge, sc->choice->from);
	} else {
		merge_seek_start(sc->merge);
		if (sc->choice->from || sc->steps)
			merge_seek_time(sc->merge, sc->choice->from);
	}
}

/* ---- one by one ---- */

/* Called once a page. False: the scan is to end. */
static bool go_on(struct scan *sc)
{
	if (sc->o.progress)
		sc->o.progress(sc->o.arg, "searching", ++sc->done, sc->total);
	return !sc->choice->stop || !sc->choice->stop();
}

/* Of the streams that are left, with SCAN_BY_STREAM; past the end of the window there is nothing more in any of them. */
static const struct event *next_in_window(struct scan *sc)
{
	const struct scan_choice *c = sc->choice;
	const struct event *e;

	while (sc->merge) {
		while ((e = merge_next(sc->merge)) && e->time <= c->to) {
			if (!e->at.skip && !go_on(sc))
				return NULL;
			if (e->time >= c->from)
				return e;
		}
		if (sc->o.order == SCAN_BY_TIME || sc->o.only_stream ||
		    !open_stream(sc, sc->stream + 1))
			return NULL;
	}
	return NULL;
}

static const struct event *next_nth(struct scan *sc)
{
	if (sc->nth >= sc->nr_nth ||
	    store_seek_type(sc->store, sc->merge, sc->choice->types[0], sc->nth))
		return NULL;
	sc->nth++;
	return merge_next(sc->merge);
}

static bool is_wanted(struct scan *sc, const struct event *e)
{
	bool wanted = match_event(&sc->match, e);

	if (!sc->given)
		return wanted;
	if (e->type == sc->stack_types[0] || e->type == sc->stack_types[1])
		return wanted || sc->given[e->stream];
	return sc->given[e->stream] = wanted;
}

const struct event *scan_next_any(struct scan *sc, bool *wanted)
{
	const struct event *e = next_in_window(sc);

	*wanted = e && match_event(&sc->match, e);
	return e;
}

const struct event *scan_next(struct scan *sc)
{
	const struct event *e;

	if (sc->plan == PLAN_NTH)
		return next_nth(sc);
	while ((e = next_in_window(sc)) && !is_wanted(sc, e))
		;
	return e;
}

uint64_t scan_number(const struct scan *sc)
{
	return sc->numbered ? sc->merge->number - 1 : UINT64_MAX;
}

bool scan_match(struct scan *sc, const struct event *e)
{
	return match_event(&sc->match, e);
}

struct merge *scan_merge(struct scan *sc)
{
	return sc->merge;
}

int scan_seek(struct scan *sc, uint64_t n, uint64_t *nr)
{
	int err = need_store(sc, false);

	*nr = err ? 0 : sc->store->nr_events;
	if (!err)
		err = store_seek_number(sc->store, sc->merge, n);
	sc->numbered = !err;
	return err;
}

void scan_skip(struct scan *sc, uint64_t n)
{
	if (sc->plan == PLAN_NTH) {
		sc->nth = n;
		return;
	}
	/* The index knows where the n-th of a type is; else they are counted. */
	if (n && sc->nr_nth && !store_seek_type(sc->store, sc->merge, sc->choice->types[0], n))
		return;
	while (n-- && scan_next(sc))
		;
}
