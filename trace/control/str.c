/* SPDX-License-Identifier: MIT */
/* str.c -- numbers and globs of the control files. */
#include "control/str.h"

#define ERR_INVAL -22
#define ERR_RANGE -34

static unsigned int number_digit(char c)
{
	if (ctl_digit(c))
		return (unsigned int)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned int)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned int)(c - 'A') + 10;
	return 99;
}

int fathom_ctl_number(const char *s, size_t n, unsigned int base, uint64_t *out)
{
	uint64_t v = 0;
	size_t i = 0;

	if (n && s[n - 1] == '\n')
		n--;
	if (n && s[0] == '+')
		i++;
	if ((base == 0 || base == 16) && n - i > 2 && s[i] == '0' && (s[i + 1] | 0x20) == 'x' &&
	    number_digit(s[i + 2]) < 16) {
		base = 16;
		i += 2;
	} else if (base == 0) {
		base = n - i > 1 && s[i] == '0' ? 8 : 10;
	}
	if (i >= n)
		return ERR_INVAL;
	for (; i < n; i++) {
		unsigned int d = number_digit(s[i]);

		if (d >= base)
			return ERR_INVAL;
		/* v * base + d must fit: checked without a 64-bit division. */
		if (v >> 60 &&
		    (base == 16 || v > 0x1999999999999999u || (v == 0x1999999999999999u && d > 5)))
			return ERR_RANGE;
		v = v * base + d;
	}
	*out = v;
	return 0;
}

/*
 * One class `[...]` at pat[p]: 1 if `c` is in it, 0 if not, -1 if the class has no end (then `[` is itself).
 * *next is set behind the class.
 */
static int glob_class(const char *pat, size_t pat_len, size_t p, unsigned char c, size_t *next)
{
	int invert = p + 1 < pat_len && pat[p + 1] == '!', hit = 0;
	size_t i = p + 1 + (size_t)invert;
	size_t first = i;

	for (; i < pat_len; i++) {
		unsigned char lo = (unsigned char)pat[i], hi = lo;

		if (lo == ']' && i > first) {
			*next = i + 1;
			return hit != invert;
		}
		if (i + 2 < pat_len && pat[i + 1] == '-' && pat[i + 2] != ']') {
			hi = (unsigned char)pat[i + 2];
			i += 2;
		}
		if (c >= lo && c <= hi)
			hit = 1;
	}
	return -1;
}

/* One element of the pattern against one character; *next is where the pattern goes on. */
static int glob_one(const char *pat, size_t pat_len, size_t p, char c, size_t *next)
{
	int hit;

	*next = p + 1;
	if (pat[p] == '?')
		return 1;
	if (pat[p] == '[') {
		hit = glob_class(pat, pat_len, p, (unsigned char)c, next);
		if (hit >= 0)
			return hit;
	}
	if (pat[p] == '\\' && p + 1 < pat_len) {
		*next = p + 2;
		return pat[p + 1] == c;
	}
	return pat[p] == c;
}

/*
 * Only the last `*` is ever retried: an earlier one that matched less could not make a later part match that the
 * later star does not reach as well. So the work is at most pat_len * n.
 */
int fathom_ctl_glob(const char *pat, size_t pat_len, const char *s, size_t n)
{
	size_t p = 0, i = 0, star = pat_len, mark = 0, next;

	while (i < n) {
		if (p < pat_len && pat[p] == '*') {
			star = p++;
			mark = i;
		} else if (p < pat_len && glob_one(pat, pat_len, p, s[i], &next)) {
			p = next;
			i++;
		} else if (star < pat_len) {
			p = star + 1;
			i = ++mark;
		} else {
			return 0;
		}
	}
	while (p < pat_len && pat[p] == '*')
		p++;
	return p == pat_len;
}
