/* SPDX-License-Identifier: MIT */
/* vec.h -- vectors that grow: the one way to make room for one more element. */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * A vector is a pointer and a count, NULL and 0 at first, and freed with free(). Both macros make room for element number
 * `n`, and are false if there is no memory: the vector is then unchanged.
 *
 *	VEC_MORE(v, n)       for one that only grows, element by element: its room is the next power of two, so that no
 *	                     capacity has to be kept.
 *	VEC_ROOM(v, n, cap)  for one that is emptied and filled again, or grows by several at a time.
 *
 *	if (!VEC_MORE(t->list, t->nr))
 *		return -ENOMEM;
 *	t->list[t->nr++] = x;
 */
#define VEC_FIRST 8u

#define VEC_MORE(v, n) vec_more(&(v), n, sizeof(*(v)))

#define VEC_ROOM(v, n, cap)                                                          \
	({                                                                           \
		size_t vec_cap_ = (cap);                                             \
		bool vec_ok_ = vec_room(&(v), (size_t)(n), &vec_cap_, sizeof(*(v))); \
		(cap) = (__typeof__(cap))vec_cap_;                                   \
		vec_ok_;                                                             \
	})

/* `vector` is the address of the pointer, whatever it points to. */
static inline bool vec_resize(void *vector, size_t n, size_t size)
{
	typedef void *__attribute__((may_alias)) any;
	void *p = n <= PTRDIFF_MAX / size ? realloc(*(any *)vector, n * size) : NULL;

	if (p)
		*(any *)vector = p;
	return p;
}

static inline bool vec_more(void *vector, size_t n, size_t size)
{
	if (n & (n - 1) || (n && n < VEC_FIRST))
		return true;
	return vec_resize(vector, n ? n * 2 : VEC_FIRST, size);
}

static inline bool vec_room(void *vector, size_t n, size_t *cap, size_t size)
{
	size_t want = *cap ? *cap : VEC_FIRST / 2;

	if (n < *cap)
		return true;
	while (want <= n && want <= PTRDIFF_MAX)
		want *= 2;
	if (!vec_resize(vector, want, size))
		return false;
	*cap = want;
	return true;
}

#endif
