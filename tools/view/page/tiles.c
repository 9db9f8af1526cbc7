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

/* ---- sums ---- */

/* The last chunk from `lo` on that begins at t or before; `lo` if none does. */
static uint64_t chunk_at(const struct lane_chunk *c, uint64_t lo, uint64_t nr, uint64_t t)
{
	uint64_t hi = nr;

	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (c[mid].from <= t)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static void add_part(const struct lanes *l, const struct lane *k, const struct lane_chunk *c,
		     uint64_t t, uint64_t out[LANE_CLASSES])
{
	for (uint32_t i = 0; i < c->nr; i++) {
		struct lane_span s = lane_item(l, c, i);

		if (s.from >= t)
			break;
		out[k->kind == LANE_COUNTER ? 0 : lane_class(s.what)] +=
			(s.to < t ? s.to : t) - s.from;
		if (k->kind == LANE_LOST && (s.what & LANE_WHAT) < LANE_LOST_MANY)
			out[0] += s.what & LANE_WHAT;
	}
}

static void sums_in(const struct lanes *l, const struct lane *k, uint64_t at, uint64_t t,
		    uint64_t slack, uint64_t out[LANE_CLASSES])
{
	const struct lane_chunk *c = lane_chunks(l, k) + at;
	const uint64_t *after = at + 1 < k->nr_chunks ? c[1].before : k->sum;
	double share;

	if (!k->nr_chunks || t <= c->from) {
		memcpy(out, k->nr_chunks ? c->before : k->sum, sizeof(k->sum));
		return;
	}
	if (t > c->to) {
		memcpy(out, after, sizeof(k->sum));
		return;
	}
	memcpy(out, c->before, sizeof(k->sum));
	if (!lane_counts(k->kind) && c->to - c->from > slack) {
		add_part(l, k, c, t, out);
		return;
	}
	share = c->to > c->from ? (double)(t - c->from) / (double)(c->to - c->from) : 1;
	for (uint32_t i = 0; i < LANE_CLASSES; i++)
		out[i] += (uint64_t)((double)(after[i] - c->before[i]) * share);
}

void lane_sums(const struct lanes *l, const struct lane *k, uint64_t t, uint64_t slack,
	       uint64_t out[LANE_CLASSES])
{
	sums_in(l, k, chunk_at(lane_chunks(l, k), 0, k->nr_chunks ? k->nr_chunks : 1, t), t, slack,
		out);
}

/* ---- what has most of a part ---- */

#define VOTES 64u

struct votes {
	uint32_t what[VOTES];
	uint64_t time[VOTES];
	uint32_t nr;
};

static void vote(struct votes *v, uint32_t what, uint64_t time)
{
	uint32_t i = 0;

	while (i < v->nr && v->what[i] != what)
		i++;
	if (i == VOTES) /* many small ones: none of them is what has most */
		return;
	if (i == v->nr) {
		v->what[i] = what;
		v->time[v->nr++] = 0;
	}
	v->time[i] += time;
}

/* The first item of a chunk that ends after t. */
static uint32_t item_after(const struct lanes *l, const struct lane_chunk *c, uint64_t t)
{
	uint32_t lo = 0, hi = c->nr;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (lane_item(l, c, mid).to <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void vote_items(const struct lanes *l, const struct lane_chunk *c, uint64_t from,
		       uint64_t to, struct votes *v)
{
	for (uint32_t i = item_after(l, c, from); i < c->nr; i++) {
		struct lane_span s = lane_item(l, c, i);
		uint64_t a = s.from > from ? s.from : from, b = s.to < to ? s.to : to;

		if (s.from >= to)
			break;
		if (!lane_class(s.what) && b > a)
			vote(v, s.what & LANE_WHAT, b - a);
	}
}

static uint32_t top_of(const struct lanes *l, const struct lane *k, uint64_t first, uint64_t from,
		       uint64_t to)
{
	const struct lane_chunk *c = lane_chunks(l, k);
	struct votes v;
	uint32_t best = 0;
	bool rough = lane_counts(k->kind) || (first + 4 < k->nr_chunks && c[first + 4].from < to);

	v.nr = v.what[0] = 0;
	for (uint64_t i = first; i < k->nr_chunks && c[i].from < to; i++) {
		if (k->kind == LANE_COUNTER) {
			if (c[i].to >= from && c[i].top > v.what[0])
				v.what[0] = c[i].top;
		} else if (c[i].nr > 1 && rough) {
			vote(&v, c[i].top & LANE_WHAT, c[i].top_time);
		} else if (lane_counts(k->kind)) {
			vote(&v, c[i].top & LANE_WHAT, 1);
		} else {
			vote_items(l, &c[i], from, to, &v);
		}
	}
	for (uint32_t i = 1; i < v.nr; i++)
		if (v.time[i] > v.time[best])
			best = i;
	return v.nr || k->kind == LANE_COUNTER ? v.what[best] : 0;
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

static void put_parts(const struct lanes *l, const struct lane *k, uint64_t lane, uint64_t first,
		      uint64_t t0, uint64_t width, struct tile_bytes *out)
{
	bool counts = lane_counts(k->kind);
	uint64_t before[LANE_CLASSES], after[LANE_CLASSES], at = first;
	uint8_t *p = put_head(out, lane, counts ? TILE_COUNTS : TILE_TIMES, TILE_PARTS)
			     ? room(out, TILE_PARTS * 8)
			     : NULL;

	if (!p)
		return;
	sums_in(l, k, at, t0, width / 128, before);
	for (uint32_t b = 0; b < TILE_PARTS; b++) {
		uint64_t from = t0 + b * width, to = from + width;
		uint32_t top, n;

		at = chunk_at(lane_chunks(l, k), at, k->nr_chunks, from);
		top = htole32(top_of(l, k, at, from, to));
		sums_in(l, k, chunk_at(lane_chunks(l, k), at, k->nr_chunks, to), to, width / 128,
			after);
		if (k->kind == LANE_LOST)
			top = htole32((uint32_t)(after[0] - before[0]));
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
