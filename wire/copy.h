/* SPDX-License-Identifier: MIT */
/* copy.h -- memcpy, memset and memcmp for code that records: a kernel may trace its own, and a process's use vector registers. */
#ifndef WIRE_COPY_H
#define WIRE_COPY_H

#include <stddef.h>
#include <stdint.h>

#ifdef WIRE_HOST /* the host program records nothing */

#define wire_copy(to, from, n) ((void)__builtin_memcpy(to, from, n))
#define wire_fill(to, c, n)    ((void)__builtin_memset(to, c, n))
#define wire_same(a, b, n)     (__builtin_memcmp(a, b, n) == 0)

#else

typedef unsigned long wire_copy_word __attribute__((__may_alias__));

/* The asm keeps the compiler from making a call of the loop again. */
static inline __attribute__((__no_instrument_function__)) void wire_copy(void *to, const void *from,
									 size_t n)
{
	uint8_t *t = (uint8_t *)to;
	const uint8_t *f = (const uint8_t *)from;

	if (!(((uintptr_t)t | (uintptr_t)f) % sizeof(wire_copy_word)))
		for (; n >= sizeof(wire_copy_word); n -= sizeof(wire_copy_word)) {
			*(wire_copy_word *)(void *)t = *(const wire_copy_word *)(const void *)f;
			t += sizeof(wire_copy_word);
			f += sizeof(wire_copy_word);
			__asm__("" : "+r"(t));
		}
	for (; n; n--) {
		*t++ = *f++;
		__asm__("" : "+r"(t));
	}
}

static inline __attribute__((__no_instrument_function__)) void wire_fill(void *to, int c, size_t n)
{
	uint8_t *t = (uint8_t *)to;
	wire_copy_word word = (uint8_t)c * (~(wire_copy_word)0 / 255);

	if (!((uintptr_t)t % sizeof(word)))
		for (; n >= sizeof(word); n -= sizeof(word)) {
			*(wire_copy_word *)(void *)t = word;
			t += sizeof(word);
			__asm__("" : "+r"(t));
		}
	for (; n; n--) {
		*t++ = (uint8_t)c;
		__asm__("" : "+r"(t));
	}
}

static inline __attribute__((__no_instrument_function__)) int wire_same(const void *a,
									const void *b, size_t n)
{
	const uint8_t *x = (const uint8_t *)a, *y = (const uint8_t *)b;

	while (n && *x == *y) {
		x++, y++, n--;
		__asm__("" : "+r"(x));
	}
	return n == 0;
}

#endif
#endif
