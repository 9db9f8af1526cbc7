/* SPDX-License-Identifier: MIT */
/* trace_glob.c -- fuzz target: pattern, newline, text; the matcher against a plain recursive one. */
#include "fathom/inside/event.h"
#include "trace_setup.h"

/* What the pattern means, with little thought of cost: bounded by the short inputs it is given, stars in a row being one. */
static int slow(const char *p, size_t n, const char *s, size_t m)
{
	if (!n)
		return !m;
	if (n > 1 && *p == '*' && p[1] == '*')
		return slow(p + 1, n - 1, s, m);
	if (*p == '*')
		return slow(p + 1, n - 1, s, m) || (m && slow(p, n, s + 1, m - 1));
	return m && (*p == '?' || *p == *s) && slow(p + 1, n - 1, s + 1, m - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *cut = memchr(data, '\n', size);
	const char *p = (const char *)data, *s = cut ? (const char *)cut + 1 : p;
	size_t n = cut ? (size_t)(cut - data) : size, m = cut ? size - n - 1 : size;
	int got = fathom_glob(p, n, s, m);
	int special = memchr(p, '[', n) || memchr(p, '\\', n);

	if (!special && n <= 12 && m <= 24 && got != slow(p, n, s, m))
		abort();
	return 0;
}
