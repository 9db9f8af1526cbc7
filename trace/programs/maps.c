/* SPDX-License-Identifier: MIT */
/* maps.c -- the maps of programs, as most runs use them: a key is found, and something added. */
#include "wire/cold.h"
#include "programs/maps.h"
#include "wire/copy.h"

/* What a run calls: where code may be large, without calls in it. */
#ifdef __OPTIMIZE_SIZE__
#define MAP_HOT
#else
#define MAP_HOT __attribute__((flatten))
#endif

uint8_t *fathom_map_value(const struct program_map *m, uint32_t slot, uint32_t cpu)
{
	return m->data + (size_t)slot * m->stride + m->key_room +
	       (m->copies > 1 && cpu < m->copies ? cpu * m->value_room : 0);
}

/* Keys may be unaligned. */
struct map_word {
	uint32_t w;
} __attribute__((packed, may_alias));

static uint32_t map_word(const uint8_t *key)
{
	return ((const struct map_word *)(const void *)key)->w;
}

static uint32_t map_hash(const uint8_t *key, uint32_t n)
{
	uint32_t h = 2166136261u;

	for (; n >= 4; n -= 4, key += 4) {
		h = (h ^ map_word(key)) * 0x9e3779b1u;
		h ^= h >> 15;
	}
	for (; n; n--)
		h = (h ^ *key++) * 16777619u;
	h ^= h >> 13;
	h *= 0x85ebca6bu;
	return h ^ h >> 16;
}

static int map_keys_equal(const uint8_t *a, const uint8_t *b, uint32_t n)
{
	for (; n >= 4; n -= 4, a += 4, b += 4)
		if (map_word(a) != map_word(b))
			return 0;
	return wire_same(a, b, n);
}

void fathom_map_walk(const struct program_map *m, const void *key, struct map_walk *w)
{
	uint32_t hash = map_hash(key, m->spec.key_bytes);

	w->at = hash - 1;
	w->tag = hash >> 22 & SLOT_TAG;
	w->left = m->nr < PROGRAM_PROBES ? m->nr : PROGRAM_PROBES;
}

int fathom_map_next(const struct program_map *m, struct map_walk *w)
{
	if (!w->left--)
		return 0;
	w->at = (w->at + 1) & (m->nr - 1);
	/* Pairs with the release in map_fill(). */
	w->seen = __atomic_load_n(&m->state[w->at], __ATOMIC_ACQUIRE);
	return 1;
}

int fathom_map_matches(const struct program_map *m, const struct map_walk *w, const void *key)
{
	if ((w->seen & (SLOT_IS | SLOT_TAG)) != (SLOT_LIVE | w->tag) ||
	    !map_keys_equal(m->data + (size_t)w->at * m->stride, key, m->spec.key_bytes))
		return 0;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&m->state[w->at], __ATOMIC_RELAXED) == w->seen;
}

MAP_HOT int32_t fathom_map_find(const struct program_map *m, const void *key)
{
	struct map_walk w;
	uint32_t i;

	if (map_is_array(m)) {
		i = map_word(key);
		return i < m->nr ? (int32_t)i : -1;
	}
	fathom_map_walk(m, key, &w);
	while (fathom_map_next(m, &w) && (w.seen & SLOT_IS) != SLOT_EMPTY)
		if (fathom_map_matches(m, &w, key))
			return (int32_t)w.at;
	return -1;
}

uint64_t fathom_map_word_add(void *at, uint64_t by)
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

MAP_HOT uint8_t *fathom_map_gather(struct program_map *m, const void *key, uint32_t cpu)
{
	int32_t slot = fathom_map_find(m, key);

	if (slot < 0)
		slot = fathom_map_insert(m, key, 0);
	return slot < 0 ? 0 : fathom_map_value(m, (uint32_t)slot, cpu);
}

MAP_HOT uint64_t fathom_map_add(struct program_map *m, const void *key, uint64_t by, uint32_t cpu)
{
	uint8_t *v = fathom_map_gather(m, key, cpu);

	return v ? fathom_map_word_add(v, by) : 0;
}
