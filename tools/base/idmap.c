/* SPDX-License-Identifier: MIT */
/* idmap.c -- things by a number: pids, addresses, pairs of small numbers. */
#include "base/idmap.h"

#include <stdbool.h>
#include <stdlib.h>

#define FIRST 256

static struct idmap_slot *probe(const struct idmap *m, uint64_t key)
{
	size_t i = (key * 0x9e3779b97f4a7c15ull >> 32) & (m->cap - 1);

	while (m->slots[i].value && m->slots[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

static bool grow(struct idmap *m)
{
	struct idmap n = {.nr = m->nr, .cap = m->cap ? m->cap * 2 : FIRST};

	n.slots = calloc(n.cap, sizeof(*n.slots));
	if (!n.slots)
		return false;
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

	if (m->nr * 2 >= m->cap && !grow(m))
		return NULL;
	s = probe(m, key);
	if (!s->value) {
		s->key = key;
		m->nr++;
	}
	return &s->value;
}

void idmap_free(struct idmap *m)
{
	free(m->slots);
	*m = (struct idmap){0};
}
