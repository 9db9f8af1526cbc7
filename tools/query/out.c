/* SPDX-License-Identifier: MIT */
/* out.c -- the growing text buffer, and numbers as text. */
#include "query/out.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* More than one event can say, even a hostile one: a buffer is emptied every few hundred kilobytes. */
#define OUT_MAX (1u << 30)

bool out_grow(struct out *o, size_t n)
{
	size_t len = (size_t)(o->at - o->base), cap = (size_t)(o->end - o->base);
	char *p;

	if (n > OUT_MAX - len) {
		o->failed = true;
		return false;
	}
	cap = cap * 2 > len + n ? cap * 2 : len + n + 4096;
	p = realloc(o->base, cap);
	if (!p) {
		o->failed = true;
		return false;
	}
	o->base = p;
	o->at = p + len;
	o->end = p + cap;
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

static unsigned count_digits(uint64_t v)
{
	unsigned n = 1;

	for (; v >= 10000; v /= 10000)
		n += 4;
	return n + (v >= 10) + (v >= 100) + (v >= 1000);
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

void out_u64(struct out *o, uint64_t v)
{
	if (!out_room(o, 20))
		return;
	if (v < 10)
		*o->at++ = (char)('0' + v);
	else
		o->at += out_digits(o->at, v);
}

void out_s64(struct out *o, int64_t v)
{
	if (v < 0)
		out_char(o, '-');
	out_u64(o, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

unsigned out_hex_digits(char *to, uint64_t v, unsigned width, bool upper)
{
	const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	unsigned n = v < 16 ? 1 : (67 - (unsigned)__builtin_clzll(v)) / 4;

	if (n < width)
		n = width;
	for (unsigned i = n; i--; v >>= 4)
		to[i] = digits[v & 15];
	return n;
}

void out_hex(struct out *o, uint64_t v)
{
	if (out_room(o, 16))
		o->at += out_hex_digits(o->at, v, 1, false);
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
