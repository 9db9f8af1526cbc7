/* SPDX-License-Identifier: MIT */
/* map.c -- the maps of a program that runs on the host: hash tables by words. */
#include "program/map.h"

#include <stdlib.h>
#include <string.h>

uint32_t map_buckets(const struct map_spec *spec)
{
	if (spec->value.kind == VALUE_HIST)
		return BPF_LOG2_BUCKETS;
	return bpf_linear_buckets(spec->min, spec->max, spec->step);
}

enum bpf_map_kind map_kind(const struct map_spec *spec)
{
	switch (spec->value.kind) {
	case VALUE_COUNT:
	case VALUE_SUM: return BPF_MAP_COUNTS;
	case VALUE_MIN:
	case VALUE_MAX:
	case VALUE_AVG:
	case VALUE_STATS: return BPF_MAP_NOTES;
	case VALUE_HIST: return BPF_MAP_LOG2;
	case VALUE_LHIST: return BPF_MAP_LINEAR;
	default: return BPF_MAP_HASH;
	}
}

struct bpf_map_info map_info(const struct map_spec *spec)
{
	if (spec->raw.is)
		return (struct bpf_map_info){spec->raw.key_bytes, spec->raw.value_bytes,
					     spec->raw.kind};
	return (struct bpf_map_info){spec->key_bytes, map_words(spec) * 8, map_kind(spec)};
}

uint32_t map_words(const struct map_spec *spec)
{
	switch (spec->value.kind) {
	case VALUE_MIN:
	case VALUE_MAX:
	case VALUE_AVG:
	case VALUE_STATS: return sizeof(struct bpf_noted) / 8;
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

static inline uint64_t hash_of(const uint64_t *key, uint32_t words)
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

static inline bool same_key(const uint64_t *a, const void *b, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++) {
		uint64_t w;

		memcpy(&w, (const char *)b + i * 8, 8);
		if (a[i] != w)
			return false;
	}
	return true;
}

/* The slot of the key, or the empty one where it belongs. There is always an empty one. */
static inline size_t slot_of(const struct map *m, uint64_t hash, const void *key)
{
	size_t i = hash & (m->cap - 1);

	while (m->slots[i] &&
	       (m->slots[i]->hash != hash || !same_key(m->slots[i]->data, key, m->key_words)))
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
	struct bpf_noted *n = (struct bpf_noted *)map_at(m, key, true);

	if (!n->count || (m->spec->value.is_signed ? v < n->min : (uint64_t)v < (uint64_t)n->min))
		n->min = v;
	if (!n->count || (m->spec->value.is_signed ? v > n->max : (uint64_t)v > (uint64_t)n->max))
		n->max = v;
	n->count++;
	n->total += v;
}

void map_hist(struct map *m, const void *key, int64_t v)
{
	const struct map_spec *s = m->spec;
	uint32_t bucket = s->value.kind == VALUE_HIST
				  ? bpf_log2_bucket(v)
				  : bpf_linear_bucket(s->min, s->max, s->step, v);

	map_at(m, key, true)[bucket]++;
}

static void merge_noted(struct bpf_noted *to, const struct bpf_noted *from, bool is_signed)
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

void map_put(struct map *to, const void *key, const uint64_t *value)
{
	bool known = map_at(to, key, false);
	uint64_t *v = map_at(to, key, true);
	uint32_t k;

	switch (to->spec->value.kind) {
	case VALUE_MIN:
	case VALUE_MAX:
	case VALUE_AVG:
	case VALUE_STATS:
		merge_noted((struct bpf_noted *)v, (const struct bpf_noted *)value,
			    to->spec->value.is_signed);
		break;
	default:
		for (k = 0; k < to->value_words && (!known || type_is_gathered(&to->spec->value));
		     k++)
			v[k] += value[k];
	}
}

void map_merge(struct map *to, const struct map *from)
{
	size_t i;

	for (i = 0; i < from->cap; i++)
		if (from->slots[i])
			map_put(to, from->slots[i]->data, map_value(from, from->slots[i]));
}
