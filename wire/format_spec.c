/* SPDX-License-Identifier: MIT */
/* format_spec.c -- parses one conversion of a print format: C's integer forms and the kernel's pointer forms. */
#include "wire/cold.h"
#include <stddef.h>
#include "wire/format_spec.h"
#include "wire/copy.h"

#define SPEC_FIELD_MAX 4096 /* of a width or precision: no text buffer is larger */

static const char *spec_number(const char *fmt, int *n)
{
	int v = 0;

	for (; *fmt >= '0' && *fmt <= '9'; fmt++)
		if (v < SPEC_FIELD_MAX)
			v = v * 10 + (*fmt - '0');
	*n = v > SPEC_FIELD_MAX ? SPEC_FIELD_MAX : v;
	return fmt;
}

static const char *spec_flags(const char *fmt, struct fathom_spec *s)
{
	for (;; fmt++) {
		if (*fmt == '-')
			s->left = 1;
		else if (*fmt == '+' || *fmt == ' ')
			s->sign = s->sign == '+' ? '+' : *fmt;
		else if (*fmt == '#')
			s->alt = 1;
		else if (*fmt == '0')
			s->zero = 1;
		else
			return fmt;
	}
}

static const char *spec_length(const char *fmt, struct fathom_spec *s)
{
	/* The longer ones first. */
	static const struct {
		char name[2];
		uint8_t bytes;
	} lengths[] = {
		{"hh", 1},
		{"h", 2},
		{"ll", 8},
		{"l", sizeof(long)},
		{"L", 8},
		{"q", 8},
		{"j", 8},
		{"z", sizeof(size_t)},
		{"Z", sizeof(size_t)},
		{"t", sizeof(size_t)},
	};

	for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		const char *name = lengths[i].name;

		if (fmt[0] != name[0] || (name[1] && fmt[1] != name[1]))
			continue;
		s->bytes = lengths[i].bytes;
		return fmt + (name[1] ? 2 : 1);
	}
	s->bytes = sizeof(int);
	return fmt;
}

static int spec_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* The kernel's extensions: of those with a meaning here the letter is kept, of others it is skipped as Linux does. */
static const char *spec_pointer(const char *fmt, struct fathom_spec *s)
{
	s->kind = SPEC_POINTER;
	if (!spec_letter(*fmt))
		return fmt;
	s->ext = *fmt++;
	if (spec_letter(*fmt))
		s->ext2 = *fmt;
	while (spec_letter(*fmt))
		fmt++;
	return fmt;
}

static enum spec_kind spec_kind(char c)
{
	static const char kinds[][2] = {
		{'%', SPEC_PERCENT}, {'c', SPEC_CHAR},	 {'s', SPEC_STRING},
		{'d', SPEC_SIGNED},  {'i', SPEC_SIGNED}, {'u', SPEC_UNSIGNED},
		{'x', SPEC_HEX},     {'X', SPEC_HEX},	 {'o', SPEC_OCTAL},
	};

	for (uint32_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i][0] == c)
			return (enum spec_kind)kinds[i][1];
	return SPEC_NONE;
}

const char *fathom_spec_parse(const char *fmt, struct fathom_spec *s)
{
	wire_fill(s, 0, sizeof(*s));
	s->precision = -1;
	fmt = spec_flags(fmt, s);
	if (*fmt == '*') {
		s->width_arg = 1;
		fmt++;
	} else {
		fmt = spec_number(fmt, &s->width);
	}
	if (*fmt == '.') {
		if (*++fmt == '*') {
			s->precision_arg = 1;
			fmt++;
		} else {
			fmt = spec_number(fmt, &s->precision);
		}
	}
	fmt = spec_length(fmt, s);
	if (*fmt == 'p')
		return spec_pointer(fmt + 1, s);
	s->kind = (uint8_t)spec_kind(*fmt);
	s->upper = *fmt == 'X';
	return *fmt ? fmt + 1 : fmt;
}
