/* SPDX-License-Identifier: MIT */
/* lz4.c -- LZ4 blocks: a small encoder for the stream recorder, and the decoder that its dump checks with. */
#include "ring/lz4.h"
#include "wire/copy.h"

/*
 * A block is a row of sequences: token (literals << 4 | match - 4), more of the literal count, literals, offset (u16),
 * more of the match length. Two rules bind an encoder, because decoders copy in large steps:
 *
 *  L1  the last five bytes are literals;
 *  L2  no match begins within the last twelve bytes.
 */
#define LAST_LITERALS 5u
#define MATCH_LIMIT   12u
#define MATCH_MIN     4u
#define RUN_MAX	      15u

static uint32_t lz4_read32(const uint8_t *p)
{
	uint32_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t lz4_slot(uint32_t v)
{
	return v * 2654435761u >> 20; /* 12 bits: FATHOM_LZ4_SLOTS */
}

/* The part of a count that does not fit its four bits: bytes of 255, then the rest. */
static uint8_t *lz4_put_count(uint8_t *out, uint32_t n)
{
	for (; n >= 255u; n -= 255u)
		*out++ = 255u;
	*out++ = (uint8_t)n;
	return out;
}

/* One sequence; match 0: the last one, literals only. NULL if it does not fit. */
static uint8_t *lz4_sequence(uint8_t *out, const uint8_t *end, const uint8_t *lit, uint32_t nr_lit,
			     uint32_t offset, uint32_t match)
{
	uint8_t *token = out++;
	uint32_t more = match ? match - MATCH_MIN : 0;

	if ((uint64_t)(end - token) < 1u + nr_lit + nr_lit / 255u + 1u + 2u + more / 255u + 1u)
		return 0;
	*token = (uint8_t)((nr_lit < RUN_MAX ? nr_lit : RUN_MAX) << 4 |
			   (more < RUN_MAX ? more : RUN_MAX));
	if (nr_lit >= RUN_MAX)
		out = lz4_put_count(out, nr_lit - RUN_MAX);
	wire_copy(out, lit, nr_lit);
	out += nr_lit;
	if (!match)
		return out;
	*out++ = (uint8_t)offset;
	*out++ = (uint8_t)(offset >> 8);
	if (more >= RUN_MAX)
		out = lz4_put_count(out, more - RUN_MAX);
	return out;
}

/* How far the bytes at a and b are equal, up to max. */
static uint32_t lz4_equal(const uint8_t *a, const uint8_t *b, uint32_t max)
{
	uint32_t n = 0;

	while (n + 4 <= max && lz4_read32(a + n) == lz4_read32(b + n))
		n += 4;
	while (n < max && a[n] == b[n])
		n++;
	return n;
}

uint32_t fathom_lz4_pack(const uint8_t *src, uint32_t n, uint8_t *dst, uint32_t room,
			 uint16_t table[FATHOM_LZ4_SLOTS])
{
	const uint8_t *end = dst + room;
	uint32_t anchor = 0, pos = 0;
	uint8_t *out = dst;

	if (n > FATHOM_LZ4_MAX)
		return 0;
	wire_fill(table, 0, FATHOM_LZ4_SLOTS * sizeof(*table));
	while (pos + MATCH_LIMIT <= n) { /* L2 */
		uint32_t slot = lz4_slot(lz4_read32(src + pos)), from = table[slot], len;

		table[slot] = (uint16_t)pos;
		if (from >= pos || lz4_read32(src + from) != lz4_read32(src + pos)) {
			pos += 1u + (pos - anchor) / 64u; /* faster through what does not repeat */
			continue;
		}
		while (pos > anchor && from && src[pos - 1] == src[from - 1]) {
			pos--;
			from--;
		}
		len = lz4_equal(src + pos, src + from, n - LAST_LITERALS - pos); /* L1 */
		out = lz4_sequence(out, end, src + anchor, pos - anchor, pos - from, len);
		if (!out)
			return 0;
		pos += len;
		anchor = pos;
		if (pos + MATCH_LIMIT <= n)
			table[lz4_slot(lz4_read32(src + pos - 2))] = (uint16_t)(pos - 2);
	}
	out = lz4_sequence(out, end, src + anchor, n - anchor, 0, 0);
	return out ? (uint32_t)(out - dst) : 0;
}

/* The rest of a count: -1 if the input ends in it or it grows past any block. */
static int64_t lz4_get_count(const uint8_t *src, uint32_t n, uint32_t *at, uint32_t first)
{
	uint64_t v = first;
	uint8_t b = 255;

	if (first < RUN_MAX)
		return first;
	while (b == 255) {
		if (*at >= n || v > 0x7fffffff)
			return -1;
		b = src[(*at)++];
		v += b;
	}
	return (int64_t)v;
}

int64_t fathom_lz4_unpack(const uint8_t *src, uint32_t n, uint8_t *dst, uint32_t room)
{
	uint32_t at = 0, len = 0;

	while (at < n) {
		uint32_t token = src[at++], offset;
		int64_t lit = lz4_get_count(src, n, &at, token >> 4), match;

		if (lit < 0 || lit > (int64_t)(n - at) || lit > (int64_t)(room - len))
			return -1;
		__builtin_memcpy(dst + len, src + at, (uint32_t)lit);
		at += (uint32_t)lit;
		len += (uint32_t)lit;
		if (at == n)
			return len;
		if (n - at < 2)
			return -1;
		offset = src[at] | (uint32_t)src[at + 1] << 8;
		at += 2;
		match = lz4_get_count(src, n, &at, token & RUN_MAX);
		if (match < 0 || !offset || offset > len ||
		    match + MATCH_MIN > (int64_t)(room - len))
			return -1;
		for (match += MATCH_MIN; match; match--, len++) /* may overlap: byte by byte */
			dst[len] = dst[len - offset];
	}
	return -1;
}
