/* SPDX-License-Identifier: MIT */
/* body.c -- the base64 or base91 lines of one block of a dump, some of which may be other output. */
#include "decode/sel4/dump.h"

#include <stdlib.h>
#include <string.h>

static int digit64(unsigned char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Padding is taken off wherever it stands; a single character left over is dropped. */
static size_t decode64(const char *text, size_t n, uint8_t *out)
{
	uint32_t bits = 0;
	unsigned have = 0;
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		int d = digit64((unsigned char)text[i]);

		if (d < 0)
			continue;
		bits = bits << 6 | (uint32_t)d;
		have += 6;
		if (have >= 8) {
			have -= 8;
			out[len++] = (uint8_t)(bits >> have);
		}
	}
	return len;
}

static size_t decode91(const char *text, size_t n, uint8_t *out)
{
	static const char digits[] = WIRE_SEL4_BASE91_DIGITS;
	int8_t value[256];
	uint32_t bits = 0;
	unsigned have = 0;
	int first = -1;
	size_t len = 0;

	memset(value, -1, sizeof(value));
	for (int i = 0; i < 91; i++)
		value[(unsigned char)digits[i]] = (int8_t)i;
	for (size_t i = 0; i < n; i++) {
		int d = value[(unsigned char)text[i]];
		uint32_t v;

		if (d < 0)
			continue;
		if (first < 0) {
			first = d;
			continue;
		}
		v = (uint32_t)(first + d * 91);
		bits |= v << have;
		have += (v & 8191u) > 88 ? 13 : 14;
		for (first = -1; have >= 8; have -= 8, bits >>= 8)
			out[len++] = (uint8_t)bits;
	}
	if (first >= 0)
		out[len++] = (uint8_t)(bits | (uint32_t)first << have);
	return len;
}

static size_t characters(const struct sel4_line *l, bool base91)
{
	size_t n = l->len;

	while (!base91 && n && l->text[n - 1] == '=')
		n--;
	return n;
}

/* The length that most lines have: a writer breaks its text at one width, so another length is other output or the end. */
static size_t usual_length(const struct sel4_body *b)
{
	size_t best = 0, best_nr = 0;

	for (size_t i = 0; i < b->nr_lines && i < 64; i++) {
		size_t nr = 0;

		for (size_t k = 0; k < b->nr_lines; k++)
			nr += b->lines[k].len == b->lines[i].len;
		if (nr > best_nr) {
			best_nr = nr;
			best = b->lines[i].len;
		}
	}
	return best;
}

/* Join the lines that `use` allows, until `want` characters are there (0: all). */
static size_t join(const struct sel4_body *b, bool base91, size_t want, size_t only, char *text)
{
	size_t n = 0;

	for (size_t i = 0; i < b->nr_lines; i++) {
		size_t len = characters(&b->lines[i], base91);
		bool last = i + 1 == b->nr_lines || (want && n + len == want);

		if (only && b->lines[i].len != only && !last)
			continue;
		memcpy(text + n, b->lines[i].text, len);
		n += len;
		if (want && n >= want)
			break;
	}
	return n;
}

static int64_t decode_size(const struct sel4_body *b, bool base91, uint64_t size, char *text,
			   uint8_t *out)
{
	size_t want = base91 || !size ? 0 : (size_t)(size * 8 + 5) / 6;
	size_t only[2] = {0, usual_length(b)};

	/* First every line; then, if that is not the size announced, those of the usual length. */
	for (int i = 0; i < 2; i++) {
		size_t n = join(b, base91, i ? want : 0, only[i], text);
		size_t len = base91 ? decode91(text, n, out) : decode64(text, n, out);

		if (!size || len == size)
			return (int64_t)len;
	}
	return -1;
}

int64_t sel4_body_decode(const struct sel4_body *b, bool base91, uint64_t size, uint8_t **out,
			 const char **why)
{
	size_t total = 0;
	char *text;
	int64_t n = -1;

	for (size_t i = 0; i < b->nr_lines; i++)
		total += b->lines[i].len;
	text = malloc(total + 1);
	*out = malloc(total * 2 + 8);
	if (text && *out)
		n = decode_size(b, base91, size, text, *out);
	*why = !text || !*out ? "out of memory" : "its text is not of the size announced";
	free(text);
	if (n < 0) {
		free(*out);
		*out = NULL;
	}
	return n;
}
