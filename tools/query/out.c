/* SPDX-License-Identifier: MIT */
/* out.c -- the growing text buffer, and numbers as text. */
#include "query/out.h"
#include "base/vec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* More than one event can say, even a hostile one: a buffer is emptied every few hundred kilobytes. */
#define OUT_MAX (1u << 30)

bool out_grow(struct out *o, size_t n)
{
	size_t len = (size_t)(o->at - o->base), cap = (size_t)(o->end - o->base);

	cap = cap * 2 > len + n ? cap * 2 : len + n + 4096;
	if (n > OUT_MAX - len || !vec_resize(&o->base, cap, 1)) {
		o->failed = true;
		return false;
	}
	o->at = o->base + len;
	o->end = o->base + cap;
	return true;
}

void out_free(struct out *o)
{
	free(o->base);
	*o = (struct out){0};
}

const char out_pairs[201] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
	"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
	"8081828384858687888990919293949596979899";

/* A number of b bits has b * 1233 / 4096 digits, or one more. */
static inline unsigned count_digits(uint64_t v)
{
	static const uint64_t power[20] = {0,
					   10,
					   100,
					   1000,
					   10000,
					   100000,
					   1000000,
					   10000000,
					   100000000,
					   1000000000,
					   10000000000,
					   100000000000,
					   1000000000000,
					   10000000000000,
					   100000000000000,
					   1000000000000000,
					   10000000000000000,
					   100000000000000000,
					   1000000000000000000,
					   10000000000000000000u};
	unsigned n = (64 - (unsigned)__builtin_clzll(v | 1)) * 1233 >> 12;

	return n + (v >= power[n]);
}

unsigned out_digits(char *to, uint64_t v)
{
	unsigned n = count_digits(v);
	char *at = to + n;

	for (; v >= 100; v /= 100) {
		at -= 2;
		memcpy(at, out_pairs + 2 * (v % 100), 2);
	}
	if (v >= 10)
		memcpy(to, out_pairs + 2 * v, 2);
	else
		*to = (char)('0' + v);
	return n;
}

/* Eight digits without a loop: each of the eight nibbles gets a byte of its own, then all become characters together. */
static inline void eight_hex(char to[8], uint32_t v, bool upper)
{
	uint64_t x = v, letters;

	x = (x << 16 | x) & 0x0000ffff0000ffffu;
	x = (x << 8 | x) & 0x00ff00ff00ff00ffu;
	x = (x << 4 | x) & 0x0f0f0f0f0f0f0f0fu;
	letters = (x + 0x0606060606060606u) >> 4 & 0x0101010101010101u;
	x += 0x3030303030303030u + letters * (upper ? 7 : 39);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	x = __builtin_bswap64(x);
#endif
	memcpy(to, &x, 8);
}

unsigned out_hex_digits(char *to, uint64_t v, unsigned width, bool upper)
{
	unsigned n = (67 - (unsigned)__builtin_clzll(v | 1)) / 4;
	char all[16];

	if (n < width)
		n = width;
	eight_hex(all, (uint32_t)(v >> 32), upper);
	eight_hex(all + 8, (uint32_t)v, upper);
	memcpy(to, all + 16 - n, n);
	return n;
}

/* The digits shifted to the front while they are still in a register. */
unsigned out_hex_to(char *to, uint64_t v)
{
	unsigned n = (67 - (unsigned)__builtin_clzll(v | 1)) / 4;

	if (v < 16) {
		*to = "0123456789abcdef"[v];
	} else if (n <= 8) {
		eight_hex(to, (uint32_t)v << (32 - 4 * n), false);
	} else {
		v <<= 64 - 4 * n;
		eight_hex(to, (uint32_t)(v >> 32), false);
		eight_hex(to + 8, (uint32_t)v, false);
	}
	return n;
}

void out_printf(struct out *o, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (!out_room(o, 256))
		return;
	va_start(ap, fmt);
	n = vsnprintf(o->at, 256, fmt, ap);
	va_end(ap);
	if (n >= 256) {
		if (!out_room(o, (size_t)n + 1))
			return;
		va_start(ap, fmt);
		vsnprintf(o->at, (size_t)n + 1, fmt, ap);
		va_end(ap);
	}
	if (n > 0)
		o->at += n;
}
