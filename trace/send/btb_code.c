/* SPDX-License-Identifier: MIT */
/* btb_code.c -- a section's words through a dictionary of its most frequent ones. */
#include "send/btb_code.h"

/*
 * A word that occurs n times costs 9n bytes as it is and 8 + n through the dictionary, so every word that occurs twice
 * is worth a key; the 254 most frequent get one. They are found by sorting a copy: equal words stand together.
 */
#define KEYS_MAX (WIRE_BTB_DICT_MAX - 2)

static void btb_sift(uint64_t *w, uint32_t at, uint32_t n)
{
	uint64_t v = w[at];

	for (uint32_t c = 2 * at + 1; c < n; c = 2 * at + 1) {
		if (c + 1 < n && w[c + 1] > w[c])
			c++;
		if (w[c] <= v)
			break;
		w[at] = w[c];
		at = c;
	}
	w[at] = v;
}

static void btb_sort(uint64_t *w, uint32_t n)
{
	for (uint32_t i = n / 2; i-- > 0;)
		btb_sift(w, i, n);
	for (uint32_t i = n; i-- > 1;) {
		uint64_t v = w[0];

		w[0] = w[i];
		w[i] = v;
		btb_sift(w, 0, i);
	}
}

/* How often a word must occur to be among the KEYS_MAX most frequent; at least twice. */
static uint32_t btb_threshold(const uint64_t *sorted, uint32_t n)
{
	uint32_t least = 2;

	/* Counts fall off fast, so a few rounds find it; each round is one walk over the sorted words. */
	for (;; least++) {
		uint32_t keys = 0;

		for (uint32_t i = 0, run; i < n; i += run) {
			for (run = 1; i + run < n && sorted[i + run] == sorted[i];)
				run++;
			keys += sorted[i] != 0 && run >= least;
		}
		if (keys <= KEYS_MAX)
			return least;
	}
}

/* The dictionary, in the order of values; the rest of its places go to words one below the threshold. */
static uint32_t btb_choose(uint64_t *sorted, uint32_t n, uint64_t *dict)
{
	uint32_t least = btb_threshold(sorted, n), sure = 0, nr = 2;

	dict[0] = dict[1] = 0;
	for (uint32_t i = 0, run; i < n; i += run) {
		for (run = 1; i + run < n && sorted[i + run] == sorted[i];)
			run++;
		sure += sorted[i] != 0 && run >= least;
	}
	for (uint32_t i = 0, run, spare = KEYS_MAX - sure; i < n && nr < WIRE_BTB_DICT_MAX;
	     i += run) {
		for (run = 1; i + run < n && sorted[i + run] == sorted[i];)
			run++;
		if (!sorted[i] || run + 1 < least || run < 2)
			continue;
		if (run < least) {
			if (!spare)
				continue;
			spare--;
		}
		dict[nr++] = sorted[i];
	}
	return nr;
}

/* The key of a word, 0 if it has none. */
static uint32_t btb_key(const uint64_t *dict, uint32_t nr, uint64_t w)
{
	uint32_t lo = 2, hi = nr;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (dict[mid] < w)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < nr && dict[lo] == w ? lo : 0;
}

/* Code bytes of n words into out, at most `room`; 0 if they do not fit. */
static uint32_t btb_encode(const uint64_t *w, uint32_t n, const uint64_t *dict, uint32_t nr,
			   uint8_t *out, uint32_t room)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t key = w[i] ? btb_key(dict, nr, w[i]) : 0;

		if (key || !w[i]) {
			if (at + 1 > room)
				return 0;
			out[at++] = (uint8_t)key;
			continue;
		}
		if (at + 9 > room)
			return 0;
		out[at++] = 1;
		for (uint32_t k = 0; k < 8; k++)
			out[at++] = (uint8_t)(w[i] >> (8 * k));
	}
	return at;
}

uint32_t fathom_btb_encode(uint64_t *section, uint32_t n, uint64_t *sorted, uint64_t *code)
{
	const uint64_t *w = section + WIRE_BTB_SECTION_HEAD;
	uint32_t words = n - WIRE_BTB_SECTION_HEAD, nr, bytes, room;
	uint64_t *dict = code + WIRE_BTB_SECTION_HEAD;

	if (words > WIRE_BTB_DICT_MAX) {
		for (uint32_t i = 0; i < words; i++)
			sorted[i] = w[i];
		btb_sort(sorted, words);
		nr = btb_choose(sorted, words, dict);
		room = (words - nr) * 8;
		for (uint32_t i = 0; i < words - nr; i++)
			dict[nr + i] = 0;
		bytes = btb_encode(w, words, dict, nr, (uint8_t *)(dict + nr), room);
		if (bytes) {
			code[0] = WIRE_BTB_COMPRESSED;
			code[1] = WIRE_BTB_SECTION_HEAD;
			code[2] = nr;
			code[3] = bytes;
			return WIRE_BTB_SECTION_HEAD + nr + (bytes + 7) / 8;
		}
	}
	section[0] = 0;
	section[1] = WIRE_BTB_SECTION_HEAD;
	section[2] = 0;
	section[3] = (uint64_t)words * 8;
	return 0;
}
