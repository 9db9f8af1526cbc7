/* SPDX-License-Identifier: MIT */
/* conv.c -- printf's conversions of numbers and strings, as the kernel and as libc do them. */
#include "query/conv.h"

#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alnum(char c)
{
	return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static int32_t number(const char **s, const char *end)
{
	int32_t v = 0;

	for (; *s < end && is_digit(**s); (*s)++)
		if (v < CONV_WIDTH_MAX)
			v = v * 10 + (**s - '0');
	return v < CONV_WIDTH_MAX ? v : CONV_WIDTH_MAX;
}

static const char *flags(const char *s, const char *end, struct conv *c)
{
	static const char letters[] = "-+ #0";

	for (; s < end && *s; s++) {
		const char *l = strchr(letters, *s);

		if (!l)
			break;
		c->flags |= (uint8_t)(1u << (l - letters));
	}
	return s;
}

static const char *length(const char *s, const char *end, uint8_t long_bytes, struct conv *c)
{
	c->size = 4;
	if (s < end && *s == 'h') {
		c->size = 2;
		if (++s < end && *s == 'h') {
			c->size = 1;
			s++;
		}
	} else if (s < end && *s == 'l') {
		c->size = long_bytes;
		if (++s < end && *s == 'l') {
			c->size = 8;
			s++;
		}
	} else if (s < end && (*s == 'L' || *s == 'q' || *s == 'j')) {
		c->size = 8;
		s++;
	} else if (s < end && (*s == 'z' || *s == 'Z' || *s == 't')) {
		c->size = long_bytes;
		s++;
	}
	return s;
}

const char *conv_parse(const char *s, const char *end, uint8_t long_bytes, struct conv *c)
{
	*c = (struct conv){.width = -1, .prec = -1};
	s = flags(s, end, c);
	if (s < end && *s == '*') {
		c->flags |= CONV_STAR_WIDTH;
		s++;
	} else if (s < end && is_digit(*s)) {
		c->width = number(&s, end);
	}
	if (s < end && *s == '.') {
		s++;
		if (s < end && *s == '*') {
			c->flags |= CONV_STAR_PREC;
			s++;
		} else {
			c->prec = number(&s, end);
		}
	}
	s = length(s, end, long_bytes, c);
	if (s >= end)
		return s;
	c->conv = *s == 'i' ? 'd' : *s;
	if (!memchr("duxXoscp%", c->conv, 9))
		c->conv = 0;
	s++;
	if (c->conv == 'p')
		for (unsigned n = 0; s < end && is_alnum(*s); s++)
			if (n < sizeof(c->ext) - 1)
				c->ext[n++] = *s;
	return s;
}

/* Digits in base 10, 8 or 16 to d, which has room for 24; how many. */
static unsigned digits(char *d, uint64_t v, char conv)
{
	unsigned n = 1;

	if (conv == 'd' || conv == 'u')
		return out_digits(d, v);
	if (conv != 'o')
		return out_hex_digits(d, v, 1, conv == 'X');
	while (n < 22 && v >> 3 * n)
		n++;
	for (unsigned i = n; i--; v >>= 3)
		d[i] = (char)('0' + (v & 7));
	return n;
}

void conv_number(struct out *o, const struct conv *c, uint64_t v)
{
	uint8_t type = (uint8_t)(c->size | (c->conv == 'd' ? TYPE_SIGNED : 0));
	char d[24], prefix[3];
	unsigned n, np = 0;
	int32_t zeros, pad;

	v = expr_convert(v, type);
	if (c->conv == 'd' && (int64_t)v < 0) {
		prefix[np++] = '-';
		v = 0 - v;
	} else if (c->conv == 'd' && c->flags & (CONV_PLUS | CONV_SPACE)) {
		prefix[np++] = c->flags & CONV_PLUS ? '+' : ' ';
	}
	if (c->flags & CONV_ALT && (c->conv == 'x' || c->conv == 'X') &&
	    (v || !(c->flags & CONV_LIBC))) {
		prefix[np++] = '0';
		prefix[np++] = c->conv;
	} else if (c->flags & CONV_ALT && c->conv == 'o' && v) {
		prefix[np++] = '0';
	}
	n = digits(d, v, c->conv);
	if (!c->prec && !v && c->flags & CONV_LIBC)
		n = 0;
	zeros = c->prec > (int32_t)n ? c->prec - (int32_t)n : 0;
	if (c->flags & CONV_ZERO && !(c->flags & CONV_LEFT) && c->prec < 0 &&
	    c->width > (int32_t)(n + np))
		zeros = c->width - (int32_t)(n + np);
	pad = c->width - (int32_t)(n + np) - zeros;
	if (pad > 0 && !(c->flags & CONV_LEFT))
		out_fill(o, ' ', (size_t)pad);
	out_bytes(o, prefix, np);
	out_fill(o, '0', (size_t)zeros);
	out_bytes(o, d, n);
	if (pad > 0 && c->flags & CONV_LEFT)
		out_fill(o, ' ', (size_t)pad);
}

void conv_string(struct out *o, const struct conv *c, const char *s, uint32_t len)
{
	uint32_t n = (uint32_t)strnlen(
		s, c->prec >= 0 && (uint32_t)c->prec < len ? (uint32_t)c->prec : len);
	int64_t pad = (int64_t)c->width - n;

	if (pad > 0 && !(c->flags & CONV_LEFT))
		out_fill(o, ' ', (size_t)pad);
	out_bytes(o, s, n);
	if (pad > 0 && c->flags & CONV_LEFT)
		out_fill(o, ' ', (size_t)pad);
}

void conv_char(struct out *o, const struct conv *c, char v)
{
	int32_t pad = c->width - 1;

	if (pad > 0 && !(c->flags & CONV_LEFT))
		out_fill(o, ' ', (size_t)pad);
	out_char(o, v);
	if (pad > 0 && c->flags & CONV_LEFT)
		out_fill(o, ' ', (size_t)pad);
}
