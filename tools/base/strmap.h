/* SPDX-License-Identifier: MIT */
/* strmap.h -- strings, each kept once and numbered from 0: the one map by name. */
#ifndef BASE_STRMAP_H
#define BASE_STRMAP_H

#include <stdbool.h>
#include <stdint.h>

struct word {
	const char *p;
	uint32_t n;
};

/* The caller keeps the values, in its own vector with the same numbers. {0} is an empty one. */
struct strmap {
	bool copies; /* set before the first word: keep a copy of each, with a NUL after it; else the caller's must stay */
	uint32_t pad; /* this many bytes of a shorter copy can be read */
	struct word *word;
	uint32_t nr;
	uint64_t *slot; /* open addressing: upper half of the hash, number + 1; 0: free */
	uint32_t nr_slots;
};

#define STRMAP_NONE UINT32_MAX

/* The number of a word; STRMAP_NONE: it is not in the map. */
uint32_t strmap_find(const struct strmap *m, const char *p, uint32_t n);
/* The same, but adds a new word; STRMAP_NONE: out of memory. */
uint32_t strmap_add(struct strmap *m, const char *p, uint32_t n);
void strmap_free(struct strmap *m);

#endif
