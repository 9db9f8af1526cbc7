/* SPDX-License-Identifier: MIT */
/* format_spec.c -- parses one conversion of a print format: C's integer forms and the kernel's pointer forms. */
#include "wire/cold.h"
#include <stddef.h>
#include "probe/format_spec.h"

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
		else if (*fmt == '+')
			s->plus = 1;
		else if (*fmt == ' ')
			s->blank = 1;
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
	s->bytes = sizeof(int);
	if (fmt[0] == 'h') {
		s->bytes = fmt[1] == 'h' ? 1 : 2;
		return fmt + (fmt[1] == 'h' ? 2 : 1);
	}
	if (fmt[0] == 'l') {
		s->bytes = fmt[1] == 'l' ? 8 : sizeof(long);
		return fmt + (fmt[1] == 'l' ? 2 : 1);
	}
	if (fmt[0] == 'L' || fmt[0] == 'q' || fmt[0] == 'j') {
		s->bytes = 8;
		return fmt + 1;
	}
	if (fmt[0] == 'z' || fmt[0] == 'Z' || fmt[0] == 't') {
		s->bytes = sizeof(size_t);
		return fmt + 1;
	}
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
	switch (c) {
	case '%': return SPEC_PERCENT;
	case 'c': return SPEC_CHAR;
	case 's': return SPEC_STRING;
	case 'd':
	case 'i': return SPEC_SIGNED;
	case 'u': return SPEC_UNSIGNED;
	case 'x':
	case 'X': return SPEC_HEX;
	case 'o': return SPEC_OCTAL;
	default: return SPEC_NONE;
	}
}

const char *fathom_spec_parse(const char *fmt, struct fathom_spec *s)
{
	__builtin_memset(s, 0, sizeof(*s));
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
