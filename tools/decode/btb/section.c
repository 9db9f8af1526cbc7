/* SPDX-License-Identifier: MIT */
/* section.c -- dictionary sections to the words of the backtrace buffer. */
#include "decode/btb/btb.h"

#include <string.h>

size_t btb_section_length(const uint64_t *w, size_t n)
{
	if (n < WIRE_BTB_SECTION_HEAD || w[0] > (WIRE_BTB_COMPRESSED | WIRE_BTB_CUT) ||
	    w[1] != WIRE_BTB_SECTION_HEAD || w[2] > WIRE_BTB_DICT_MAX || w[3] > (uint64_t)1 << 32)
		return 0;
	if (!(w[0] & WIRE_BTB_COMPRESSED) && (w[2] || w[3] % 8))
		return 0;
	return WIRE_BTB_SECTION_HEAD + w[2] + (w[3] + 7) / 8;
}

/* Expand code bytes; stops at the first that cannot be (a key outside the dictionary). False if it stopped early. */
static bool expand(const uint8_t *p, size_t bytes, const uint64_t *dict, size_t nr_dict,
		   struct btb_words *out)
{
	size_t i = 0;
	uint64_t *to;

	if (!bytes)
		return true;
	if (btb_words_room(out, bytes)) /* at most one word a byte */
		return false;
	to = out->w + out->n;
	while (i < bytes) {
		uint8_t c = p[i++];

		if (c == 1) {
			if (bytes - i < 8)
				break;
			memcpy(to++, p + i, 8);
			i += 8;
		} else if (c == 0) {
			*to++ = 0;
		} else if (c < nr_dict) {
			*to++ = dict[c];
		} else {
			break;
		}
		if (i == bytes) {
			out->n = (size_t)(to - out->w);
			return true;
		}
	}
	out->n = (size_t)(to - out->w);
	return false;
}

size_t btb_section_decode(const uint64_t *w, size_t n, size_t good, struct btb_words *out,
			  bool *cut)
{
	size_t length = btb_section_length(w, good < n ? good : n);
	size_t bytes, have;

	*cut = false;
	if (!length)
		return 0;
	*cut = w[0] & WIRE_BTB_CUT;
	if (!(w[0] & WIRE_BTB_COMPRESSED)) {
		/* A producer's slip: raw sections of more than 256 words may say 4 words too few. */
		if (n == length + 4 && n > 260)
			length = n;
		have = good < length ? good : length;
		*cut |= have < length;
		if (btb_words_add(out, w + WIRE_BTB_SECTION_HEAD, have - WIRE_BTB_SECTION_HEAD))
			return 0;
		return length;
	}
	if (good < WIRE_BTB_SECTION_HEAD + w[2]) {
		*cut = true;
		return length;
	}
	have = good - WIRE_BTB_SECTION_HEAD - w[2];
	bytes = w[3] < have * 8 ? w[3] : have * 8;
	if (!expand((const uint8_t *)(w + WIRE_BTB_SECTION_HEAD + w[2]), bytes,
		    w + WIRE_BTB_SECTION_HEAD, w[2], out) ||
	    bytes < w[3])
		*cut = true;
	return length;
}
