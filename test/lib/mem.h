/* SPDX-License-Identifier: MIT */
/* mem.h -- the four functions that compilers call, for one file of a test image without a libc. */
#ifndef TEST_MEM_H
#define TEST_MEM_H

#include <stddef.h>
#include <stdint.h>

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memmove(void *to, const void *from, size_t n)
{
	volatile uint8_t *t = to;
	const uint8_t *f = from;

	if (t < f)
		for (size_t i = 0; i < n; i++)
			t[i] = f[i];
	else
		while (n--)
			t[n] = f[n];
	return to;
}
void *memcpy(void *to, const void *from, size_t n)
{
	return memmove(to, from, n);
}
void *memset(void *to, int c, size_t n)
{
	for (volatile uint8_t *t = to; n; n--)
		*t++ = (uint8_t)c;
	return to;
}
int memcmp(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a, *y = b;

	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

#endif
