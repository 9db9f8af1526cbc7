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

unsigned out_digits(char *to, uint64_t v)
{
	char d[20];
	unsigned n = sizeof(d);

	while (v >= 100) {
		unsigned r = (unsigned)(v % 100);

		v /= 100;
		n -= 2;
		memcpy(d + n, out_pairs + 2 * r, 2);
	}
	if (v >= 10) {
		n -= 2;
		memcpy(d + n, out_pairs + 2 * v, 2);
	} else {
		d[--n] = (char)('0' + v);
	}
	memcpy(to, d + n, sizeof(d) - n);
	return (unsigned)sizeof(d) - n;
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

void out_hex(struct out *o, uint64_t v)
{
	unsigned n = 1;

	while (n < 16 && v >> (4 * n))
		n++;
	if (!out_room(o, 16))
		return;
	for (unsigned i = n; i--; v >>= 4)
		o->at[i] = "0123456789abcdef"[v & 15];
	o->at += n;
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
