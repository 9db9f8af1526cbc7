/* SPDX-License-Identifier: MIT */
/* guess.c -- what a misspelt word may have meant. */
#include "base/guess.h"

#include <string.h>

#define WORD_MAX 48u

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	a = a < b ? a : b;
	return a < c ? a : c;
}

/* Letters to change, add or remove to get from one word to the other; swapping two neighbours is one change. */
static unsigned distance(const char *a, size_t an, const char *b, size_t bn)
{
	unsigned d[WORD_MAX + 1][WORD_MAX + 1];

	for (size_t i = 0; i <= an; i++)
		d[i][0] = (unsigned)i;
	for (size_t k = 0; k <= bn; k++)
		d[0][k] = (unsigned)k;
	for (size_t i = 1; i <= an; i++)
		for (size_t k = 1; k <= bn; k++) {
			d[i][k] = least(d[i - 1][k] + 1, d[i][k - 1] + 1,
					d[i - 1][k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] &&
			    d[i - 2][k - 2] + 1 < d[i][k])
				d[i][k] = d[i - 2][k - 2] + 1;
		}
	return d[an][bn];
}

/* "rpt" has letters of "report" in the same order, beginning with the first. */
static bool abbreviates(const char *a, size_t an, const char *b, size_t bn)
{
	size_t i = 0;

	if (an < 2 || a[0] != b[0])
		return false;
	for (size_t k = 0; k < bn && i < an; k++)
		i += a[i] == b[k];
	return i == an;
}

unsigned guess_distance(const char *typed, size_t typed_len, const char *name)
{
	size_t n = strlen(name);
	unsigned most = typed_len < 4 ? 1 : typed_len < 12 ? 2 : (unsigned)typed_len / 4, d;

	if (!typed_len || typed_len > WORD_MAX || n > WORD_MAX)
		return UINT_MAX;
	d = distance(typed, typed_len, name, n);
	return d <= most || abbreviates(typed, typed_len, name, n) ? d : UINT_MAX;
}
