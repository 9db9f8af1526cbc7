/* SPDX-License-Identifier: MIT */
/* bpf_string.h -- BPF_FIELD_STR: a string of a record, wherever it lies there. */
#ifndef WIRE_BPF_STRING_H
#define WIRE_BPF_STRING_H

#include "wire/bpf.h"
#include "wire/copy.h"

/*
 * Copy the string at `place` (BPF_STRING_AT) of a record of `have` bytes. `out` has `room` bytes, which are filled up with
 * zeros; the text ends, with its NUL, at `most`. The string's length. The record's word may be of the other byte order.
 */
static inline uint32_t bpf_field_string(const uint8_t *record, uint32_t have, uint64_t place,
					char *out, uint32_t room, uint32_t most, int swapped)
{
	uint32_t off = place & 0xffff, n = place >> 16 & 0xffff, kind = (uint32_t)(place >> 32),
		 word, i;

	wire_fill(out, 0, room);
	if (most > room)
		most = room;
	if (kind == BPF_STRING_LOC || kind == BPF_STRING_REL_LOC) {
		if (have < 4 || off > have - 4)
			return 0;
		wire_copy(&word, record + off, 4);
		if (swapped)
			word = word << 24 | (word & 0xff00) << 8 | (word >> 8 & 0xff00) |
			       word >> 24;
		off = (word & 0xffff) + (kind == BPF_STRING_REL_LOC ? off + 4 : 0);
		n = word >> 16;
	} else if (kind == BPF_STRING_TAIL) {
		n = have;
	}
	if (off >= have || !most)
		return 0;
	n = n < have - off ? n : have - off;
	n = n < most - 1 ? n : most - 1;
	for (i = 0; i < n && record[off + i]; i++)
		out[i] = (char)record[off + i];
	return i;
}

#endif
