/* SPDX-License-Identifier: MIT */
/* tiles.c -- a piece of a lane in some detail: its spans where they are few, else sums of equal parts. */
#include "view/page/tiles.h"
#include "base/vec.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* ---- bytes ---- */

static void *room(struct tile_bytes *b, size_t n)
{
	if (!VEC_ROOM(b->v, b->n + n, b->cap)) {
		b->failed = true;
		return NULL;
	}
	b->n += n;
	return b->v + b->n - n;
}

static bool put_head(struct tile_bytes *b, uint64_t lane, enum tile_mode mode, uint32_t n)
{
	uint32_t head[2] = {htole32((uint32_t)lane), htole32((uint32_t)mode | n << 8)};
	void *p = room(b, 8);

	if (p)
		memcpy(p, head, 8);
	return p;
}

/* ---- what has most of a part ---- */

#define SLOTS	    512u /* twice the items of two chunks */
#define VOTE_CHUNKS 16u	 /* of those that lie in a part whole: as many are asked, evenly */

struct votes {
	struct {
		uint32_t part, what;
		uint64_t time;
	} slot[SLOTS]; /* of another part: free */
	uint32_t part, best;
	uint64_t most;
	uint64_t from; /* of the part */
	bool highest;  /* of a counter: not what has most time, but the highest value */
};

static void vote(struct votes *v, uint32_t what, uint64_t time)
{
	uint32_t i = (what & LANE_WHAT) * 2654435761u % SLOTS;

	if (v->highest) { /* positive floats are in the order of their bits */
		v->best = what > v->best ? what : v->best;
		return;
	}
	what &= LANE_WHAT;
	while (v->slot[i].part == v->part && v->slot[i].what != what)
		i = (i + 1) % SLOTS;
	if (v->slot[i].part != v->part) {
		v->slot[i].part = v->part;
		v->slot[i].what = what;
		v->slot[i].time = 0;
	}
	v->slot[i].time += time;
	if (v->slot[i].time > v->most) {
		v->most = v->slot[i].time;
		v->best = what;
	}
}

static void vote_span(struct votes *v, struct lane_span s, uint64_t to)
{
	uint64_t from = s.from > v->from ? s.from : v->from;

	to = s.to < to ? s.to : to;
	if ((v->highest || !lane_class(s.what)) && to > from)
		vote(v, s.what, to - from);
}

/* ---- sums ---- */

/* The last chunk from `lo` on that begins at t or before; `lo` if none does. It is looked for near `lo` first. */
static uint64_t chunk_at(const struct lane_chunk *c, uint64_t lo, uint64_t nr, uint64_t t)
{
	uint64_t step = 1, hi;

	while (lo + step < nr && c[lo + step].from <= t) {
		lo += step;
		step *= 2;
	}
	for (hi = lo + step < nr ? lo + step : nr; hi - lo > 1;) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (c[mid].from <= t)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* A walk along a lane, from time to time: each item is looked at once. */
struct tile_walk {
	const struct lanes *l;
	const struct lane *k;
	const struct lane_chunk *c;
	uint64_t at;		    /* chunk */
	uint32_t item;		    /* the first that did not end before */
	uint64_t run[LANE_CLASSES]; /* sums of all items before it */
	uint64_t slack;		    /* chunks that are not longer are not looked into */
	struct votes *votes;	    /* or NULL */
};

static void walk_begin(struct tile_walk *w, uint64_t at)
{
	w->at = at;
	w->item = 0;
	memcpy(w->run, w->k->nr_chunks ? w->c[at].before : w->k->sum, sizeof(w->run));
}

static void add_span(const struct tile_walk *w, struct lane_span s, uint64_t t,
		     uint64_t sums[LANE_CLASSES])
{
	sums[w->k->kind == LANE_COUNTER ? 0 : lane_class(s.what)] += (s.to < t ? s.to : t) - s.from;
	if (w->k->kind == LANE_LOST && (s.what & LANE_WHAT) < LANE_LOST_MANY)
		sums[0] += s.what & LANE_WHAT;
}

static bool is_narrow(const struct tile_walk *w, const struct lane_chunk *c)
{
	return lane_counts(w->k->kind) || c->to - c->from <= w->slack;
}

/* What is left of the chunk: it ends in this part. */
static void vote_rest(const struct tile_walk *w, uint64_t t)
{
	const struct lane_chunk *c = &w->c[w->at];

	if (lane_counts(w->k->kind)) /* one that began before has had its vote */
		vote(w->votes, c->top, c->from >= w->votes->from ? c->top_time + 1 : 0);
	else if (is_narrow(w, c) && c->nr > 1)
		vote(w->votes, c->top, c->top_time);
	else
		for (uint32_t i = w->item; i < c->nr; i++)
			vote_span(w->votes, lane_item(w->l, c, i), t);
}

/* The chunks before this one, from where the walk is on. Of those that lie in the part whole what has most of each is enough. */
static void vote_chunks(const struct tile_walk *w, uint64_t next, uint64_t t)
{
	const struct lane_chunk *c = w->c;
	bool counts = lane_counts(w->k->kind), all = w->votes->highest;
	uint64_t first = w->at + (w->item == c[w->at].nr || c[w->at].from < w->votes->from);
	uint64_t step = all ? 1 : 1 + (next - first) / VOTE_CHUNKS;

	if ((first == next || all) && w->item < c[w->at].nr && !counts)
		vote_rest(w, t);
	for (uint64_t i = first; i < next; i += step)
		if (c[i].nr > 1 || counts)
			vote(w->votes, c[i].top, c[i].top_time + counts);
		else
			vote_span(w->votes, lane_item(w->l, &c[i], 0), t);
}

/* Go on to t: the sums of all before it. */
static void walk_to(struct tile_walk *w, uint64_t t, uint64_t out[LANE_CLASSES])
{
	const struct lane_chunk *c = &w->c[w->at];
	const uint64_t *after;

	if (!w->k->nr_chunks) {
		memcpy(out, w->run, sizeof(w->run));
		return;
	}
	if (w->at + 1 < w->k->nr_chunks && c[1].from <= t) {
		uint64_t next = chunk_at(w->c, w->at + 1, w->k->nr_chunks, t);

		if (w->votes)
			vote_chunks(w, next, t);
		walk_begin(w, next);
		c = &w->c[next];
	}
	after = w->at + 1 < w->k->nr_chunks ? c[1].before : w->k->sum;
	if (t > c->to && w->item < c->nr && w->votes)
		vote_rest(w, t);
	if (t > c->to) {
		w->item = c->nr;
		memcpy(w->run, after, sizeof(w->run));
	} else if (t > c->from && is_narrow(w, c)) {
		double share =
			c->to > c->from ? (double)(t - c->from) / (double)(c->to - c->from) : 1;

		for (uint32_t i = 0; i < LANE_CLASSES; i++)
			out[i] = c->before[i] +
				 (uint64_t)((double)(after[i] - c->before[i]) * share);
		if (w->votes && (w->votes->highest || lane_counts(w->k->kind)))
			vote(w->votes, c->top, 1);
		return;
	}
	for (; w->item < c->nr && t > c->from; w->item++) {
		struct lane_span s = lane_item(w->l, c, w->item);

		if (s.to > t)
			break;
		add_span(w, s, t, w->run);
		if (w->votes)
			vote_span(w->votes, s, t);
	}
	memcpy(out, w->run, sizeof(w->run));
	if (w->item < c->nr && t > c->from) {
		struct lane_span s = lane_item(w->l, c, w->item);

		if (s.from < t)
			add_span(w, s, t, out);
		if (s.from < t && w->votes)
			vote_span(w->votes, s, t);
	}
}

void lane_sums(const struct lanes *l, const struct lane *k, uint64_t t, uint64_t slack,
	       uint64_t out[LANE_CLASSES])
{
	struct tile_walk w = {.l = l, .k = k, .c = lane_chunks(l, k), .slack = slack};

	walk_begin(&w, 0);
	walk_to(&w, t, out);
}

/* ---- tiles ---- */

static void put_f64(uint8_t *p, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, 8);
	bits = htole64(bits);
	memcpy(p, &bits, 8);
}

static void put_spans(const struct lanes *l, const struct lane *k, uint64_t lane, uint64_t first,
		      uint64_t t0, uint64_t t1, uint32_t nr, struct tile_bytes *out)
{
	const struct lane_chunk *c = lane_chunks(l, k);
	uint32_t n = 0;
	uint8_t *p;

	if (!put_head(out, lane, TILE_SPANS, nr) || !nr)
		return;
	p = room(out, (size_t)nr * 16 + (nr + 1) / 2 * 8);
	if (!p)
		return;
	memset(p + (size_t)nr * 20 - 4, 0, nr % 2 ? 8 : 4);
	for (uint64_t i = first; i < k->nr_chunks && c[i].from < t1; i++)
		for (uint32_t m = 0; m < c[i].nr && n < nr; m++) {
			struct lane_span s = lane_item(l, &c[i], m);

			if (s.from >= t1 || (s.to <= t0 && s.from < t0))
				continue;
			s.what = htole32(s.what);
			put_f64(p + n * 8ul, (double)s.from);
			put_f64(p + (nr + n) * 8ul, (double)(s.to - s.from));
			memcpy(p + nr * 16ul + n++ * 4ul, &s.what, 4);
		}
}

/* How many spans reach into the tile; more than TILE_ITEMS: many. */
static uint32_t count_spans(const struct lanes *l, const struct lane *k, uint64_t first,
			    uint64_t t0, uint64_t t1)
{
	const struct lane_chunk *c = lane_chunks(l, k);
	uint32_t n = 0;

	for (uint64_t i = first; i < k->nr_chunks && c[i].from < t1 && n <= TILE_ITEMS; i++) {
		if (i > first && i + 1 < k->nr_chunks && c[i + 1].from < t1) {
			n += c[i].nr;
			continue;
		}
		for (uint32_t m = 0; m < c[i].nr; m++) {
			struct lane_span s = lane_item(l, &c[i], m);

			n += s.from < t1 && (s.to > t0 || s.from >= t0);
		}
	}
	return n;
}

/* Votes of a part that begins in the middle of the chunk at which the walk is. */
static void begin_part(struct tile_walk *w, uint64_t from)
{
	const struct lane_chunk *c = &w->c[w->at];
	struct votes *v = w->votes;

	v->part++;
	v->from = from;
	v->best = 0;
	v->most = 0;
	if (lane_counts(w->k->kind) ? c->to >= from : v->highest && is_narrow(w, c) && c->to > from)
		vote(v, c->top, 1);
}

static void put_parts(const struct lanes *l, const struct lane *k, uint64_t lane, uint64_t first,
		      uint64_t t0, uint64_t width, struct tile_bytes *out)
{
	bool counts = lane_counts(k->kind);
	struct votes votes = {.highest = k->kind == LANE_COUNTER};
	struct tile_walk w = {
		.l = l, .k = k, .c = lane_chunks(l, k), .slack = width / 128, .votes = &votes};
	uint64_t before[LANE_CLASSES], after[LANE_CLASSES];
	uint8_t *p = put_head(out, lane, counts ? TILE_COUNTS : TILE_TIMES, TILE_PARTS)
			     ? room(out, TILE_PARTS * 8)
			     : NULL;

	if (!p)
		return;
	walk_begin(&w, first);
	begin_part(&w, t0);
	walk_to(&w, t0, before);
	for (uint32_t b = 0; b < TILE_PARTS; b++) {
		uint64_t from = t0 + b * width;
		uint32_t top, n;

		begin_part(&w, from);
		walk_to(&w, from + width, after);
		top = htole32(k->kind == LANE_LOST ? (uint32_t)(after[0] - before[0]) : votes.best);
		memcpy(p + TILE_PARTS * 4 + b * 4, &top, 4);
		for (uint32_t i = 0; i < LANE_CLASSES; i++) {
			uint64_t d = after[i] > before[i] ? after[i] - before[i] : 0;

			p[b * 4 + i] =
				d >= width ? 255 : (uint8_t)((double)d * 255 / (double)width + 0.5);
		}
		n = htole32((uint32_t)(after[0] - before[0]));
		if (counts)
			memcpy(p + b * 4, &n, 4);
		memcpy(before, after, sizeof(before));
	}
}

uint32_t tile_levels(const struct lanes *l)
{
	return l->scale - 8;
}

bool tile_put(const struct lanes *l, uint64_t lane, uint32_t level, uint64_t index,
	      struct tile_bytes *out)
{
	const struct lane *k = lane < l->nr_lanes ? &l->lane[lane] : NULL;
	uint64_t width, t0, first;
	uint32_t n;

	if (!k || level > tile_levels(l) || index >> level)
		return false;
	width = 1ull << (l->scale - level);
	t0 = index * width;
	first = k->nr_chunks ? chunk_at(lane_chunks(l, k), 0, k->nr_chunks, t0) : 0;
	if (lane_counts(k->kind)) {
		uint64_t a[LANE_CLASSES], b[LANE_CLASSES];

		lane_sums(l, k, t0, 0, a);
		lane_sums(l, k, t0 + width, 0, b);
		if (a[0] == b[0])
			return put_head(out, lane, TILE_SPANS, 0);
	} else {
		n = count_spans(l, k, first, t0, t0 + width);
		if (n <= TILE_ITEMS) {
			put_spans(l, k, lane, first, t0, t0 + width, n, out);
			return true;
		}
	}
	put_parts(l, k, lane, first, t0, width / TILE_PARTS, out);
	return true;
}
