/* SPDX-License-Identifier: MIT */
/* wordlist.c -- words, each kept once, told by their numbers from 0 on. */
#include "decode/names/wordlist.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash(const char *p, uint32_t n)
{
	uint32_t h = 2166136261u;

	for (uint32_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)p[i]) * 16777619u;
	return h ^ h >> 15;
}

/* At most half of the slots are taken. */
static bool grow(struct wordlist *l)
{
	uint32_t n = l->nr_slots ? l->nr_slots * 2 : 4096;
	uint32_t *slot = n <= 1u << 30 ? calloc(n, sizeof(*slot)) : NULL;
	struct word *word = slot ? realloc(l->word, n / 2 * sizeof(*word)) : NULL;

	if (!word) {
		free(slot);
		return false;
	}
	l->word = word;
	for (uint32_t i = 0; i < l->nr; i++) {
		uint32_t k = hash(word[i].p, word[i].n) & (n - 1);

		while (slot[k])
			k = (k + 1) & (n - 1);
		slot[k] = i + 1;
	}
	free(l->slot);
	l->slot = slot;
	l->nr_slots = n;
	return true;
}

uint32_t wordlist_add(struct wordlist *l, const char *p, uint32_t n)
{
	uint32_t k;

	if (l->nr == l->nr_slots / 2 && !grow(l))
		return WORD_NONE;
	k = hash(p, n) & (l->nr_slots - 1);
	for (; l->slot[k]; k = (k + 1) & (l->nr_slots - 1)) {
		const struct word *w = &l->word[l->slot[k] - 1];

		if (w->n == n && !memcmp(w->p, p, n))
			return l->slot[k] - 1;
	}
	if (l->copies && !(p = strndup(p, n)))
		return WORD_NONE;
	l->word[l->nr] = (struct word){p, n};
	l->slot[k] = ++l->nr;
	return l->nr - 1;
}

void wordlist_free(struct wordlist *l)
{
	for (uint32_t i = 0; l->copies && i < l->nr; i++)
		free((char *)l->word[i].p);
	free(l->word);
	free(l->slot);
	*l = (struct wordlist){.copies = l->copies};
}
