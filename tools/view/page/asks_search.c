/* SPDX-License-Identifier: MIT */
/* asks_search.c -- where names and filters occur: how many, how dense, a list, the next and the previous one. */
#include "base/json.h"
#include "base/vec.h"
#include "view/eventline.h"
#include "view/page/asks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * The page knows the names, and finds those that it searches by itself: it asks for numbers of names, tasks and types
 * ("3,5-9"), or by a filter. Spans of tasks and names are looked for in lanes, events in the trace.
 */
#define DENSITY	 512u
#define LIST_MAX 1000u

struct bits {
	uint64_t *v;
	size_t words, room; /* the largest number is in the last word */
};

struct page_search {
	struct asks *a;
	struct bits names, tasks;
	uint32_t *types;
	size_t nr_types;
	struct filter *filter;
	uint64_t count, density[DENSITY];
};

/* A list of numbers below `max`. False: it is not one, or memory is out. */
static bool each_number(const char *text, uint64_t max, bool (*fn)(void *arg, uint64_t n),
			void *arg)
{
	while (text && *text) {
		char *end;
		uint64_t first, last;

		if (*text < '0' || *text > '9')
			return false;
		first = last = strtoull(text, &end, 10);
		if (*end == '-')
			last = strtoull(end + 1, &end, 10);
		for (; first <= last && first < max; first++)
			if (!fn(arg, first))
				return false;
		if (*end && *end != ',')
			return false;
		text = *end ? end + 1 : end;
	}
	return true;
}

static bool add_bit(void *arg, uint64_t n)
{
	struct bits *b = arg;

	if (!VEC_ROOM(b->v, n / 64, b->room))
		return false;
	while (b->words <= n / 64)
		b->v[b->words++] = 0;
	b->v[n / 64] |= 1ull << n % 64;
	return true;
}

static bool add_type(void *arg, uint64_t n)
{
	struct page_search *s = arg;

	if (!VEC_MORE(s->types, s->nr_types))
		return false;
	s->types[s->nr_types++] = (uint32_t)n;
	return true;
}

static bool has_bit(const struct bits *b, uint32_t n)
{
	return n / 64 < b->words && b->v[n / 64] >> n % 64 & 1;
}

/* Which set says whether an item of the lane is meant; NULL: none. */
static const struct bits *set_of(const struct page_search *s, uint32_t kind)
{
	const struct bits *b = kind == LANE_CPU ? &s->tasks
			       : kind == LANE_IRQ || kind == LANE_SPANS || kind == LANE_CALLS
				       ? &s->names
				       : NULL;

	return b && b->words ? b : NULL;
}

static bool is_meant(const struct bits *b, uint32_t what)
{
	return !lane_class(what) && has_bit(b, what & LANE_WHAT);
}

static void note(struct page_search *s, uint64_t t, uint64_t n)
{
	uint64_t at = (uint64_t)((double)t / (double)(s->a->lanes->span + 1) * DENSITY);

	s->count += n;
	s->density[at < DENSITY ? at : DENSITY - 1] += n;
}

static void count_lanes(struct page_search *s)
{
	const struct lanes *l = s->a->lanes;

	for (uint64_t i = 0; i < l->nr_lanes; i++) {
		const struct bits *b = set_of(s, l->lane[i].kind);
		const struct lane_chunk *c = lane_chunks(l, &l->lane[i]);

		for (uint64_t k = 0; b && k < l->lane[i].nr_chunks; k++)
			for (uint32_t m = 0; m < c[k].nr; m++) {
				struct lane_span x = lane_item(l, &c[k], m);

				if (is_meant(b, x.what))
					note(s, x.from, 1);
			}
	}
}

/* Of types, from the index: in which steps they occur, without reading them. */
static bool count_types(struct page_search *s)
{
	struct store *st = NULL;
	struct store_options o = {.no_file = s->a->no_index};
	bool ok = scan_is_whole(s->a->choice) && !scan_is_choosy(s->a->choice) &&
		  !s->a->choice->cpus && !s->a->choice->buffer && !store_open(s->a->s, &o, &st) &&
		  !store_complete(st);

	for (size_t i = 0; ok && i < s->nr_types; i++) {
		const struct store_type *t = store_type(st, s->types[i]);

		for (uint64_t k = 0; t && k < t->nr_postings; k++) {
			const struct store_posting *p = &st->postings[t->first_posting + k];
			uint64_t time = st->steps[st->streams[p->stream].first_step + p->step].time;

			note(s, time > s->a->lanes->start ? time - s->a->lanes->start : 0,
			     p->count);
		}
	}
	if (st)
		store_close(st);
	return ok;
}

static int count_events(struct page_search *s)
{
	struct scan_choice c = *s->a->choice;
	const struct event *e;
	struct scan *sc;

	if (!s->filter && count_types(s))
		return 0;
	c.types = s->filter ? NULL : s->types;
	c.nr_types = s->filter ? 0 : s->nr_types;
	c.filter = s->filter;
	sc = scan_open(s->a->s, &c, &(struct scan_options){.order = SCAN_BY_STREAM});
	if (!sc)
		return -ENOMEM;
	while ((e = scan_next(sc)))
		note(s, e->time > s->a->lanes->start ? e->time - s->a->lanes->start : 0, 1);
	scan_close(sc);
	return 0;
}

/* ---- the next one ---- */

struct found_item {
	uint64_t t, lane;
	bool any, in_lane;
};

static void look_after(struct page_search *s, uint64_t lane, uint64_t t, struct found_item *f)
{
	const struct lanes *l = s->a->lanes;
	const struct lane *k = &l->lane[lane];
	const struct lane_chunk *c = lane_chunks(l, k);
	const struct bits *b = set_of(s, k->kind);
	uint64_t lo = 0, hi = b ? k->nr_chunks : 0;

	while (lo < hi) { /* the first chunk that ends after t */
		uint64_t mid = lo + (hi - lo) / 2;

		if (c[mid].to <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; b && lo < k->nr_chunks && !(f->any && c[lo].from >= f->t); lo++)
		for (uint32_t i = 0; i < c[lo].nr; i++) {
			struct lane_span x = lane_item(l, &c[lo], i);

			if (x.from > t && is_meant(b, x.what) && (!f->any || x.from < f->t)) {
				*f = (struct found_item){x.from, lane, true, true};
				return;
			}
		}
}

static void look_before(struct page_search *s, uint64_t lane, uint64_t t, struct found_item *f)
{
	const struct lanes *l = s->a->lanes;
	const struct lane *k = &l->lane[lane];
	const struct lane_chunk *c = lane_chunks(l, k);
	const struct bits *b = set_of(s, k->kind);

	for (uint64_t n = b ? k->nr_chunks : 0; n--;) {
		if (f->any && c[n].to <= f->t)
			return;
		if (c[n].from >= t)
			continue;
		for (uint32_t i = c[n].nr; i--;) {
			struct lane_span x = lane_item(l, &c[n], i);

			if (x.from < t && is_meant(b, x.what) && (!f->any || x.from > f->t)) {
				*f = (struct found_item){x.from, lane, true, true};
				return;
			}
			if (x.from < t && is_meant(b, x.what))
				return;
		}
	}
}

/* The first event of a window, or the last. False: there is none. */
static bool event_in(struct page_search *s, uint64_t from, uint64_t to, bool last, uint64_t *t)
{
	struct scan_choice c = *s->a->choice;
	const struct event *e;
	struct scan *sc;
	bool any = false;

	if (from > c.from)
		c.from = from;
	if (to < c.to)
		c.to = to;
	c.types = s->filter ? NULL : s->types;
	c.nr_types = s->filter ? 0 : s->nr_types;
	c.filter = s->filter;
	sc = scan_open(s->a->s, &c, NULL);
	while (sc && (last || !any) && (e = scan_next(sc))) {
		*t = e->time;
		any = true;
	}
	scan_close(sc);
	return any;
}

static void look_events(struct page_search *s, uint64_t t, bool before, struct found_item *f)
{
	uint64_t start = s->a->lanes->start, at = start + t, width = s->a->lanes->span / 1000 + 1;
	uint64_t found;

	if (!s->filter && !s->nr_types)
		return;
	if (!before) {
		if (event_in(s, at + 1, UINT64_MAX, false, &found) &&
		    (!f->any || found - start < f->t))
			*f = (struct found_item){found - start, 0, true, false};
		return;
	}
	for (uint64_t to = at; to > start; width *= 4) { /* windows that grow, back from there */
		uint64_t from = to - start > width ? to - width : start;

		if (event_in(s, from, to - 1, true, &found)) {
			if (!f->any || found - start > f->t)
				*f = (struct found_item){found - start, 0, true, false};
			return;
		}
		to = from;
	}
}

static void put_found(struct page_search *s, uint64_t t, bool before, FILE *out)
{
	struct found_item f = {0};
	struct json j;

	for (uint64_t i = 0; i < s->a->lanes->nr_lanes; i++)
		if (before)
			look_before(s, i, t, &f);
		else
			look_after(s, i, t, &f);
	look_events(s, t, before, &f);
	json_init(&j, out, false);
	json_open(&j, NULL, '{');
	if (f.any)
		json_u64(&j, "t", f.t);
	if (f.any && f.in_lane)
		json_u64(&j, "lane", f.lane);
	json_close(&j, '}');
}

/* ---- a list ---- */

/* The next one of a lane, and where to look for the one after it. */
struct lane_hit {
	struct lane_span span;
	uint64_t chunk;
	uint32_t item;
	bool any;
};

static void next_in_lane(const struct page_search *s, uint64_t lane, uint64_t from,
			 struct lane_hit *h)
{
	const struct lanes *l = s->a->lanes;
	const struct lane *k = &l->lane[lane];
	const struct lane_chunk *c = lane_chunks(l, k);
	const struct bits *b = set_of(s, k->kind);

	for (h->any = false; b && h->chunk < k->nr_chunks; h->chunk++, h->item = 0)
		while (c[h->chunk].to >= from && h->item < c[h->chunk].nr) {
			h->span = lane_item(l, &c[h->chunk], h->item++);
			h->any = h->span.from >= from && is_meant(b, h->span.what);
			if (h->any)
				return;
		}
}

struct hit_list {
	struct page_search *s;
	uint64_t from; /* the first time */
	uint64_t skip, max;
	struct lane_hit *lane; /* of each lane */
	struct scan *scan;     /* NULL: no events are meant */
	const struct event *event;
	struct eventline *line;
	struct json j;
};

static void put_hit(struct hit_list *l, uint64_t lane, const struct event *e)
{
	const struct lane_span *x = e ? NULL : &l->lane[lane].span;
	uint64_t start = l->s->a->lanes->start;

	json_open(&l->j, NULL, '{');
	json_u64(&l->j, "t", x ? x->from : e->time > start ? e->time - start : 0);
	if (x) {
		json_u64(&l->j, "lane", lane);
		json_u64(&l->j, "what", x->what);
		json_u64(&l->j, "len", x->to - x->from);
	} else {
		eventline_json(l->line, e, UINT64_MAX, &l->j);
	}
	json_close(&l->j, '}');
}

/* The next one of all, spans before events of the same time. False: there is none. */
static bool step_list(struct hit_list *l, bool put)
{
	uint64_t nr = l->s->a->lanes->nr_lanes, best = nr, start = l->s->a->lanes->start;

	for (uint64_t i = 0; i < nr; i++)
		if (l->lane[i].any &&
		    (best == nr || l->lane[i].span.from < l->lane[best].span.from))
			best = i;
	if (best < nr && (!l->event || start + l->lane[best].span.from <= l->event->time)) {
		if (put)
			put_hit(l, best, NULL);
		next_in_lane(l->s, best, l->from, &l->lane[best]);
		return true;
	}
	if (!l->event)
		return false;
	if (put)
		put_hit(l, 0, l->event);
	l->event = scan_next(l->scan);
	return true;
}

static void fill_list(struct hit_list *l)
{
	for (uint64_t i = 0; i < l->s->a->lanes->nr_lanes; i++)
		next_in_lane(l->s, i, l->from, &l->lane[i]);
	l->event = l->scan ? scan_next(l->scan) : NULL;
	for (uint64_t i = 0; i < l->skip; i++)
		step_list(l, false);
	json_open(&l->j, NULL, '{');
	json_open(&l->j, "hits", '[');
	for (uint64_t i = 0; i < l->max && step_list(l, true); i++)
		;
	json_close(&l->j, ']');
	json_bool(&l->j, "more", step_list(l, false));
	json_close(&l->j, '}');
}

static int put_list(struct page_search *s, struct hit_list *l, FILE *out)
{
	struct scan_choice c = *s->a->choice;
	bool events = s->filter || s->nr_types;
	int err = -ENOMEM;

	if (s->a->lanes->start + l->from > c.from)
		c.from = s->a->lanes->start + l->from;
	c.types = s->filter ? NULL : s->types;
	c.nr_types = s->filter ? 0 : s->nr_types;
	c.filter = s->filter;
	l->s = s;
	l->lane = calloc(s->a->lanes->nr_lanes + 1, sizeof(*l->lane));
	l->scan = events ? scan_open(s->a->s, &c, NULL) : NULL;
	l->line = events ? eventline_new(s->a->s) : NULL;
	json_init(&l->j, out, false);
	if (l->lane && (!events || (l->scan && l->line))) {
		fill_list(l);
		err = 0;
	}
	eventline_free(l->line);
	scan_close(l->scan);
	free(l->lane);
	return err;
}

static int put_counts(struct page_search *s, FILE *out)
{
	struct json j;
	int err = s->filter || s->nr_types ? count_events(s) : 0;

	if (err)
		return err;
	count_lanes(s);
	json_init(&j, out, false);
	json_open(&j, NULL, '{');
	json_u64(&j, "count", s->count);
	json_open(&j, "density", '[');
	for (uint32_t i = 0; i < DENSITY; i++)
		json_u64(&j, NULL, s->density[i]);
	json_close(&j, ']');
	json_close(&j, '}');
	return 0;
}

int ask_search(struct asks *a, const struct asked *q, FILE *out, char why[256])
{
	const char *text = q->get(q->arg, "filter");
	struct page_search s = {.a = a};
	struct expr_error wrong;
	struct hit_list list = {0};
	uint64_t t;
	int err = 0;

	if (!each_number(q->get(q->arg, "names"), LANE_WHAT, add_bit, &s.names) ||
	    !each_number(q->get(q->arg, "tasks"), LANE_WHAT, add_bit, &s.tasks) ||
	    !each_number(q->get(q->arg, "types"), SOURCE_ID_FAST, add_type, &s))
		err = -EINVAL;
	if (!err && text && !(s.filter = filter_new(text, &wrong))) {
		snprintf(why, 256, "filter, at %zu: %s", wrong.offset + 1, wrong.what);
		err = -EINVAL;
	}
	if (!err && ask_number(q, "list", LIST_MAX, &list.max)) {
		ask_number(q, "from", UINT64_MAX / 2, &list.from);
		ask_number(q, "skip", UINT32_MAX, &list.skip);
		err = put_list(&s, &list, out);
	} else if (!err && ask_number(q, "after", UINT64_MAX / 2, &t))
		put_found(&s, t, false, out);
	else if (!err && ask_number(q, "before", UINT64_MAX / 2, &t))
		put_found(&s, t, true, out);
	else if (!err)
		err = put_counts(&s, out);
	filter_free(s.filter);
	free(s.types);
	free(s.names.v);
	free(s.tasks.v);
	return err;
}
