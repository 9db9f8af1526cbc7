/* SPDX-License-Identifier: MIT */
/* str.h -- strings and numbers as the control files read them. No libc here, so the few needed are spelled out. */
#ifndef CONTROL_STR_H
#define CONTROL_STR_H

#include <stddef.h>
#include <stdint.h>

static inline size_t ctl_len(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

static inline int ctl_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline int ctl_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A character of a name: field, event, variable. */
static inline int ctl_word(char c)
{
	return ctl_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Is the counted string `s` the C string `lit`? */
static inline int ctl_is(const char *s, size_t n, const char *lit)
{
	size_t i = 0;

	while (i < n && lit[i] && lit[i] == s[i])
		i++;
	return i == n && !lit[i];
}

/* Does the counted string begin with `lit`? The length of `lit`, or 0. */
static inline size_t ctl_starts(const char *s, size_t n, const char *lit)
{
	size_t i = 0;

	while (lit[i]) {
		if (i == n || s[i] != lit[i])
			return 0;
		i++;
	}
	return i;
}

static inline int ctl_same(const char *a, const char *b)
{
	return ctl_is(a, ctl_len(a), b);
}

/* Where `c` first stands in the counted string, or n. */
static inline size_t ctl_find(const char *s, size_t n, char c)
{
	size_t i = 0;

	while (i < n && s[i] != c)
		i++;
	return i;
}

/* Cut blanks from both ends. */
static inline void ctl_trim(const char **s, size_t *n)
{
	while (*n && ctl_space((*s)[*n - 1]))
		--*n;
	while (*n && ctl_space(**s)) {
		++*s;
		--*n;
	}
}

/* v / d without libgcc: bit by bit where there is no 64-bit division. d is not 0. */
static inline uint64_t ctl_div(uint64_t v, uint64_t d)
{
#if UINTPTR_MAX > 0xffffffffu
	return v / d;
#else
	uint64_t q = 0, r = 0;

	for (int i = 63; i >= 0; i--) {
		uint64_t top = r >> 63;

		r = r << 1 | (v >> i & 1);
		if (top || r >= d) {
			r -= d;
			q |= (uint64_t)1 << i;
		}
	}
	return q;
#endif
}

/*
 * An unsigned number that is the whole of the string, as kstrtoull() takes it: one newline at the end is allowed,
 * base 0 takes 0x and a leading 0 as octal. 0, or a negative errno value (-22 not a number, -34 too large).
 */
int fathom_ctl_number(const char *s, size_t n, unsigned int base, uint64_t *out);

#endif
