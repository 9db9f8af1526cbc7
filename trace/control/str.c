/* SPDX-License-Identifier: MIT */
/* str.c -- numbers as the control files read them. */
#include "control/str.h"
#include "fathom/inside/errno.h"

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
		return -FATHOM_EINVAL;
	for (; i < n; i++) {
		unsigned int d = number_digit(s[i]);

		if (d >= base)
			return -FATHOM_EINVAL;
		/* v * base + d must fit: checked without a 64-bit division. */
		if (v >> 60 &&
		    (base == 16 || v > 0x1999999999999999u || (v == 0x1999999999999999u && d > 5)))
			return -FATHOM_ERANGE;
		v = v * base + d;
	}
	*out = v;
	return 0;
}
