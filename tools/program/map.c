/* SPDX-License-Identifier: MIT */
/* map.c -- the maps of a program that runs on the host: hash tables by words. */
#include "program/map.h"

#include <stdlib.h>
#include <string.h>

uint32_t map_buckets(const struct map_spec *spec)
{
	if (spec->value.kind == VALUE_HIST)
		return HIST_BUCKETS;
	return (uint32_t)((spec->max - spec->min) / spec->step) + 2;
}

uint32_t map_words(const struct map_spec *spec)
{
	switch (spec->value.kind) {
	case VALUE_MIN:
	case VALUE_MAX:
	case VALUE_AVG:
	case VALUE_STATS: return sizeof(struct noted) / 8;
	case VALUE_HIST:
	case VALUE_LHIST: return map_buckets(spec);
	default: return spec->value_bytes / 8;
	}
}

void map_init(struct map *m, const struct map_spec *spec)
{
	*m = (struct map){
		.spec = spec, .key_words = spec->key_bytes / 8, .value_words = map_words(spec)};
}

void map_free(struct map *m)
{
	free(m->slots);
	arena_free(m->arena);
	m->slots = NULL;
	m->arena = NULL;
}

void map_clear(struct map *m)
{
	const struct map_spec *spec = m->spec;

	map_free(m);
	map_init(m, spec);
}

void map_zero(struct map *m)
{
	size_t i;

	for (i = 0; i < m->cap; i++)
		if (m->slots[i])
			memset(map_value(m, m->slots[i]), 0, m->value_words * 8);
}

static uint64_t hash_of(const uint64_t *key, uint32_t words)
{
	uint64_t h = 0x9e3779b97f4a7c15;
	uint32_t i;

	for (i = 0; i < words; i++) {
		uint64_t w;

		memcpy(&w, (const char *)key + i * 8, 8);
		h = (h ^ w) * 0xff51afd7ed558ccd;
		h ^= h >> 32;
	}
	return h;
}

/* The slot of the key, or the empty one where it belongs. There is always an empty one. */
static size_t slot_of(const struct map *m, uint64_t hash, const void *key)
{
	size_t i = hash & (m->cap - 1);

	while (m->slots[i] &&
	       (m->slots[i]->hash != hash || memcmp(m->slots[i]->data, key, m->key_words * 8)))
		i = (i + 1) & (m->cap - 1);
	return i;
}

static void grow(struct map *m)
{
	struct map_entry **old = m->slots;
	size_t cap = m->cap, i;

	m->cap = cap ? cap * 2 : 64;
	m->slots = calloc(m->cap, sizeof(*m->slots));
	if (!m->slots)
		abort();
	for (i = 0; i < cap; i++)
		if (old[i])
			m->slots[slot_of(m, old[i]->hash, old[i]->data)] = old[i];
	free(old);
}

uint64_t *map_at(struct map *m, const void *key, bool make)
{
	uint64_t hash = hash_of(key, m->key_words);
	struct map_entry *e;
	size_t i, words = m->key_words + m->value_words;

	if (m->cap) {
		i = slot_of(m, hash, key);
		if (m->slots[i])
			return map_value(m, m->slots[i]);
	}
	if (!make)
		return NULL;
	if ((m->nr + 1) * 4 > m->cap * 3)
		grow(m);
	e = m->free;
	if (e)
		m->free = e->next_free;
	else
		e = arena_take(&m->arena, sizeof(*e) + words * 8);
	e->hash = hash;
	memcpy(e->data, key, m->key_words * 8);
	memset(map_value(m, e), 0, m->value_words * 8);
	m->slots[slot_of(m, hash, key)] = e;
	m->nr++;
	return map_value(m, e);
}

/* Entries after the gap that would no longer be found move into it. */
static void close_gap(struct map *m, size_t gap)
{
	size_t i = gap;

	for (;;) {
		i = (i + 1) & (m->cap - 1);
		if (!m->slots[i])
			break;
		if (((i - m->slots[i]->hash) & (m->cap - 1)) >= ((i - gap) & (m->cap - 1))) {
			m->slots[gap] = m->slots[i];
			gap = i;
		}
	}
	m->slots[gap] = NULL;
}

void map_delete(struct map *m, const void *key)
{
	struct map_entry *e;
	size_t i;

	if (!m->cap)
		return;
	i = slot_of(m, hash_of(key, m->key_words), key);
	e = m->slots[i];
	if (!e)
		return;
	close_gap(m, i);
	e->next_free = m->free;
	m->free = e;
	m->nr--;
}

int64_t map_add(struct map *m, const void *key, int64_t by)
{
	uint64_t *v = map_at(m, key, true);

	*v += (uint64_t)by;
	return (int64_t)*v;
}

void map_note(struct map *m, const void *key, int64_t v)
{
	struct noted *n = (struct noted *)map_at(m, key, true);

	if (!n->count || (m->spec->value.is_signed ? v < n->min : (uint64_t)v < (uint64_t)n->min))
		n->min = v;
	if (!n->count || (m->spec->value.is_signed ? v > n->max : (uint64_t)v > (uint64_t)n->max))
		n->max = v;
	n->count++;
	n->total += v;
}

static uint32_t bucket_of(const struct map_spec *s, int64_t v)
{
	if (s->value.kind == VALUE_HIST)
		return v < 0 ? 0 : v == 0 ? 1 : 65 - (uint32_t)__builtin_clzll((uint64_t)v);
	if (v < s->min)
		return 0;
	if (v >= s->max)
		return map_buckets(s) - 1;
	return (uint32_t)((v - s->min) / s->step) + 1;
}

void map_hist(struct map *m, const void *key, int64_t v)
{
	map_at(m, key, true)[bucket_of(m->spec, v)]++;
}

static void merge_noted(struct noted *to, const struct noted *from, bool is_signed)
{
	if (!from->count)
		return;
	if (!to->count ||
	    (is_signed ? from->min < to->min : (uint64_t)from->min < (uint64_t)to->min))
		to->min = from->min;
	if (!to->count ||
	    (is_signed ? from->max > to->max : (uint64_t)from->max > (uint64_t)to->max))
		to->max = from->max;
	to->count += from->count;
	to->total += from->total;
}

void map_merge(struct map *to, const struct map *from)
{
	size_t i;
	uint32_t k;

	for (i = 0; i < from->cap; i++) {
		struct map_entry *e = from->slots[i];
		uint64_t *v, *add;

		if (!e)
			continue;
		v = map_at(to, e->data, true);
		add = map_value(from, e);
		switch (to->spec->value.kind) {
		case VALUE_MIN:
		case VALUE_MAX:
		case VALUE_AVG:
		case VALUE_STATS:
			merge_noted((struct noted *)v, (struct noted *)add,
				    to->spec->value.is_signed);
			break;
		default:
			for (k = 0; k < from->value_words; k++)
				v[k] += add[k];
		}
	}
}
