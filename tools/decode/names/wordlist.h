/* SPDX-License-Identifier: MIT */
/* wordlist.h -- words, each kept once, told by their numbers from 0 on. */
#ifndef DECODE_WORDLIST_H
#define DECODE_WORDLIST_H

#include <stdbool.h>
#include <stdint.h>

struct word {
	const char *p;
	uint32_t n;
};

struct wordlist {
	bool copies; /* set before the first word: keep a copy of each, NUL behind it; else the caller's stays */
	struct word *word;
	uint32_t nr;
	uint32_t *slot; /* open addressing: number + 1 */
	uint32_t nr_slots;
};

#define WORD_NONE UINT32_MAX

/* The number of a word, which is added if it is new. WORD_NONE: out of memory. */
uint32_t wordlist_add(struct wordlist *l, const char *p, uint32_t n);
void wordlist_free(struct wordlist *l);

#endif
