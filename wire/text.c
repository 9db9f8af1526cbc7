/* SPDX-License-Identifier: MIT */
/* text.c -- a bounded text buffer: what does not fit is cut, never written. */
#include "wire/cold.h"
#include "wire/text.h"
#include "wire/div.h"

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

void fathom_text_fill(struct fathom_text *t, char c, size_t n)
{
	if (n > t->size - t->len) {
		n = t->size - t->len;
		t->cut = 1;
	}
	while (n--)
		t->buf[t->len++] = c;
}

void fathom_text_bytes(struct fathom_text *t, const char *s, size_t n)
{
	if (n > t->size - t->len) {
		n = t->size - t->len;
		t->cut = 1;
	}
	for (size_t i = 0; i < n; i++)
		t->buf[t->len + i] = s[i];
	t->len += n;
}

void fathom_text_str(struct fathom_text *t, const char *s)
{
	while (*s && t->len < t->size)
		t->buf[t->len++] = *s++;
	if (*s)
		t->cut = 1;
}

/* `d` holds n digits, least significant first. */
static void text_digits(struct fathom_text *t, const char *d, int n, int minus, int width, char pad)
{
	int w = width < 0 ? -width : width;
	int fill = w > n + minus ? w - n - minus : 0;

	if (width >= 0 && pad != '0')
		fathom_text_fill(t, pad, (size_t)fill);
	if (minus)
		fathom_text_char(t, '-');
	if (width >= 0 && pad == '0')
		fathom_text_fill(t, '0', (size_t)fill);
	while (n)
		fathom_text_char(t, d[--n]);
	if (width < 0)
		fathom_text_fill(t, ' ', (size_t)fill);
}

void fathom_text_u64(struct fathom_text *t, uint64_t v, int width, char pad)
{
	char d[20];
	int n = 0;

	do {
		d[n++] = (char)('0' + wire_div(&v, 10));
	} while (v);
	text_digits(t, d, n, 0, width, pad);
}

void fathom_text_s64(struct fathom_text *t, int64_t v, int width, char pad)
{
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	char d[20];
	int n = 0;

	do {
		d[n++] = (char)('0' + wire_div(&u, 10));
	} while (u);
	text_digits(t, d, n, v < 0, width, pad);
}

void fathom_text_hex(struct fathom_text *t, uint64_t v, int width, char pad)
{
	char d[16];
	int n = 0;

	do {
		d[n++] = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v);
	text_digits(t, d, n, 0, width, pad);
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
