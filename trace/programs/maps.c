/* SPDX-License-Identifier: MIT */
/* maps.c -- the maps of programs: arrays and hashes that any context on any CPU changes at once. */
#include "programs/programs.h"
#include "wire/copy.h"

/*
 * The state of a slot is a word: what it is in bits 0 and 1, a part of its key's hash in bits 2 to 9, and above them a number
 * that changes each time the slot gets a key.
 *
 *	EMPTY --> BUSY --> LIVE --> DEAD --> BUSY --> LIVE ...
 *
 * M1  Only who moved a slot to BUSY, by compare-and-exchange, writes its key; LIVE is stored with release after that.
 * M2  A key was compared rightly if the state is the same word before and after: the slot had that key all the while.
 * M3  Of two makers of one key, the one whose slot comes later on the key's path gives it back and looks again, MAP_TRIES times
 *     at most: the other one may be below us on this CPU, and never gets on while we wait. Only then one key has two slots; a
 *     deletion takes both, a reader adds both up, and a lookup finds the first one always.
 * M4  A slot never becomes EMPTY again while programs run, so every key on a probe path stays in reach.
 */
enum slot_state {
	SLOT_EMPTY,
	SLOT_BUSY,
	SLOT_DEAD,
	SLOT_LIVE,
	SLOT_IS = 3,
};
#define SLOT_TAG  0x3fcu
#define SLOT_TURN 0x400u

#define MAP_BYTES_MAX (64u << 20)
#define MAP_TRIES     256u

static int map_is_array(const struct program_map *m)
{
	return m->spec.kind == BPF_MAP_ARRAY || m->spec.kind == BPF_MAP_PERCPU_ARRAY;
}

static int map_is_percpu(const struct program_map *m)
{
	return m->spec.kind == BPF_MAP_PERCPU_HASH || m->spec.kind == BPF_MAP_PERCPU_ARRAY;
}

/* What its kind asks of the sizes. */
static int map_fits(const struct bpf_image_map *s)
{
	uint32_t buckets = BPF_LOG2_BUCKETS;

	switch (s->kind) {
	case BPF_MAP_ARRAY:
	case BPF_MAP_PERCPU_ARRAY: return s->key_bytes == 4;
	case BPF_MAP_NOTES: return s->value_bytes == sizeof(struct bpf_noted);
	case BPF_MAP_COUNTS: return s->value_bytes == 8;
	case BPF_MAP_LINEAR:
		if (s->step <= 0 || s->max <= s->min ||
		    ((uint64_t)s->max - (uint64_t)s->min) >> 10 > (uint64_t)s->step)
			return 0;
		buckets = bpf_linear_buckets(s->min, s->max, s->step);
		return s->value_bytes == buckets * 8;
	case BPF_MAP_LOG2: return s->value_bytes == buckets * 8;
	default: return s->kind < BPF_MAP_KINDS;
	}
}

int fathom_map_init(struct program_map *m)
{
	const struct bpf_image_map *s = &m->spec;
	uint64_t bytes;

	if (s->kind == BPF_MAP_RING)
		return 0;
	if (!map_fits(s) || !s->entries || s->entries > 1u << 20 || !s->value_bytes ||
	    s->value_bytes > 65536 || s->key_bytes > 512)
		return -FATHOM_EINVAL;
	m->nr = s->entries;
	if (!map_is_array(m)) {
		uint32_t want = s->key_bytes ? m->nr + m->nr / 2 : 2;

		for (m->nr = 1; m->nr < want; m->nr *= 2)
			;
		m->key_room = (s->key_bytes + 7) & ~7u;
	}
	m->value_room = (s->value_bytes + 7) & ~7u;
	m->copies = map_is_percpu(m) ? fathom_core.nr_cpus : 1;
	m->stride = m->key_room + m->copies * m->value_room;
	bytes = (uint64_t)m->nr * m->stride;
	if (bytes > MAP_BYTES_MAX)
		return -FATHOM_E2BIG;
	m->data = fathom_pool_get((size_t)bytes);
	m->state = fathom_pool_get(m->nr * sizeof(*m->state));
	if (!m->data || !m->state)
		return -FATHOM_ENOMEM;
	if (map_is_array(m))
		for (uint32_t i = 0; i < m->nr; i++)
			m->state[i] = SLOT_LIVE;
	return 0;
}

uint8_t *fathom_map_value(const struct program_map *m, uint32_t slot, uint32_t cpu)
{
	return m->data + (size_t)slot * m->stride + m->key_room +
	       (m->copies > 1 && cpu < m->copies ? cpu * m->value_room : 0);
}

static uint32_t map_hash(const uint8_t *key, uint32_t n)
{
	uint32_t h = 2166136261u, w;

	for (; n >= 4; n -= 4, key += 4) {
		__builtin_memcpy(&w, key, 4);
		h = (h ^ w) * 0x9e3779b1u;
		h ^= h >> 15;
	}
	for (; n; n--)
		h = (h ^ *key++) * 16777619u;
	h ^= h >> 13;
	h *= 0x85ebca6bu;
	return h ^ h >> 16;
}

/* A walk over the slots that a key may have. */
struct map_walk {
	uint32_t at, left, tag;
	uint32_t seen; /* state of the slot at hand */
};

static void map_walk(const struct program_map *m, const void *key, struct map_walk *w)
{
	uint32_t hash = map_hash(key, m->spec.key_bytes);

	w->at = hash - 1;
	w->tag = hash >> 22 & SLOT_TAG;
	w->left = m->nr < PROGRAM_PROBES ? m->nr : PROGRAM_PROBES;
}

/* The next slot; 0: there is no other. Keeps M2. */
static int map_next(const struct program_map *m, struct map_walk *w)
{
	if (!w->left--)
		return 0;
	w->at = (w->at + 1) & (m->nr - 1);
	/* Pairs with the release in map_fill(). */
	w->seen = __atomic_load_n(&m->state[w->at], __ATOMIC_ACQUIRE);
	return 1;
}

static int map_matches(const struct program_map *m, const struct map_walk *w, const void *key)
{
	if ((w->seen & (SLOT_IS | SLOT_TAG)) != (SLOT_LIVE | w->tag) ||
	    !wire_same(m->data + (size_t)w->at * m->stride, key, m->spec.key_bytes))
		return 0;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&m->state[w->at], __ATOMIC_RELAXED) == w->seen;
}

static int32_t map_index(const struct program_map *m, const void *key)
{
	uint32_t i;

	wire_copy(&i, key, 4);
	return i < m->nr ? (int32_t)i : -1;
}

int32_t fathom_map_find(const struct program_map *m, const void *key)
{
	struct map_walk w;

	if (map_is_array(m))
		return map_index(m, key);
	map_walk(m, key, &w);
	while (map_next(m, &w) && (w.seen & SLOT_IS) != SLOT_EMPTY)
		if (map_matches(m, &w, key))
			return (int32_t)w.at;
	return -1;
}

/* Before the first number, every number is smaller and larger. */
static void map_begin_note(const struct program_map *m, struct bpf_noted *n)
{
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
	if (m->spec.kind == BPF_MAP_NOTES)
		map_begin_note(m, (struct bpf_noted *)(void *)(at + m->key_room));
	else if (value)
		wire_copy(at + m->key_room, value, m->spec.value_bytes);
	__atomic_store_n(&m->state[w->at],
			 (busy & ~(uint32_t)(SLOT_IS | SLOT_TAG)) | SLOT_LIVE | w->tag,
			 __ATOMIC_RELEASE);
}

/* Somebody else has made the key by now, or is about to and comes first. We hold room.at. */
static int map_yields(const struct program_map *m, const void *key, uint32_t at)
{
	struct map_walk w;
	int earlier = 1;

	map_walk(m, key, &w);
	while (map_next(m, &w) && (w.seen & SLOT_IS) != SLOT_EMPTY) {
		if (w.at == at)
			earlier = 0;
		else if (map_matches(m, &w, key) ||
			 (earlier && (w.seen & (SLOT_IS | SLOT_TAG)) == (SLOT_BUSY | w.tag)))
			return 1;
	}
	return 0;
}

/* Where the key is, or where it can be made. */
enum map_found {
	MAP_FULL,
	MAP_THERE,
	MAP_ROOM,
	MAP_WAIT, /* full, but for one who may be making this key */
};

static enum map_found map_look(const struct program_map *m, const void *key, struct map_walk *at)
{
	enum map_found found = MAP_FULL;
	struct map_walk w;

	map_walk(m, key, &w);
	while (map_next(m, &w)) {
		if (map_matches(m, &w, key)) {
			*at = w;
			return MAP_THERE;
		}
		if (!(w.seen & 1) && found != MAP_ROOM) {
			*at = w;
			found = MAP_ROOM;
		}
		if ((w.seen & SLOT_IS) == SLOT_EMPTY)
			break;
		if ((w.seen & (SLOT_IS | SLOT_TAG)) == (SLOT_BUSY | w.tag) && found == MAP_FULL)
			found = MAP_WAIT;
	}
	return found;
}

int32_t fathom_map_insert(struct program_map *m, const void *key, const void *value)
{
	struct map_walk at;

	if (map_is_array(m))
		return map_index(m, key);
	for (uint32_t tries = 0; tries <= MAP_TRIES; tries++) {
		enum map_found found = map_look(m, key, &at);
		uint32_t busy;

		if (found == MAP_THERE)
			return (int32_t)at.at;
		if (found == MAP_FULL)
			break;
		if (found == MAP_WAIT)
			continue;
		busy = ((at.seen & ~(uint32_t)(SLOT_IS | SLOT_TAG)) + SLOT_TURN) | SLOT_BUSY |
		       at.tag;
		if (!__atomic_compare_exchange_n(&m->state[at.at], &at.seen, busy, 0,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		__atomic_thread_fence(__ATOMIC_SEQ_CST); /* of two makers, one sees the other */
		if (tries < MAP_TRIES && map_yields(m, key, at.at)) {
			__atomic_store_n(&m->state[at.at], (busy & ~(uint32_t)SLOT_IS) | SLOT_DEAD,
					 __ATOMIC_RELEASE);
			continue;
		}
		map_fill(m, &at, busy, key, value);
		return (int32_t)at.at;
	}
	__atomic_fetch_add(&m->dropped, 1, __ATOMIC_RELAXED);
	return -1;
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
	map_walk(m, key, &w);
	while (map_next(m, &w) && (w.seen & SLOT_IS) != SLOT_EMPTY)
		if (map_matches(m, &w, key))
			found |= __atomic_compare_exchange_n(
				&m->state[w.at], &w.seen, (w.seen & ~(uint32_t)SLOT_IS) | SLOT_DEAD,
				0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return found ? 0 : -FATHOM_ENOENT;
}

/* ---- gathering ---- */

static uint64_t word_add(void *at, uint64_t by)
{
#if UINTPTR_MAX > 0xffffffffu
	return __atomic_add_fetch((uint64_t *)at, by, __ATOMIC_RELAXED);
#else
	uint64_t now;

	program_sum(at, by);
	__builtin_memcpy(&now, at, 8);
	return now;
#endif
}

static uint8_t *map_gather(struct program_map *m, const void *key, uint32_t cpu)
{
	int32_t slot = fathom_map_find(m, key);

	if (slot < 0)
		slot = fathom_map_insert(m, key, 0);
	return slot < 0 ? 0 : fathom_map_value(m, (uint32_t)slot, cpu);
}

uint64_t fathom_map_add(struct program_map *m, const void *key, uint64_t by, uint32_t cpu)
{
	uint8_t *v = map_gather(m, key, cpu);

	return v ? word_add(v, by) : 0;
}

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
	struct bpf_noted *n = (struct bpf_noted *)(void *)map_gather(m, key, 0);

	if (!n)
		return;
	word_add(&n->count, 1);
	word_add(&n->total, (uint64_t)v);
	note_edge(m, &n->min, v, 0);
	note_edge(m, &n->max, v, 1);
}

void fathom_map_hist(struct program_map *m, const void *key, int64_t v)
{
	uint8_t *at = map_gather(m, key, 0);
	uint32_t bucket = m->spec.kind == BPF_MAP_LOG2
				  ? bpf_log2_bucket(v)
				  : bpf_linear_bucket(m->spec.min, m->spec.max, m->spec.step, v);

	if (at)
		word_add(at + bucket * 8, 1);
}

/* ---- for the tree ---- */

void fathom_map_zero(struct program_map *m)
{
	for (uint32_t i = 0; i < m->nr; i++) {
		uint8_t *at = m->data + (size_t)i * m->stride + m->key_room;

		wire_fill(at, 0, m->stride - m->key_room);
		if (m->spec.kind == BPF_MAP_NOTES)
			map_begin_note(m, (struct bpf_noted *)(void *)at);
	}
}

/* Programs may run meanwhile: slots are deleted one by one. */
void fathom_map_clear(struct program_map *m)
{
	if (map_is_array(m)) {
		fathom_map_zero(m);
		return;
	}
	for (uint32_t i = 0; i < m->nr; i++) {
		uint32_t seen = __atomic_load_n(&m->state[i], __ATOMIC_RELAXED);

		if ((seen & SLOT_IS) == SLOT_LIVE)
			__atomic_compare_exchange_n(&m->state[i], &seen,
						    (seen & ~(uint32_t)SLOT_IS) | SLOT_DEAD, 0,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

static void show_words(struct fathom_text *t, const uint8_t *at, uint32_t bytes, char between)
{
	for (uint32_t i = 0; i < bytes; i += 8) {
		uint64_t w;

		__builtin_memcpy(&w, at + i, 8);
		if (i)
			fathom_text_char(t, between);
		fathom_text_hex(t, w, 0, ' ');
	}
}

/* Of a histogram only the buckets that have something: `number:count`. */
static void show_buckets(struct fathom_text *t, const uint8_t *at, uint32_t bytes)
{
	const char *between = "";

	for (uint32_t i = 0; i < bytes; i += 8) {
		uint64_t w;

		__builtin_memcpy(&w, at + i, 8);
		if (!w)
			continue;
		fathom_text_str(t, between);
		fathom_text_hex(t, i / 8, 0, ' ');
		fathom_text_char(t, ':');
		fathom_text_hex(t, w, 0, ' ');
		between = " ";
	}
}

/* `KEY,KEY = VALUE VALUE`, words of 64 bits in hex; of each CPU `KEY @CPU = VALUE`. */
int fathom_map_show(const struct program_map *m, uint32_t slot, struct fathom_text *t)
{
	uint32_t seen;
	uint64_t index = slot;

	if (slot >= m->nr)
		return 0;
	seen = __atomic_load_n(&m->state[slot], __ATOMIC_ACQUIRE);
	for (uint32_t c = 0; c < m->copies && (seen & SLOT_IS) == SLOT_LIVE; c++) {
		const uint8_t *key = m->data + (size_t)slot * m->stride;

		if (map_is_array(m))
			show_words(t, (const uint8_t *)&index, 8, ',');
		else
			show_words(t, key, m->key_room, ',');
		if (m->copies > 1) {
			fathom_text_str(t, " @");
			fathom_text_u64(t, c, 0, ' ');
		}
		fathom_text_str(t, " = ");
		if (m->spec.kind == BPF_MAP_LOG2 || m->spec.kind == BPF_MAP_LINEAR)
			show_buckets(t, fathom_map_value(m, slot, c), m->value_room);
		else
			show_words(t, fathom_map_value(m, slot, c), m->value_room, ' ');
		fathom_text_char(t, '\n');
	}
	return slot + 1 < m->nr;
}
