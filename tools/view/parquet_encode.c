/* SPDX-License-Identifier: MIT */
/* parquet_encode.c -- how Parquet writes numbers, words and its metadata. */
#include "view/parquet_int.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

uint8_t *pbytes_room(struct pbytes *b, size_t n)
{
	if (VEC_ROOM(b->v, b->nr + n, b->cap))
		return b->v + b->nr;
	b->failed = true;
	return NULL;
}

void pbytes_add(struct pbytes *b, const void *data, size_t n)
{
	uint8_t *to = pbytes_room(b, n);

	if (to && n) {
		memcpy(to, data, n);
		b->nr += n;
	}
}

void pbytes_varint(struct pbytes *b, uint64_t v)
{
	uint8_t *to = pbytes_room(b, 10);

	while (to && v >= 0x80) {
		*to++ = (uint8_t)(v | 0x80);
		v >>= 7;
		b->nr++;
	}
	if (to) {
		*to = (uint8_t)v;
		b->nr++;
	}
}

static uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

/* ---- Thrift ---- */

static void head(struct pbytes *b, int *last, int field, uint8_t type)
{
	pbytes_add(b, &(uint8_t){(uint8_t)((field - *last) << 4 | type)}, 1);
	*last = field;
}

void thrift_int(struct pbytes *b, int *last, int field, int64_t v, bool is_64)
{
	head(b, last, field, is_64 ? 6 : THRIFT_I32);
	pbytes_varint(b, zigzag(v));
}

void thrift_bool(struct pbytes *b, int *last, int field, bool v)
{
	head(b, last, field, v ? 1 : 2);
}

void thrift_text(struct pbytes *b, int *last, int field, const void *text, size_t n)
{
	head(b, last, field, THRIFT_BINARY);
	pbytes_varint(b, n);
	pbytes_add(b, text, n);
}

void thrift_struct(struct pbytes *b, int *last, int field)
{
	head(b, last, field, THRIFT_STRUCT);
}

void thrift_list(struct pbytes *b, int *last, int field, int type, size_t n)
{
	uint8_t size = n < 15 ? (uint8_t)n : 15, first = (uint8_t)(size << 4 | type);

	head(b, last, field, 9);
	pbytes_add(b, &first, 1);
	if (n >= 15)
		pbytes_varint(b, n);
}

void thrift_stop(struct pbytes *b)
{
	pbytes_add(b, &(uint8_t){0}, 1);
}

/* ---- numbers ---- */

#define BLOCK 128 /* values of a block, in four parts with a width each */
#define PART  32

/* PART values of `width` bits, the lowest first. */
static uint8_t *pack(uint8_t *to, const uint64_t *v, unsigned width)
{
	uint64_t word = 0;
	unsigned used = 0;

	for (int i = 0; i < PART && width; i++) {
		word |= v[i] << used;
		used += width;
		if (used < 64)
			continue;
		memcpy(to, &word, 8);
		to += 8;
		used -= 64;
		word = used ? v[i] >> (width - used) : 0;
	}
	memcpy(to, &word, used / 8); /* PART * width is a multiple of 32 bits */
	return to + used / 8;
}

void encode_deltas(struct pbytes *b, const uint64_t *v, size_t n)
{
	pbytes_varint(b, BLOCK);
	pbytes_varint(b, BLOCK / PART);
	pbytes_varint(b, n);
	pbytes_varint(b, zigzag(n ? (int64_t)v[0] : 0));
	for (size_t i = 1; i < n; i += BLOCK) {
		size_t nr = n - i < BLOCK ? n - i : BLOCK;
		uint64_t delta[BLOCK] = {0};
		int64_t least = INT64_MAX;
		uint8_t *to, *widths;

		for (size_t k = 0; k < nr; k++) {
			delta[k] = v[i + k] - v[i + k - 1];
			least = (int64_t)delta[k] < least ? (int64_t)delta[k] : least;
		}
		for (size_t k = 0; k < nr; k++)
			delta[k] -= (uint64_t)least;
		pbytes_varint(b, zigzag(least));
		widths = to = pbytes_room(b, 4 + BLOCK * 8 + 8);
		if (!to)
			return;
		to += 4;
		for (size_t k = 0; k < BLOCK; k += PART) {
			uint64_t bits = 0;

			for (size_t m = 0; m < PART; m++)
				bits |= delta[k + m];
			widths[k / PART] = (uint8_t)(bits ? 64 - __builtin_clzll(bits) : 0);
			if (k < nr)
				to = pack(to, delta + k, widths[k / PART]);
		}
		b->nr = (size_t)(to - b->v);
	}
}

void encode_indices(struct pbytes *b, const uint32_t *v, size_t n, unsigned width)
{
	const uint32_t first = n ? v[0] : 0;
	size_t i = 0;
	uint8_t *to;

	while (i < n && v[i] == first)
		i++;
	if (i == n) { /* one run */
		pbytes_varint(b, (uint64_t)n << 1);
		pbytes_add(b, &first, (width + 7) / 8);
		return;
	}
	pbytes_varint(b, (uint64_t)((n + 7) / 8) << 1 | 1);
	to = pbytes_room(b, (n + PART) / 8 * width + 8 * width + 16);
	for (i = 0; to && i < n; i += PART) {
		size_t nr = n - i < PART ? n - i : PART;
		uint64_t part[PART] = {0};

		for (size_t k = 0; k < nr; k++)
			part[k] = v[i + k];
		pack(to, part, width);
		to += (nr + 7) / 8 * width;
	}
	if (to)
		b->nr = (size_t)(to - b->v);
}

static void level_run(struct pbytes *b, size_t n, uint8_t level)
{
	if (!n)
		return;
	pbytes_varint(b, (uint64_t)n << 1);
	pbytes_add(b, &level, 1);
}

void encode_levels(struct pbytes *b, const uint32_t *at, size_t n, size_t rows)
{
	size_t done = 0, bytes = (rows + 7) / 8;
	uint8_t *to;

	if (n == rows || n < rows / 64) { /* few runs */
		for (size_t i = 0, k; i < n && n < rows; i = k) {
			level_run(b, at[i] - done, 0);
			for (k = i + 1; k < n && at[k] == at[k - 1] + 1; k++)
				;
			level_run(b, k - i, 1);
			done = at[k - 1] + 1u;
		}
		level_run(b, rows - done, n == rows);
		return;
	}
	pbytes_varint(b, (uint64_t)bytes << 1 | 1);
	to = pbytes_room(b, bytes);
	if (!to)
		return;
	memset(to, 0, bytes);
	for (size_t i = 0; i < n; i++)
		to[at[i] / 8] |= (uint8_t)(1u << (at[i] & 7));
	b->nr += bytes;
}

/* ---- words ---- */

static uint32_t hash(const uint8_t *p, size_t n)
{
	uint64_t h = n * 0x9e3779b97f4a7c15u, v;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&v, p, 8);
		h = (h ^ v) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	for (v = 0; n; n--)
		v = v << 8 | p[n - 1];
	h = (h ^ v) * 0xff51afd7ed558ccdu;
	return (uint32_t)(h >> 32);
}

const uint8_t *pwords_at(const struct pwords *w, size_t i, size_t *n)
{
	size_t from = i ? w->end[i - 1] : 0;

	*n = w->end[i] - from;
	return w->bytes.v + from;
}

/* Twice the room; the slots are found again. */
static bool grow(struct pwords *w)
{
	size_t cap = w->cap ? w->cap * 2 : 64, n;
	uint32_t *slot = calloc(cap * 2, sizeof(*slot));

	if (!slot || !vec_resize(&w->end, cap, sizeof(*w->end))) {
		free(slot);
		return false;
	}
	for (size_t i = 0; i < w->nr; i++) {
		const uint8_t *p = pwords_at(w, i, &n);
		size_t at = hash(p, n) & (cap * 2 - 1);

		while (slot[at])
			at = (at + 1) & (cap * 2 - 1);
		slot[at] = (uint32_t)i + 1;
	}
	free(w->slot);
	w->slot = slot;
	w->cap = cap;
	w->slots = cap * 2;
	return true;
}

uint32_t pwords_add(struct pwords *w, const void *text, size_t n)
{
	size_t at, have;

	if (w->nr == w->cap && !grow(w))
		return UINT32_MAX;
	for (at = hash(text, n) & (w->slots - 1); w->slot[at]; at = (at + 1) & (w->slots - 1)) {
		const uint8_t *p = pwords_at(w, w->slot[at] - 1, &have);

		if (have == n && !memcmp(p, text, n))
			return w->slot[at] - 1;
	}
	if (w->bytes.nr + n > UINT32_MAX)
		return UINT32_MAX;
	pbytes_add(&w->bytes, text, n);
	if (w->bytes.failed)
		return UINT32_MAX;
	w->end[w->nr++] = (uint32_t)w->bytes.nr;
	w->slot[at] = (uint32_t)w->nr;
	return (uint32_t)w->nr - 1;
}

void pwords_free(struct pwords *w)
{
	free(w->bytes.v);
	free(w->end);
	free(w->slot);
	*w = (struct pwords){0};
}
