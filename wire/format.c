/* SPDX-License-Identifier: MIT */
/* format.c -- printf without libc, from a va_list, from 64-bit words, or from the packed arguments of bprint. */
#include "wire/cold.h"
#include "wire/format.h"
#include "wire/format_spec.h"
#include "wire/div.h"
#include "wire/text_line.h"

const char *(*fathom_text_lookup)(uintptr_t at, uintptr_t *offset, uintptr_t *size);

/* Where the next argument comes from. */
struct format_args {
	enum {
		FROM_LIST,
		FROM_WORDS,
		FROM_PACKED
	} from;
	va_list ap;
	const uint64_t *words, *words_end;
	const uint8_t *base, *at, *end;
};

/* An argument packed as Linux does: one and two bytes at their own alignment, all others at four. */
static uint64_t format_unpack(struct format_args *a, uint32_t bytes)
{
	uint32_t align = bytes < 4 ? bytes : 4;
	const uint8_t *at =
		a->base + (((size_t)(a->at - a->base) + align - 1) & ~(size_t)(align - 1));
	uint64_t v = 0;
	uint8_t *low = (uint8_t *)&v;

	if (at > a->end || (size_t)(a->end - at) < bytes) {
		a->at = a->end;
		return 0;
	}
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	low += 8 - bytes;
#endif
	for (uint32_t i = 0; i < bytes; i++)
		low[i] = at[i];
	a->at = at + bytes;
	return v;
}

/* The next integer of `bytes`, not sign-extended. */
static uint64_t format_next(struct format_args *a, uint32_t bytes)
{
	if (a->from == FROM_PACKED)
		return format_unpack(a, bytes);
	if (a->from == FROM_WORDS)
		return a->words < a->words_end ? *a->words++ : 0;
	if (bytes == 8)
		return va_arg(a->ap, unsigned long long);
	return va_arg(a->ap, unsigned int);
}

static uintptr_t format_next_pointer(struct format_args *a)
{
	if (a->from == FROM_LIST)
		return (uintptr_t)va_arg(a->ap, void *);
	return (uintptr_t)format_next(a, sizeof(void *));
}

/* A string and how far it may be read: a packed one lies in the record. */
static const char *format_next_string(struct format_args *a, size_t *max)
{
	const char *s;

	*max = SIZE_MAX;
	if (a->from != FROM_PACKED)
		return (const char *)format_next_pointer(a);
	s = (const char *)a->at;
	*max = (size_t)(a->end - a->at);
	while (a->at < a->end && *a->at)
		a->at++;
	if (a->at < a->end)
		a->at++;
	return s;
}

static void format_padded(struct fathom_text *t, const struct fathom_spec *s, const char *text,
			  size_t bytes)
{
	size_t fill = (size_t)s->width > bytes ? (size_t)s->width - bytes : 0;

	if (!s->left)
		fathom_text_fill(t, ' ', fill);
	fathom_text_bytes(t, text, bytes);
	if (s->left)
		fathom_text_fill(t, ' ', fill);
}

static void format_string(struct fathom_text *t, const struct fathom_spec *s, const char *text,
			  size_t max)
{
	size_t n = 0;

	if (!text) {
		text = "(null)";
		max = 6;
	}
	if (s->precision >= 0 && (size_t)s->precision < max)
		max = (size_t)s->precision;
	while (n < max && text[n])
		n++;
	format_padded(t, s, text, n);
}

/*
 * The kernel's rules, which are C's but for these: 0x stands before 0 too, a zero of no digits has one, and `0` fills
 * the width though there is a precision.
 */
static void format_number(struct fathom_text *t, const struct fathom_spec *s, uint64_t v, char sign)
{
	int octal = s->kind == SPEC_OCTAL, hex = s->kind == SPEC_HEX;
	int least = s->precision > 0 ? s->precision : 1, n;
	char d[24], head[4];
	uint32_t h = 0;

	if (octal || hex)
		n = fathom_text_bits(d, v, octal ? 3 : 4, s->upper);
	else
		n = fathom_text_decimal(d, v);
	if (sign)
		head[h++] = sign;
	if (s->alt && (hex || (octal && v)))
		head[h++] = '0';
	if (s->alt && hex)
		head[h++] = s->upper ? 'X' : 'x';
	head[h] = 0;
	if (s->zero && !s->left && s->width - (int)h > least)
		least = s->width - (int)h;
	fathom_text_digits(t, head, d, n, least, s->left ? -s->width : s->width);
}

static void format_integer(struct fathom_text *t, const struct fathom_spec *s,
			   struct format_args *a)
{
	uint32_t bytes = a->from == FROM_WORDS && s->bytes > 4 ? 8 : s->bytes;
	uint32_t wide = a->from == FROM_LIST && bytes < 4 ? 4 : bytes;
	uint64_t v = format_next(a, wide);
	uint32_t unused = 64 - 8 * bytes;
	char sign = 0;

	if (s->kind == SPEC_SIGNED) {
		uint64_t top = wire_shl(1, 63 - unused);
		int64_t n = (int64_t)(((v & (2 * top - 1)) ^ top) - top);

		sign = n < 0 ? '-' : s->sign;
		v = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
	} else {
		v = wire_shr(wire_shl(v, unused), unused);
	}
	format_number(t, s, v, sign);
}

/* The symbol that holds an address: name alone, or with +0xoffset/0xsize; the address if there is none. */
static void format_symbol(struct fathom_text *t, uintptr_t at, int with_offset)
{
	struct fathom_text_symbol sym;

	fathom_text_symbol_at(&sym, at);
	if (sym.name)
		fathom_text_symbol(t, with_offset ? FATHOM_TEXT_SYM_OFFSET : 0, &sym);
	else
		fathom_text_printf(t, "%#lx", (unsigned long)at);
}

static void format_hex_bytes(struct fathom_text *t, const struct fathom_spec *s,
			     const uint8_t *data)
{
	char between = s->ext2 == 'C' ? ':' : s->ext2 == 'D' ? '-' : s->ext2 == 'N' ? 0 : ' ';
	int n = s->width > 64 ? 64 : s->width; /* Linux's limit */

	if (!data) {
		fathom_text_str(t, "(null)");
		return;
	}
	for (int i = 0; i < n; i++) {
		if (i && between)
			fathom_text_char(t, between);
		fathom_text_hex(t, data[i], 2, '0');
	}
}

static void format_pointer(struct fathom_text *t, const struct fathom_spec *s, uintptr_t at)
{
	switch (s->ext) {
	case 'S':
	case 'F':
	case 'B': format_symbol(t, at, 1); break;
	case 's':
	case 'f': format_symbol(t, at, 0); break;
	case 'h': format_hex_bytes(t, s, (const uint8_t *)at); break;
	default: fathom_text_hex(t, at, 2 * (int)sizeof(at), '0');
	}
}

/* Forms that are text already when they are packed: what they point to may be gone at read time. */
static int format_packs_as_text(const struct fathom_spec *s)
{
	return s->ext == 'h';
}

static void format_one(struct fathom_text *t, struct fathom_spec *s, struct format_args *a)
{
	const char *text;
	size_t max;

	if (s->width_arg) {
		s->width = (int)format_next(a, 4);
		if (s->width < 0) {
			s->left = 1;
			s->width = s->width == INT32_MIN ? 0 : -s->width;
		}
	}
	if (s->precision_arg)
		s->precision = (int)format_next(a, 4);
	switch (s->kind) {
	case SPEC_PERCENT: fathom_text_char(t, '%'); break;
	case SPEC_CHAR: {
		char c = (char)format_next(a, a->from == FROM_PACKED ? 1 : 4);

		format_padded(t, s, &c, 1);
		break;
	}
	case SPEC_STRING:
		text = format_next_string(a, &max);
		format_string(t, s, text, max);
		break;
	case SPEC_POINTER:
		if (a->from == FROM_PACKED && format_packs_as_text(s)) {
			text = format_next_string(a, &max);
			s->width = 0;
			format_string(t, s, text, max);
		} else {
			format_pointer(t, s, format_next_pointer(a));
		}
		break;
	default: format_integer(t, s, a);
	}
}

static void format_all(struct fathom_text *t, const char *fmt, struct format_args *a)
{
	struct fathom_spec spec;

	while (*fmt) {
		const char *from = fmt;

		while (*fmt && *fmt != '%')
			fmt++;
		fathom_text_bytes(t, from, (size_t)(fmt - from));
		if (!*fmt)
			break;
		from = fmt;
		fmt = fathom_spec_parse(fmt + 1, &spec);
		if (spec.kind == SPEC_NONE)
			fathom_text_bytes(t, from, (size_t)(fmt - from));
		else
			format_one(t, &spec, a);
	}
}

void fathom_text_vprintf(struct fathom_text *out, const char *fmt, va_list ap)
{
	struct format_args a; /* the rest is not looked at: no memset */

	a.from = FROM_LIST;
	va_copy(a.ap, ap);
	format_all(out, fmt, &a);
	va_end(a.ap);
}

void fathom_text_printf(struct fathom_text *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fathom_text_vprintf(out, fmt, ap);
	va_end(ap);
}

void fathom_text_words(struct fathom_text *out, const char *fmt, const uint64_t *words, uint32_t nr)
{
	struct format_args a = {.from = FROM_WORDS, .words = words, .words_end = words + nr};

	format_all(out, fmt, &a);
}

void fathom_text_packed(struct fathom_text *out, const char *fmt, const void *args, size_t bytes)
{
	struct format_args a = {.from = FROM_PACKED, .base = args, .at = args};

	a.end = a.at + bytes;
	format_all(out, fmt, &a);
}
