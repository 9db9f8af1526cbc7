/* SPDX-License-Identifier: MIT */
/* glob.c -- Linux's patterns for names of functions and events, and for strings in filters. */
#include "wire/cold.h"
#include "wire/glob.h"

/*
 * One class `[...]` at pat[p]: 1 if `c` is in it, 0 if not, -1 if the class has no end (then `[` is itself).
 * *next is set after the class.
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

/*
 * One element of the pattern against one character; *next is where the pattern goes on. From *open on no class has an end: it
 * is looked for once, not for every character.
 */
static int glob_one(const char *pat, size_t pat_len, size_t p, char c, size_t *next, size_t *open)
{
	int hit;

	*next = p + 1;
	if (pat[p] == '?')
		return 1;
	if (p < *open && pat[p] == '[') {
		hit = glob_class(pat, pat_len, p, (unsigned char)c, next);
		if (hit >= 0)
			return hit;
		*open = p;
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
int fathom_glob(const char *pat, size_t pat_len, const char *s, size_t n)
{
	size_t p = 0, i = 0, star = pat_len, mark = 0, next, open = pat_len;

	while (i < n) {
		if (p < pat_len && pat[p] == '*') {
			star = p++;
			mark = i;
		} else if (p < pat_len && glob_one(pat, pat_len, p, s[i], &next, &open)) {
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
