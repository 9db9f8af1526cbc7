/* SPDX-License-Identifier: MIT */
/* map_change.c -- the maps of programs: made, and changed by any context on any CPU at once; histograms in them. */
#include "wire/cold.h"
#include "programs/maps.h"
#include "wire/copy.h"

#define MAP_BYTES_MAX (64u << 20)
#define MAP_TRIES     256u

/* By kind: bytes of a value; 0: any. */
static const uint16_t map_value_bytes[BPF_MAP_KINDS] = {
	[BPF_MAP_COUNTS] = 8,
	[BPF_MAP_NOTES] = sizeof(struct bpf_noted),
	[BPF_MAP_LOG2] = BPF_LOG2_BUCKETS * 8,
};

/* What its kind asks of the sizes. */
static int map_fits(const struct bpf_image_map *s, int array)
{
	uint32_t want = s->value_bytes;

	if (s->kind >= BPF_MAP_KINDS || !s->entries || s->entries > 1u << 20 || !want ||
	    want > 65536 || (array ? s->key_bytes != 4 : s->key_bytes > 512))
		return 0;
	if (map_value_bytes[s->kind])
		want = map_value_bytes[s->kind];
	if (s->kind == BPF_MAP_LINEAR) {
		if (s->step <= 0 || s->max <= s->min ||
		    ((uint64_t)s->max - (uint64_t)s->min) >> 10 > (uint64_t)s->step)
			return 0;
		want = bpf_linear_buckets(s->min, s->max, s->step) * 8;
	}
	return s->value_bytes == want;
}

int fathom_map_init(struct program_map *m)
{
	const struct bpf_image_map *s = &m->spec;
	int array = map_is_array(m);
	uint64_t bytes;

	if (s->kind == BPF_MAP_RING)
		return 0;
	if (!map_fits(s, array))
		return -FATHOM_EINVAL;
	m->nr = s->entries;
	if (!array) {
		uint32_t want = s->key_bytes ? m->nr + m->nr / 2 : 2;

		for (m->nr = 1; m->nr < want; m->nr *= 2)
			;
		m->key_room = (s->key_bytes + 7) & ~7u;
	}
	m->value_room = (s->value_bytes + 7) & ~7u;
	m->copies = s->kind == BPF_MAP_PERCPU_HASH || s->kind == BPF_MAP_PERCPU_ARRAY
			    ? fathom_core.nr_cpus
			    : 1;
	m->stride = m->key_room + m->copies * m->value_room;
	bytes = (uint64_t)m->nr * m->stride;
	if (bytes > MAP_BYTES_MAX)
		return -FATHOM_E2BIG;
	m->data = fathom_pool_get((size_t)bytes);
	m->state = fathom_pool_get(m->nr * sizeof(*m->state));
	if (!m->data || !m->state)
		return -FATHOM_ENOMEM;
	for (uint32_t i = 0; array && i < m->nr; i++)
		m->state[i] = SLOT_LIVE;
	return 0;
}

/* Before the first number, every number is smaller and larger. */
static void map_begin_note(const struct program_map *m, void *value)
{
	struct bpf_noted *n = value;

	if (m->spec.kind != BPF_MAP_NOTES)
		return;
	n->min = m->spec.is_signed ? INT64_MAX : -1;
	n->max = m->spec.is_signed ? INT64_MIN : 0;
}

/* The slot is BUSY by us: the key and the first value, then it is LIVE. Keeps M1. */
static void map_fill(struct program_map *m, const struct map_walk *w, uint32_t busy,
		     const void *key, const void *value)
{
	uint8_t *at = m->data + (size_t)w->at * m->stride;

	wire_fill(at, 0, m->stride);
	wire_copy(at, key, m->spec.key_bytes);
	if (value)
		wire_copy(at + m->key_room, value, m->spec.value_bytes);
	else
		map_begin_note(m, at + m->key_room);
	__atomic_store_n(&m->state[w->at],
			 (busy & ~(uint32_t)(SLOT_IS | SLOT_TAG)) | SLOT_LIVE | w->tag,
			 __ATOMIC_RELEASE);
}

/* Where the key is, or where it can be made. */
enum map_found {
	MAP_FULL,
	MAP_THERE,
	MAP_ROOM,
};
#define MAP_NO_SLOT UINT32_MAX

/* `busy` is the first slot where one like it is being made. */
static enum map_found map_look(const struct program_map *m, const void *key, struct map_walk *at,
			       uint32_t *busy)
{
	enum map_found found = MAP_FULL;
	struct map_walk w;

	*busy = MAP_NO_SLOT;
	fathom_map_walk(m, key, &w);
	while (fathom_map_next(m, &w)) {
		if (fathom_map_matches(m, &w, key)) {
			*at = w;
			return MAP_THERE;
		}
		if (!(w.seen & 1) && found == MAP_FULL) {
			*at = w;
			found = MAP_ROOM;
		}
		if ((w.seen & (SLOT_IS | SLOT_TAG)) == (SLOT_BUSY | w.tag) && *busy == MAP_NO_SLOT)
			*busy = w.at;
		if ((w.seen & SLOT_IS) == SLOT_EMPTY)
			break;
	}
	return found;
}

/* Make the key in its slot. 0: another context had the slot, or makes this key in one that comes first. Keeps M3. */
static int map_make(struct program_map *m, struct map_walk *at, const void *key, const void *value,
		    int last)
{
	uint32_t busy, first;
	struct map_walk other;

	busy = ((at->seen & ~(uint32_t)(SLOT_IS | SLOT_TAG)) + SLOT_TURN) | SLOT_BUSY | at->tag;
	if (!__atomic_compare_exchange_n(&m->state[at->at], &at->seen, busy, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return 0;
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* of two makers, one sees the other */
	if (!last && (map_look(m, key, &other, &first) == MAP_THERE || first != at->at)) {
		__atomic_store_n(&m->state[at->at], (busy & ~(uint32_t)SLOT_IS) | SLOT_DEAD,
				 __ATOMIC_RELEASE);
		return 0;
	}
	map_fill(m, at, busy, key, value);
	return 1;
}

int32_t fathom_map_insert(struct program_map *m, const void *key, const void *value)
{
	struct map_walk at;
	uint32_t busy;

	if (map_is_array(m))
		return fathom_map_find(m, key);
	for (uint32_t tries = 0; tries <= MAP_TRIES; tries++) {
		enum map_found found = map_look(m, key, &at, &busy);

		if (found == MAP_THERE ||
		    (found == MAP_ROOM && map_make(m, &at, key, value, tries == MAP_TRIES)))
			return (int32_t)at.at;
		if (found == MAP_FULL && busy == MAP_NO_SLOT)
			break;
	}
	__atomic_fetch_add(&m->dropped, 1, __ATOMIC_RELAXED);
	return -1;
}

/* 1 if it was still the key that was seen there. */
static int map_kill(struct program_map *m, uint32_t slot, uint32_t seen)
{
	return (seen & SLOT_IS) == SLOT_LIVE &&
	       __atomic_compare_exchange_n(&m->state[slot], &seen,
					   (seen & ~(uint32_t)SLOT_IS) | SLOT_DEAD, 0,
					   __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

enum update_flag {
	UPDATE_NEW = 1, /* only if it is not there */
	UPDATE_OLD = 2, /* only if it is */
};

int fathom_map_update(struct program_map *m, const void *key, const void *value, uint64_t flags,
		      uint32_t cpu)
{
	int32_t slot = fathom_map_find(m, key);

	if (flags > UPDATE_OLD)
		return -FATHOM_EINVAL;
	if (slot >= 0 && flags == UPDATE_NEW)
		return -FATHOM_EEXIST;
	if (slot < 0 && (flags == UPDATE_OLD || map_is_array(m)))
		return map_is_array(m) ? -FATHOM_E2BIG : -FATHOM_ENOENT;
	if (slot < 0) /* the value of one CPU: the others' begin with zeros */
		slot = fathom_map_insert(m, key, m->copies == 1 ? value : 0);
	if (slot < 0)
		return -FATHOM_E2BIG;
	wire_copy(fathom_map_value(m, (uint32_t)slot, cpu), value, m->spec.value_bytes);
	return 0;
}

int fathom_map_delete(struct program_map *m, const void *key)
{
	struct map_walk w;
	int found = 0;

	if (map_is_array(m))
		return -FATHOM_EINVAL;
	fathom_map_walk(m, key, &w);
	while (fathom_map_next(m, &w) && (w.seen & SLOT_IS) != SLOT_EMPTY)
		if (fathom_map_matches(m, &w, key))
			found |= map_kill(m, w.at, w.seen);
	return found ? 0 : -FATHOM_ENOENT;
}

/* ---- gathering ---- */

static int note_is_less(const struct program_map *m, int64_t a, int64_t b)
{
	return m->spec.is_signed ? a < b : (uint64_t)a < (uint64_t)b;
}

/*
 * Store v if it is beyond what is there. A 32-bit machine cannot compare and exchange 64 bits: there an interrupt between the
 * comparison and the store can have its own minimum replaced by this one.
 */
static void note_edge(const struct program_map *m, int64_t *at, int64_t v, int max)
{
	int64_t now;

#if UINTPTR_MAX > 0xffffffffu
	now = __atomic_load_n(at, __ATOMIC_RELAXED);
	while ((max ? note_is_less(m, now, v) : note_is_less(m, v, now)) &&
	       !__atomic_compare_exchange_n(at, &now, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
#else
	now = *at;
	if (max ? note_is_less(m, now, v) : note_is_less(m, v, now))
		*at = v;
#endif
}

void fathom_map_note(struct program_map *m, const void *key, int64_t v)
{
	struct bpf_noted *n = (struct bpf_noted *)(void *)fathom_map_gather(m, key, 0);

	if (!n)
		return;
	fathom_map_word_add(&n->count, 1);
	fathom_map_word_add(&n->total, (uint64_t)v);
	note_edge(m, &n->min, v, 0);
	note_edge(m, &n->max, v, 1);
}

void fathom_map_hist(struct program_map *m, const void *key, int64_t v)
{
	uint8_t *at = fathom_map_gather(m, key, 0);
	uint32_t bucket = m->spec.kind == BPF_MAP_LOG2
				  ? bpf_log2_bucket(v)
				  : bpf_linear_bucket(m->spec.min, m->spec.max, m->spec.step, v);

	if (at)
		fathom_map_word_add(at + bucket * 8, 1);
}

/* ---- for the tree ---- */

/* Programs may run meanwhile: slots are deleted one by one. */
void fathom_map_reset(struct program_map *m, int clear)
{
	for (uint32_t i = 0; i < m->nr; i++) {
		uint8_t *at = fathom_map_value(m, i, 0);

		if (clear && !map_is_array(m)) {
			map_kill(m, i, __atomic_load_n(&m->state[i], __ATOMIC_RELAXED));
			continue;
		}
		wire_fill(at, 0, m->stride - m->key_room);
		map_begin_note(m, at);
	}
}
