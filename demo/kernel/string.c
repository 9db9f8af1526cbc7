/* SPDX-License-Identifier: MIT */
/* string.c -- the four functions gcc calls on its own, and a few for names. */
#include "kernel.h"

typedef uint64_t __attribute__((may_alias)) word;

/* Words where both ends allow it: gcc must not find a memcpy in here (-fno-tree-loop-distribute-patterns). */
void *memcpy(void *to, const void *from, size_t n)
{
	uint8_t *d = to;
	const uint8_t *s = from;

	if (!(((uintptr_t)d | (uintptr_t)s) & 7))
		for (; n >= 8; n -= 8, d += 8, s += 8)
			*(word *)d = *(const word *)s;
	while (n--)
		*d++ = *s++;
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	uint8_t *d = to;
	const uint8_t *s = from;

	if (d <= s || d >= s + n)
		return memcpy(to, from, n);
	while (n--)
		d[n] = s[n];
	return to;
}

void *memset(void *at, int c, size_t n)
{
	uint8_t *d = at;

	if (!((uintptr_t)d & 7))
		for (; n >= 8; n -= 8, d += 8)
			*(word *)d = 0x0101010101010101u * (uint8_t)c;
	while (n--)
		*d++ = (uint8_t)c;
	return at;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a, *y = b;

	for (size_t i = 0; i < n; i++)
		if (x[i] != y[i])
			return x[i] - y[i];
	return 0;
}

size_t strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

int strcmp(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return (uint8_t)*a - (uint8_t)*b;
}

int strncmp(const char *a, const char *b, size_t n)
{
	while (n && *a && *a == *b)
		a++, b++, n--;
	return n ? (uint8_t)*a - (uint8_t)*b : 0;
}

void copy_name(char *to, const char *from, size_t size)
{
	size_t i = 0;

	for (; i + 1 < size && from[i]; i++)
		to[i] = from[i];
	memset(to + i, 0, size - i);
}

uint64_t parse_u64(const char *s)
{
	uint64_t v = 0;

	while (*s >= '0' && *s <= '9')
		v = v * 10 + (uint64_t)(*s++ - '0');
	return v;
}
