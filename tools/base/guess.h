/* SPDX-License-Identifier: MIT */
/* guess.h -- what a misspelt word may have meant. */
#ifndef BASE_GUESS_H
#define BASE_GUESS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* How far the name is from the word that was typed, in letters; UINT_MAX: it is probably not meant. */
unsigned guess_distance(const char *typed, size_t typed_len, const char *name);

static inline bool guess_similar(const char *typed, size_t typed_len, const char *name)
{
	return guess_distance(typed, typed_len, name) != UINT_MAX;
}

/* *best becomes the name if it is nearer than *least (begin with UINT_MAX). */
static inline void guess_nearer(const char *typed, const char *name, unsigned *least,
				const char **best)
{
	size_t n = 0;
	unsigned d;

	while (typed[n])
		n++;
	d = guess_distance(typed, n, name);
	if (d < *least) {
		*least = d;
		*best = name;
	}
}

#endif
