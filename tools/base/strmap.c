/* SPDX-License-Identifier: MIT */
/* strmap.c -- strings, each kept once and numbered from 0: the one map by name. */
#include "base/strmap.h"
#include "base/vec.h"

#define FIRST 1024u

/* Reads whole words where 8 bytes are left, so that no byte past the name is touched. */
static uint64_t hash(const char *p, uint32_t n)
{
	uint64_t h = n * 0x9e3779b97f4a7c15ull, w;

	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	for (w = 0; n; n--)
		w = w << 8 | (unsigned char)p[n - 1];
	h = (h ^ w) * 0xc4ceb9fe1a85ec53ull;
	return h ^ h >> 29;
}

static void put(uint64_t *slot, uint32_t nr_slots, uint64_t h, uint32_t number)
{
	uint32_t at = (uint32_t)h & (nr_slots - 1);

	while (slot[at])
		at = (at + 1) & (nr_slots - 1);
	slot[at] = (h & 0xffffffff00000000ull) | (number + 1);
}

/* At most half of the slots are in use. */
static bool grow(struct strmap *m)
{
	uint32_t n = m->nr_slots ? m->nr_slots * 2 : FIRST;
	uint64_t *slot = n <= 1u << 30 ? calloc(n, sizeof(*slot)) : NULL;

	if (!slot)
		return false;
	for (uint32_t i = 0; i < m->nr; i++)
		put(slot, n, hash(m->word[i].p, m->word[i].n), i);
	free(m->slot);
	m->slot = slot;
	m->nr_slots = n;
	return true;
}

static uint32_t find(const struct strmap *m, const char *p, uint32_t n, uint64_t h)
{
	uint32_t mask = m->nr_slots - 1;

	for (uint32_t at = (uint32_t)h & mask; m->slot[at]; at = (at + 1) & mask) {
		uint32_t i = (uint32_t)m->slot[at] - 1;

		if (!((m->slot[at] ^ h) >> 32) && m->word[i].n == n && !memcmp(m->word[i].p, p, n))
			return i;
	}
	return STRMAP_NONE;
}

uint32_t strmap_find(const struct strmap *m, const char *p, uint32_t n)
{
	return m->nr ? find(m, p, n, hash(p, n)) : STRMAP_NONE;
}

static const char *copy(const struct strmap *m, const char *p, uint32_t n)
{
	char *to = calloc(1, n + 1ull > m->pad ? n + 1ull : m->pad);

	return to ? memcpy(to, p, n) : NULL;
}

uint32_t strmap_add(struct strmap *m, const char *p, uint32_t n)
{
	uint64_t h = hash(p, n);
	uint32_t i = m->nr ? find(m, p, n, h) : STRMAP_NONE;

	if (i != STRMAP_NONE)
		return i;
	if ((m->nr >= m->nr_slots / 2 && !grow(m)) || !VEC_MORE(m->word, m->nr) ||
	    (m->copies && !(p = copy(m, p, n))))
		return STRMAP_NONE;
	m->word[m->nr] = (struct word){p, n};
	put(m->slot, m->nr_slots, h, m->nr);
	return m->nr++;
}

void strmap_free(struct strmap *m)
{
	for (uint32_t i = 0; m->copies && i < m->nr; i++)
		free((char *)m->word[i].p);
	free(m->word);
	free(m->slot);
	*m = (struct strmap){.copies = m->copies, .pad = m->pad};
}
