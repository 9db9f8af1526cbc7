/* SPDX-License-Identifier: MIT */
/* out.h -- text on its way out: an append-only buffer that grows, made for printing millions of lines a second. */
#ifndef QUERY_OUT_H
#define QUERY_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define OUT_PAD 32u

/* Appending does not report errors: when memory runs out, `failed` is set and the text is dropped. */
struct out {
	char *base, *at, *end;
	bool failed;
};

/* Room for n more bytes at o->at. False: there is none, and nothing must be written. */
bool out_grow(struct out *o, size_t n);
void out_free(struct out *o);

static inline bool out_room(struct out *o, size_t n)
{
	return __builtin_expect((size_t)(o->end - o->at) >= n, 1) || out_grow(o, n);
}

static inline void out_bytes(struct out *o, const char *s, size_t n)
{
	if (out_room(o, n + 16)) {
		if (n <= 16 && n) {
			/* Most texts are short: two overlapping moves of a fixed size beat a call of memcpy. */
			if (n >= 8) {
				memcpy(o->at, s, 8);
				memcpy(o->at + n - 8, s + n - 8, 8);
			} else if (n >= 4) {
				memcpy(o->at, s, 4);
				memcpy(o->at + n - 4, s + n - 4, 4);
			} else {
				o->at[0] = s[0];
				o->at[n / 2] = s[n / 2];
				o->at[n - 1] = s[n - 1];
			}
		} else {
			memcpy(o->at, s, n);
		}
		o->at += n;
	}
}

static inline void out_char(struct out *o, char c)
{
	if (out_room(o, 1))
		*o->at++ = c;
}

static inline void out_fill(struct out *o, char c, size_t n)
{
	if (out_room(o, n)) {
		memset(o->at, c, n);
		o->at += n;
	}
}

/* Blanks, in pieces of a fixed size. */
static inline void out_blanks(struct out *o, size_t n)
{
	if (out_room(o, n + OUT_PAD)) {
		for (size_t k = 0; k < n; k += OUT_PAD)
			memset(o->at + k, ' ', OUT_PAD);
		o->at += n;
	}
}

/* A text of which OUT_PAD bytes can be read even if it is shorter: most are, and are copied without a loop. */
static inline void out_padded(struct out *o, const char *s, size_t n)
{
	if (out_room(o, n + OUT_PAD)) {
		memcpy(o->at, s, OUT_PAD);
		if (n > OUT_PAD)
			memcpy(o->at + OUT_PAD, s + OUT_PAD, n - OUT_PAD);
		o->at += n;
	}
}

static inline void out_str(struct out *o, const char *s)
{
	out_bytes(o, s, strlen(s));
}

/* "00", "01" ... "99". */
extern const char out_pairs[201];
/* Digits of v to `to`, which has room for 20; the number of them. */
unsigned out_digits(char *to, uint64_t v);
/* The same in base 16, zeros in front up to `width` (16 at the most). */
unsigned out_hex_digits(char *to, uint64_t v, unsigned width, bool upper);
/* Most numbers have one or two digits. */
static inline unsigned out_u64_to(char *to, uint64_t v)
{
	if (v < 10) {
		*to = (char)('0' + v);
		return 1;
	}
	if (v >= 100)
		return out_digits(to, v);
	memcpy(to, out_pairs + 2 * v, 2);
	return 2;
}

static inline void out_u64(struct out *o, uint64_t v)
{
	if (out_room(o, 20))
		o->at += out_u64_to(o->at, v);
}

static inline void out_s64(struct out *o, int64_t v)
{
	if (v < 0)
		out_char(o, '-');
	out_u64(o, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

/* The same without a width, to where there is room for 32; what is after the last digit is overwritten. */
unsigned out_hex_to(char *to, uint64_t v);
static inline void out_hex(struct out *o, uint64_t v)
{
	if (out_room(o, 32))
		o->at += out_hex_to(o->at, v);
}
void out_printf(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline size_t out_len(const struct out *o)
{
	return (size_t)(o->at - o->base);
}

#endif
