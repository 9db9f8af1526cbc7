/* SPDX-License-Identifier: MIT */
/* printk.c -- trace_printk(), trace_puts() and markers: text that the program writes into its own trace. */
#include "wire/cold.h"
#include "fathom/inside/emit.h"
#include "fathom/inside/errno.h"
#include "fathom/inside/internal.h"
#include "fathom/inside/print.h"
#include "fathom/inside/site.h"
#include "wire/copy.h"
#include "wire/format_spec.h"

extern const char *const __start_fathom_formats[] FATHOM_HIDDEN;
extern const char *const __stop_fathom_formats[] FATHOM_HIDDEN;

/* So that the section is there in a program without trace_printk(). Empty ones are not formats. */
static const char *const printk_no_format
	__attribute__((section("fathom_formats"), used, FATHOM_RETAIN)) = "";

const char *fathom_printk_format(uint32_t index)
{
	const char *const *f = __start_fathom_formats;

	for (; (uintptr_t)f < (uintptr_t)__stop_fathom_formats; f++) {
		if (!**f)
			continue;
		if (!index)
			return *f;
		index--;
	}
	return NULL;
}

/* As Linux escapes it, so that the list has one line per format. */
int fathom_printk_format_line(uint32_t index, struct fathom_text *out)
{
	const char *s = fathom_printk_format(index);

	if (!s)
		return 0;
	fathom_text_str(out, "0x");
	fathom_text_hex(out, (uintptr_t)s, 0, ' ');
	fathom_text_str(out, " : \"");
	for (; *s; s++) {
		char c = *s == '\n' ? 'n' : *s == '\t' ? 't' : *s;

		if (c != *s || c == '\\' || c == '"')
			fathom_text_char(out, '\\');
		fathom_text_char(out, c);
	}
	fathom_text_str(out, "\"\n");
	return 1;
}

/*
 * What a format asks for, kept with the call: 0 not parsed yet, PLAN_GENERAL, or how many arguments there are and which of
 * them have eight bytes (bit 8 + i); all others have four. Strings and what is shorter than four bytes are general.
 */
#define PLAN_READY   0x80000000u
#define PLAN_GENERAL 0x40000000u
#define PLAN_ARGS    16u

static uint32_t printk_plan(const char *fmt)
{
	uint32_t n = 0, wide = 0;
	struct fathom_spec s;

	while (*fmt) {
		if (*fmt++ != '%')
			continue;
		fmt = fathom_spec_parse(fmt, &s);
		if (s.kind == SPEC_NONE || s.kind == SPEC_PERCENT)
			continue;
		if (s.kind == SPEC_POINTER)
			s.bytes = sizeof(void *);
		if (s.width_arg || s.precision_arg || s.kind == SPEC_STRING ||
		    s.kind == SPEC_CHAR || s.bytes < 4 || n == PLAN_ARGS ||
		    (s.kind == SPEC_POINTER && s.ext == 'h'))
			return PLAN_GENERAL;
		wide |= (uint32_t)(s.bytes == 8) << n++;
	}
	return PLAN_READY | wide << 8 | n;
}

/* The arguments are measured first, so they are packed once, where they stay. */
static void printk_general(uintptr_t ip, const char *fmt, va_list ap)
{
	struct fathom_emit e;
	struct fathom_rec_bprint *r;
	size_t bytes;

	bytes = fathom_pack(NULL, 0, fmt, ap);
	if (bytes > FATHOM_MARKER_MAX)
		bytes = FATHOM_MARKER_MAX;
	bytes = (bytes + 3) & ~(size_t)3;
	r = fathom_emit_cold(&fathom_ev_bprint, (uint32_t)(sizeof(*r) + bytes), &e);
	if (r) {
		r->ip = ip;
		r->fmt = fmt;
		wire_fill((char *)r + sizeof(*r), 0, bytes);
		fathom_pack((char *)r + sizeof(*r), bytes, fmt, ap);
		fathom_emit_cold_end(&fathom_ev_bprint, &e);
	}
}

static void printk_words(uint32_t plan, uintptr_t ip, const char *fmt, va_list ap)
{
	uint32_t n = plan & 0xff, wide = plan >> 8 & 0xffff, bytes = 4 * n, *to;
	struct fathom_emit e;
	struct fathom_rec_bprint *r;

	for (uint32_t w = wide; w; w &= w - 1)
		bytes += 4;
	r = fathom_emit_cold(&fathom_ev_bprint, (uint32_t)sizeof(*r) + bytes, &e);
	if (!r)
		return;
	r->ip = ip;
	r->fmt = fmt;
	to = (uint32_t *)(void *)((char *)r + sizeof(*r));
	for (; n; n--, wide >>= 1) {
		if (wide & 1) {
			uint64_t v = va_arg(ap, unsigned long long);

			/* At four bytes' alignment: two stores, where memcpy may be a call. */
			to[__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__] = (uint32_t)v;
			to[__BYTE_ORDER__ != __ORDER_BIG_ENDIAN__] = (uint32_t)(v >> 32);
			to += 2;
		} else {
			*to++ = va_arg(ap, unsigned int);
		}
	}
	fathom_emit_cold_end(&fathom_ev_bprint, &e);
}

/* Two contexts that parse at the same time store the same word. */
void fathom_printk(uint32_t *plan, uintptr_t ip, const char *fmt, ...)
{
	uint32_t known = fathom_load(plan);
	va_list ap;

	if (fathom_unlikely(!known)) {
		known = printk_plan(fmt);
		fathom_store(plan, known);
	}
	va_start(ap, fmt);
	if (fathom_likely(known & PLAN_READY))
		printk_words(known, ip, fmt, ap);
	else
		printk_general(ip, fmt, ap);
	va_end(ap);
}

int fathom_bputs(uintptr_t ip, const char *text)
{
	struct fathom_emit e;
	struct fathom_rec_bputs *r = fathom_emit_cold(&fathom_ev_bputs, sizeof(*r), &e);

	if (!r)
		return 0;
	r->ip = ip;
	r->str = text;
	fathom_emit_cold_end(&fathom_ev_bputs, &e);
	return (int)fathom_strlen(text);
}

/* Where a marker that names no place of its own comes from. */
uintptr_t fathom_marker_ip(void)
{
	return (uintptr_t)fathom_marker_ip;
}

/* A line's end is added where it is missing, and a NUL always. */
int fathom_marker(uintptr_t ip, const char *text, size_t bytes)
{
	struct fathom_emit e;
	struct fathom_rec_print *r;
	int add;

	if (bytes > FATHOM_MARKER_MAX)
		bytes = FATHOM_MARKER_MAX;
	add = !bytes || text[bytes - 1] != '\n';
	r = fathom_emit_cold(&fathom_ev_print, (uint32_t)(sizeof(*r) + bytes + 1 + (size_t)add),
			     &e);
	if (!r)
		return 0;
	r->ip = ip;
	wire_copy(r->buf, text, bytes);
	if (add)
		r->buf[bytes] = '\n';
	r->buf[bytes + (size_t)add] = 0;
	fathom_emit_cold_end(&fathom_ev_print, &e);
	return (int)bytes;
}

int fathom_marker_raw(const void *data, size_t bytes)
{
	struct fathom_emit e;
	struct fathom_rec_raw *r;

	if (bytes < sizeof(r->id) || bytes > 3072)
		return -FATHOM_EINVAL;
	r = fathom_emit_cold(&fathom_ev_raw_data, (uint32_t)(sizeof(r->ent) + bytes), &e);
	if (!r)
		return 0;
	wire_copy(&r->id, data, bytes);
	fathom_emit_cold_end(&fathom_ev_raw_data, &e);
	return (int)bytes;
}
