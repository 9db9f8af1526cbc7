/* SPDX-License-Identifier: MIT */
/* text.c -- a bounded text buffer: what does not fit is cut, never written. */
#include "wire/cold.h"
#include "wire/text.h"
#include "wire/div.h"
#include "wire/copy.h"

void fathom_text_init(struct fathom_text *t, char *buf, size_t size)
{
	t->buf = buf;
	t->size = size;
	t->len = 0;
	t->cut = 0;
}

void fathom_text_char(struct fathom_text *t, char c)
{
	if (t->len < t->size)
		t->buf[t->len++] = c;
	else
		t->cut = 1;
}

/* Room for n more bytes, or for as many of them as there is. */
static size_t text_room(struct fathom_text *t, size_t n)
{
	if (n <= t->size - t->len)
		return n;
	t->cut = 1;
	return t->size - t->len;
}

void fathom_text_fill(struct fathom_text *t, char c, size_t n)
{
	n = text_room(t, n);
	wire_fill(t->buf + t->len, c, n);
	t->len += n;
}

void fathom_text_bytes(struct fathom_text *t, const char *s, size_t n)
{
	n = text_room(t, n);
	wire_copy(t->buf + t->len, s, n);
	t->len += n;
}

void fathom_text_str(struct fathom_text *t, const char *s)
{
	while (*s && t->len < t->size)
		t->buf[t->len++] = *s++;
	if (*s)
		t->cut = 1;
}

int fathom_text_decimal(char d[24], uint64_t v)
{
	int n = 0;

	while (v)
		d[n++] = (char)('0' + wire_div(&v, 10));
	return n;
}

int fathom_text_bits(char d[24], uint64_t v, uint32_t bits, int upper)
{
	const char *set = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	int n = 0;

	for (; v; v = wire_shr(v, bits))
		d[n++] = set[v & ((1u << bits) - 1)];
	return n;
}

void fathom_text_digits(struct fathom_text *t, const char *head, const char *d, int n, int least,
			int width)
{
	int zeros = least > n ? least - n : 0;
	int fill = (width < 0 ? -width : width) - zeros - n;

	for (const char *h = head; *h; h++)
		fill--;
	if (width > 0 && fill > 0)
		fathom_text_fill(t, ' ', (size_t)fill);
	fathom_text_str(t, head);
	fathom_text_fill(t, '0', (size_t)zeros);
	while (n)
		fathom_text_char(t, d[--n]);
	if (width < 0 && fill > 0)
		fathom_text_fill(t, ' ', (size_t)fill);
}

static void text_signed(struct fathom_text *t, uint64_t v, int minus, int width, char pad)
{
	char d[24];
	int n = fathom_text_decimal(d, v), least = pad == '0' ? width - minus : 0;

	fathom_text_digits(t, minus ? "-" : "", d, n, least > 0 ? least : 1, width);
}

void fathom_text_u64(struct fathom_text *t, uint64_t v, int width, char pad)
{
	text_signed(t, v, 0, width, pad);
}

void fathom_text_s64(struct fathom_text *t, int64_t v, int width, char pad)
{
	text_signed(t, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, v < 0, width, pad);
}

void fathom_text_hex(struct fathom_text *t, uint64_t v, int width, char pad)
{
	char d[24];
	int n = fathom_text_bits(d, v, 4, 0), least = pad == '0' ? width : 0;

	fathom_text_digits(t, "", d, n, least > 0 ? least : 1, width);
}

const char *fathom_text_cstr(struct fathom_text *t)
{
	if (!t->size)
		return "";
	if (t->len == t->size) {
		t->len--;
		t->cut = 1;
	}
	t->buf[t->len] = 0;
	return t->buf;
}
