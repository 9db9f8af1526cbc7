/* SPDX-License-Identifier: MIT */
/* thousands.c -- a number as a person reads it: 1,234,567. */
#include "cmd/cmd.h"

#include <inttypes.h>
#include <stdio.h>

const char *thousands(uint64_t v)
{
	static char ring[8][32];
	static unsigned next;
	char digits[24], *out = ring[next++ % 8], *p = out;
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, v);

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = 0;
	return out;
}
