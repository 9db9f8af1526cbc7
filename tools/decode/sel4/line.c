/* SPDX-License-Identifier: MIT */
/* line.c -- a line of a console log, without the prefix that a terminal program put before it. */
#include "decode/sel4/line.h"

#include <string.h>

/* The prefix of the START line, with any numbers for its numbers and any blanks for its blanks. Its length in this line. */
static size_t prefix_length(const struct sel4_prefix *p, const char *s, size_t len)
{
	size_t i = 0, k = 0;

	while (i < p->len) {
		if (sel4_is_digit(p->text[i])) {
			if (k >= len || !sel4_is_digit(s[k]))
				return 0;
			while (i < p->len && sel4_is_digit(p->text[i]))
				i++;
			while (k < len && sel4_is_digit(s[k]))
				k++;
		} else if (sel4_is_blank(p->text[i])) {
			while (i < p->len && sel4_is_blank(p->text[i]))
				i++;
			while (k < len && sel4_is_blank(s[k]))
				k++;
		} else if (k >= len || s[k++] != p->text[i++]) {
			return 0;
		}
	}
	return k;
}

static void trim(struct sel4_log_line *l)
{
	while (l->len && sel4_is_blank(l->text[0])) {
		l->text++;
		l->len--;
	}
	while (l->len && sel4_is_blank(l->text[l->len - 1]))
		l->len--;
}

void sel4_line_strip(struct sel4_log_line *l, const struct sel4_prefix *prefix)
{
	size_t n = prefix_length(prefix, l->text, l->len);

	l->text += n;
	l->len -= n;
	trim(l);
}

bool sel4_line_is(const struct sel4_log_line *l, const char *s)
{
	return l->len == strlen(s) && !memcmp(l->text, s, l->len);
}

bool sel4_line_starts(const struct sel4_log_line *l, const char *s)
{
	return l->len >= strlen(s) && !memcmp(l->text, s, strlen(s));
}

const char *sel4_line_find(const struct sel4_log_line *l, const char *s)
{
	return l->len >= strlen(s) ? memmem(l->text, l->len, s, strlen(s)) : NULL;
}

bool sel4_number(const char **s, const char *end, unsigned base, uint64_t *out)
{
	const char *p = *s;
	uint64_t v = 0;

	if (base == 16 && end - p > 2 && p[0] == '0' && (p[1] | 32) == 'x')
		p += 2;
	for (*s = p; p < end; p++) {
		unsigned d = sel4_is_digit(*p) ? (unsigned)(*p - '0')
			     : (*p | 32) >= 'a' && (*p | 32) <= 'f'
				     ? (unsigned)((*p | 32) - 'a' + 10)
				     : 99;

		if (d >= base || v > UINT64_MAX / base - 1)
			break;
		v = v * base + d;
	}
	if (p == *s)
		return false;
	*s = p;
	*out = v;
	return true;
}
