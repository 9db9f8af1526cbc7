/* SPDX-License-Identifier: MIT */
/* bytes.h -- numbers in either byte order, and a bounds-checked reader of untrusted bytes. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HOST_IS_BIG (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

static inline uint16_t get_u16(const void *p, bool big)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return big != HOST_IS_BIG ? __builtin_bswap16(v) : v;
}

static inline uint32_t get_u32(const void *p, bool big)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return big != HOST_IS_BIG ? __builtin_bswap32(v) : v;
}

static inline uint64_t get_u64(const void *p, bool big)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return big != HOST_IS_BIG ? __builtin_bswap64(v) : v;
}

/*
 * A reader never moves past `size`. After the first read that does not fit, `failed` stays set and every read gives
 * 0 or NULL, so a parser may check once at the end of a group of reads; `at` stays where the first one failed.
 */
struct reader {
	const uint8_t *base;
	uint64_t size;
	uint64_t at;
	bool big;
	bool failed;
};

static inline void reader_init(struct reader *r, const void *base, uint64_t size, bool big)
{
	*r = (struct reader){.base = base, .size = size, .big = big};
}

static inline uint64_t reader_left(const struct reader *r)
{
	return r->failed ? 0 : r->size - r->at;
}

/* The next n bytes, or NULL. */
static inline const void *reader_bytes(struct reader *r, uint64_t n)
{
	const void *p;

	if (r->failed || n > r->size - r->at) {
		r->failed = true;
		return NULL;
	}
	p = r->base + r->at;
	r->at += n;
	return p;
}

static inline bool reader_seek(struct reader *r, uint64_t at)
{
	if (r->failed || at > r->size) {
		r->failed = true;
		return false;
	}
	r->at = at;
	return true;
}

static inline uint8_t reader_u8(struct reader *r)
{
	const uint8_t *p = reader_bytes(r, 1);

	return p ? *p : 0;
}

static inline uint16_t reader_u16(struct reader *r)
{
	const void *p = reader_bytes(r, 2);

	return p ? get_u16(p, r->big) : 0;
}

static inline uint32_t reader_u32(struct reader *r)
{
	const void *p = reader_bytes(r, 4);

	return p ? get_u32(p, r->big) : 0;
}

static inline uint64_t reader_u64(struct reader *r)
{
	const void *p = reader_bytes(r, 8);

	return p ? get_u64(p, r->big) : 0;
}

/* A NUL-terminated string, or NULL if no NUL is left. */
static inline const char *reader_str(struct reader *r)
{
	const uint8_t *end;

	if (r->failed)
		return NULL;
	end = memchr(r->base + r->at, 0, r->size - r->at);
	if (!end) {
		r->failed = true;
		return NULL;
	}
	return reader_bytes(r, (uint64_t)(end - (r->base + r->at)) + 1);
}

/* Eight bytes at a time; not cryptographic: against accidents, not attackers. */
static inline uint64_t bytes_hash(uint64_t h, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	uint64_t w;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	w = n;
	memcpy(&w, p, n);
	return (h ^ w ^ (uint64_t)n << 56) * 0x9e3779b97f4a7c15ull;
}

#endif
