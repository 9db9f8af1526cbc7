/* SPDX-License-Identifier: MIT */
/* lanes_put.c -- filling lanes: items gather in chunks, full chunks go to the file. */
#include "view/page/lanes_put.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 4096u
#define SLOTS	  (LANE_CHUNK_COUNTS * 2)

bool lanes_fill_write(struct lanes_fill *l, const void *bytes, size_t n)
{
	if (!l->err && n && fwrite(bytes, 1, n, l->out) != n)
		l->err = errno ? -errno : -EIO;
	l->at += n;
	return !l->err;
}

/* ---- lanes ---- */

/* id: a number of a task, a CPU or a name, all below 2^24; calls of idle tasks: the CPU's */
static uint64_t key_of(enum lane_kind kind, uint32_t id, uint32_t cpu, uint32_t depth)
{
	return (uint64_t)kind << 60 | (uint64_t)(depth & 0xfff) << 48 |
	       (uint64_t)(cpu & 0xffff) << 32 | id;
}

/* A place for a new lane; NULL: out of memory or too many. */
static struct lane_place *take_place(struct lanes_fill *l)
{
	struct lane_place *p;

	if (l->first_free) {
		p = &l->v[l->first_free - 1];
		l->first_free = p->next_free;
		return p;
	}
	if (l->nr >= LANES_MAX) {
		l->refused++;
		return NULL;
	}
	if (!VEC_MORE(l->v, l->nr)) {
		l->err = -ENOMEM;
		return NULL;
	}
	return &l->v[l->nr++];
}

struct lane_fill *lanes_fill_lane(struct lanes_fill *l, enum lane_kind kind, uint32_t id,
				  uint32_t cpu, uint32_t depth)
{
	uint64_t key = key_of(kind, id, cpu, depth);
	struct lane_fill *k = idmap_find(&l->by_key, key);
	struct lane_place *p;
	void **at;

	if (k)
		return k;
	p = take_place(l);
	if (!p)
		return NULL;
	*p = (struct lane_place){.changed = l->turn};
	at = idmap_at(&l->by_key, key);
	k = at ? calloc(1, sizeof(*k)) : NULL;
	if (!k) {
		l->err = -ENOMEM;
		return NULL;
	}
	k->k = (struct lane){.kind = kind, .id = id, .depth = depth, .cpu = cpu};
	k->now.from = UINT64_MAX;
	p->k = *at = k;
	return k;
}

static void free_lane(struct lane_fill *k)
{
	if (k) {
		free(k->chunks);
		free(k->item);
	}
	free(k);
}

void lanes_fill_forget(struct lanes_fill *l, const bool *over)
{
	for (size_t i = 0; i < l->nr; i++) {
		struct lane_fill *k = l->v[i].k;

		if (!k || k->k.kind < LANE_TASK || k->k.kind > LANE_CALLS || !over[k->k.id])
			continue;
		idmap_remove(&l->by_key, key_of(k->k.kind, k->k.id, k->k.cpu, k->k.depth));
		free_lane(k);
		l->v[i] = (struct lane_place){NULL, l->turn, l->first_free};
		l->first_free = (uint32_t)i + 1;
	}
}

/* ---- chunks ---- */

/* What has the most time of class 0; of lanes that count, what occurs most; of counters, the highest value. */
static uint32_t top_of(const struct lane_fill *k, uint64_t *time)
{
	struct {
		uint32_t what;
		uint64_t time;
	} slot[SLOTS] = {0};
	uint32_t best = 0;

	*time = 0;
	for (uint32_t i = 0; i < k->nr; i++) {
		uint32_t what = k->item[i].what, at;
		uint64_t t = lane_counts(k->k.kind) ? 1 : k->item[i].len;

		if (k->k.kind == LANE_COUNTER) {
			best = !i || what > best
				       ? what
				       : best; /* positive floats are in the order of their bits */
			continue;
		}
		if (lane_class(what) || !t)
			continue;
		what &= LANE_WHAT;
		for (at = what * 2654435761u % SLOTS; slot[at].time && slot[at].what != what;
		     at = (at + 1) % SLOTS)
			;
		slot[at].what = what;
		slot[at].time += t;
		if (slot[at].time > *time) {
			*time = slot[at].time;
			best = what;
		}
	}
	return best;
}

/* The body of a lane that is shown: its room is taken when it begins, and filled as items come. */
static uint64_t show_items(struct lanes_fill *l, struct lane_fill *k)
{
	size_t bytes = (k->nr - k->nr_shown) * sizeof(*k->item);
	uint64_t at;

	if (!k->room) {
		k->room = l->at;
		l->at += LANE_CHUNK * sizeof(*k->item);
	}
	at = k->room + k->nr_shown * sizeof(*k->item);
	if (bytes &&
	    pwrite(fileno(l->out), k->item + k->nr_shown, bytes, (off_t)at) != (ssize_t)bytes)
		l->err = errno ? -errno : -EIO;
	k->nr_shown = k->nr;
	return k->room;
}

/* The open chunk, as the next of the lane. Room for one more is kept after it. */
static bool put_chunk(struct lanes_fill *l, struct lane_fill *k)
{
	struct lane_chunk c = {.from = k->base, .to = k->end, .at = l->at, .nr = k->nr};

	if (!VEC_ROOM(k->chunks, k->k.nr_chunks + 1, k->cap_chunks)) {
		l->err = -ENOMEM;
		return false;
	}
	memcpy(c.before, k->before, sizeof(c.before));
	c.top = top_of(k, &c.top_time);
	if (k->nr == 1)
		c.top = k->item[0].what;
	if (k->nr > 1 && !lane_counts(k->k.kind)) {
		if (l->shown)
			c.at = show_items(l, k);
		else
			lanes_fill_write(l, k->item, k->nr * sizeof(*k->item));
	}
	k->chunks[k->k.nr_chunks] = c;
	return !l->err;
}

static void close_chunk(struct lanes_fill *l, struct lane_fill *k)
{
	if (!k->nr || !put_chunk(l, k))
		return;
	k->k.nr_chunks++;
	memcpy(k->before, k->k.sum, sizeof(k->before));
	k->nr = k->nr_shown = 0;
	k->room = 0;
}

/* Of lanes that count the first chunks are small: where the events lie in them is not kept. */
static uint32_t chunk_limit(const struct lane_fill *k)
{
	if (!lane_counts(k->k.kind))
		return LANE_CHUNK;
	return k->k.nr < 256 * 8		      ? 8
	       : k->k.nr < 256ull * LANE_CHUNK_COUNTS ? (uint32_t)(k->k.nr / 256)
						      : LANE_CHUNK_COUNTS;
}

/* Nor is a chunk of them a large part of the time so far: bursts would be drawn as if their events were spread over it. */
static bool is_long(const struct lane_fill *k, uint64_t from)
{
	return lane_counts(k->k.kind) && from - k->base > from / 128;
}

static void add_sum(struct lane_fill *k, uint32_t what, uint32_t class, uint64_t time)
{
	if (lane_counts(k->k.kind))
		k->k.sum[0]++;
	else
		k->k.sum[class] += time;
	if (k->k.kind == LANE_LOST && what < LANE_LOST_MANY)
		k->k.sum[0] += what;
}

void lanes_fill_put(struct lanes_fill *l, struct lane_fill *k, uint64_t from, uint64_t to,
		    uint32_t what, uint32_t class, uint32_t flags)
{
	bool counts = lane_counts(k->k.kind);
	uint64_t len;

	if (from < k->end) {
		if (to <= k->end && !counts)
			return;
		from = k->end;
	}
	if (counts || to < from)
		to = from;
	len = to - from;
	if (k->nr && (k->nr >= chunk_limit(k) || is_long(k, from) || from - k->base > UINT32_MAX ||
		      len > UINT32_MAX || k->item[0].len == UINT32_MAX))
		close_chunk(l, k);
	if (l->err)
		return;
	if (!VEC_ROOM(k->item, k->nr, k->cap)) {
		l->err = -ENOMEM;
		return;
	}
	if (!k->nr)
		k->base = from;
	if (k->k.kind != LANE_COUNTER)
		what = (what & LANE_WHAT) | class << 24 | (flags & 0x3f) << 26;
	k->item[k->nr++] = (struct lane_item){(uint32_t)(from - k->base),
					      len > UINT32_MAX ? UINT32_MAX : (uint32_t)len, what};
	k->end = to;
	k->k.nr++;
	add_sum(k, what & LANE_WHAT, class, len);
}

void lanes_fill_free_depth(struct lanes_fill *l, enum lane_kind kind, uint32_t id, uint32_t cpu,
			   uint32_t depth, uint64_t from, uint64_t to, uint32_t what,
			   uint32_t flags)
{
	struct lane_fill *k;

	do
		k = lanes_fill_lane(l, kind, id, cpu, depth);
	while (k && k->end > from && ++depth < DEPTH_MAX);
	if (k)
		lanes_fill_put(l, k, from, to, what, 0, flags);
}

/* ---- while it is shown ---- */

void lanes_fill_now(struct lane_fill *k, uint64_t from, uint64_t to, uint32_t what, uint32_t class,
		    uint32_t flags)
{
	if (from < k->end)
		from = k->end;
	if (k->k.kind != LANE_COUNTER)
		what = (what & LANE_WHAT) | class << 24 | (flags & 0x3f) << 26;
	if (to > from)
		k->now = (struct lane_span){from, to, what};
}

void lanes_fill_now_depth(struct lanes_fill *l, enum lane_kind kind, uint32_t id, uint32_t cpu,
			  uint32_t depth, struct lane_span s, uint32_t flags)
{
	struct lane_fill *k;

	do
		k = lanes_fill_lane(l, kind, id, cpu, depth);
	while (k && (k->end > s.from || k->now.from != UINT64_MAX) && ++depth < DEPTH_MAX);
	if (k)
		lanes_fill_now(k, s.from, s.to, s.what, 0, flags);
}

bool lanes_fill_show(struct lanes_fill *l, struct lane_fill *k, struct lane *out)
{
	uint32_t class = k->k.kind == LANE_COUNTER ? 0 : lane_class(k->now.what);

	*out = k->k;
	if (k->nr) {
		if (!put_chunk(l, k))
			return false;
		out->nr_chunks++;
	}
	if (k->now.from == UINT64_MAX)
		return true;
	if (!VEC_ROOM(k->chunks, out->nr_chunks, k->cap_chunks)) {
		l->err = -ENOMEM;
		return false;
	}
	k->chunks[out->nr_chunks] = (struct lane_chunk){
		.from = k->now.from, .to = k->now.to, .nr = 1, .top = k->now.what};
	memcpy(k->chunks[out->nr_chunks++].before, k->k.sum, sizeof(k->k.sum));
	out->nr++;
	out->sum[class] += k->now.to - k->now.from;
	k->now.from = UINT64_MAX;
	return true;
}

/* ---- the end ---- */

static int by_place(const void *a, const void *b)
{
	const struct lane *x = &((const struct lane_place *)a)->k->k,
			  *y = &((const struct lane_place *)b)->k->k;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return (x->depth > y->depth) - (x->depth < y->depth);
}

int lanes_fill_end(struct lanes_fill *l, struct lanes_header *h)
{
	static const char zeros[8];

	for (size_t i = 0; i < l->nr; i++)
		close_chunk(l, l->v[i].k);
	if (l->nr)
		qsort(l->v, l->nr, sizeof(*l->v), by_place);
	lanes_fill_write(l, zeros, -l->at & 7);
	h->chunks_at = l->at;
	for (size_t i = 0; i < l->nr; i++) {
		struct lane_fill *k = l->v[i].k;

		k->k.first_chunk = h->nr_chunks;
		h->nr_chunks += k->k.nr_chunks;
		lanes_fill_write(l, k->chunks, k->k.nr_chunks * sizeof(*k->chunks));
	}
	h->lanes_at = l->at;
	h->nr_lanes = l->nr;
	for (size_t i = 0; i < l->nr; i++)
		lanes_fill_write(l, &l->v[i].k->k, sizeof(struct lane));
	return l->err;
}

void lanes_fill_free(struct lanes_fill *l)
{
	for (size_t i = 0; i < l->nr; i++)
		free_lane(l->v[i].k);
	free(l->v);
	idmap_free(&l->by_key);
}
