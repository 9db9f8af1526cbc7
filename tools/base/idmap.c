/* SPDX-License-Identifier: MIT */
/* idmap.c -- things by a number: pids, addresses, pairs of small numbers. */
#include "base/idmap.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 16

static size_t home(const struct idmap *m, uint64_t key)
{
	return (key * 0x9e3779b97f4a7c15ull >> 32) & (m->cap - 1);
}

static struct idmap_slot *probe(const struct idmap *m, uint64_t key)
{
	size_t i = home(m, key);

	while (m->slots[i].value && m->slots[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

static bool grow(struct idmap *m)
{
	struct idmap n = {.nr = m->nr, .cap = m->cap ? m->cap * 2 : FIRST};

	/* Lookups in a large table are random: on huge pages their misses cost half. */
	n.slots = memory_large(n.cap * sizeof(*n.slots));
	if (!n.slots)
		return false;
	memset(n.slots, 0, n.cap * sizeof(*n.slots));
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].value)
			*probe(&n, m->slots[i].key) = m->slots[i];
	free(m->slots);
	*m = n;
	return true;
}

void *idmap_find(const struct idmap *m, uint64_t key)
{
	return m->cap ? probe(m, key)->value : NULL;
}

void **idmap_at(struct idmap *m, uint64_t key)
{
	struct idmap_slot *s;

	if (m->nr * 3 >= m->cap * 2 && !grow(m))
		return NULL;
	s = probe(m, key);
	if (!s->value) {
		s->key = key;
		m->nr++;
	}
	return &s->value;
}

/* Later entries move up, unless that would place them before their home slot. */
void *idmap_remove(struct idmap *m, uint64_t key)
{
	size_t mask = m->cap - 1, i = m->cap ? (size_t)(probe(m, key) - m->slots) : 0;
	void *value = m->cap ? m->slots[i].value : NULL;

	if (!value)
		return NULL;
	for (size_t k = (i + 1) & mask; m->slots[k].value; k = (k + 1) & mask)
		if (((k - home(m, m->slots[k].key)) & mask) >= ((k - i) & mask)) {
			m->slots[i] = m->slots[k];
			i = k;
		}
	m->slots[i] = (struct idmap_slot){0};
	m->nr--;
	return value;
}

void idmap_clear(struct idmap *m)
{
	if (m->cap)
		memset(m->slots, 0, m->cap * sizeof(*m->slots));
	m->nr = 0;
}

void idmap_free(struct idmap *m)
{
	free(m->slots);
	*m = (struct idmap){0};
}
