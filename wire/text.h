/* SPDX-License-Identifier: MIT */
/* text.h -- a bounded text buffer, and the columns and layouts of Linux's `trace` that both halves print. */
#ifndef WIRE_TEXT_H
#define WIRE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Appending never writes past `size` and never fails: what does not fit is cut and `cut` is set. The text is not
 * NUL-terminated; fathom_text_cstr() ends it. One buffer, one writer.
 */
struct fathom_text {
	char *buf;
	size_t size;
	size_t len;
	uint8_t cut;
};

void fathom_text_init(struct fathom_text *t, char *buf, size_t size);
void fathom_text_char(struct fathom_text *t, char c);
void fathom_text_fill(struct fathom_text *t, char c, size_t n);
void fathom_text_bytes(struct fathom_text *t, const char *s, size_t n);
void fathom_text_str(struct fathom_text *t, const char *s);
/* Decimal, right-aligned in `width` with `pad` (' ' or '0'); negative width aligns left. */
void fathom_text_u64(struct fathom_text *t, uint64_t v, int width, char pad);
void fathom_text_s64(struct fathom_text *t, int64_t v, int width, char pad);
void fathom_text_hex(struct fathom_text *t, uint64_t v, int width, char pad);
/* Digits of v, least significant first: how many, none of 0. In base 10; in base 8 (3 bits) or 16 (4 bits). */
int fathom_text_decimal(char d[24], uint64_t v);
int fathom_text_bits(char d[24], uint64_t v, uint32_t bits, int upper);
/* Such digits after `head` (a sign, 0x), with zeros at least `least`, in `width`: negative aligns left. */
void fathom_text_digits(struct fathom_text *t, const char *head, const char *d, int n, int least,
			int width);
/* The text as a C string; the last byte is given up for the NUL if it is full. */
const char *fathom_text_cstr(struct fathom_text *t);

#endif
