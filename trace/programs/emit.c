/* SPDX-License-Identifier: MIT */
/* emit.c -- the ring of what programs emit: many writers in any context, one reader. */
#include "programs/programs.h"

/*
 * E1  A writer moves the head by compare-and-exchange and owns what it passed. It stores the first half-word of its record,
 *     bytes + 1, last and with release: until then the reader stops in front of it.
 * E2  The reader makes zeros of what it took before it moves the tail: what a writer gets is zero.
 * E3  A record that does not fit is counted and dropped: nobody waits (B1).
 */
#define EMIT_MAX 4096u

static uint64_t *emit_word(struct program_ring *r, uint32_t at)
{
	return &r->words[(at & (r->bytes - 1)) / 8];
}

int fathom_program_emit(struct program_ring *r, uint32_t action, uint64_t time, const void *data,
			uint32_t bytes)
{
	uint32_t room = sizeof(struct bpf_emitted) + ((bytes + 7) & ~7u);
	uint32_t head = __atomic_load_n(&r->head, __ATOMIC_RELAXED), *first;

	if (bytes > EMIT_MAX)
		return -FATHOM_E2BIG;
	do {
		/* Pairs with the release in fathom_program_take(). */
		if (head + room - __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE) > r->bytes) {
			__atomic_fetch_add(&r->lost, 1, __ATOMIC_RELAXED);
			return -FATHOM_ENOSPC;
		}
	} while (!__atomic_compare_exchange_n(&r->head, &head, head + room, 0, __ATOMIC_ACQUIRE,
					      __ATOMIC_RELAXED));
	first = (uint32_t *)(void *)emit_word(r, head);
	first[1] = action;
	*emit_word(r, head + 8) = time;
	for (uint32_t i = 0; i < bytes; i += 8) {
		const uint8_t *from = (const uint8_t *)data + i;
		uint8_t *to = (uint8_t *)emit_word(r, head + 16 + i);

		for (uint32_t k = 0; k < 8 && i + k < bytes; k++)
			to[k] = from[k];
	}
	__atomic_store_n(first, bytes + 1, __ATOMIC_RELEASE);
	return 0;
}

/* One record, if it is there and fits: its bytes. */
static int emit_take_one(struct program_ring *r, uint8_t *to, size_t bytes)
{
	uint32_t tail = r->tail, size, room;

	if (tail == __atomic_load_n(&r->head, __ATOMIC_ACQUIRE))
		return 0;
	/* Pairs with the release in fathom_program_emit(). */
	size = __atomic_load_n((uint32_t *)(void *)emit_word(r, tail), __ATOMIC_ACQUIRE);
	if (!size)
		return 0;
	size--;
	room = sizeof(struct bpf_emitted) + ((size + 7) & ~7u);
	if (room > bytes)
		return -FATHOM_EINVAL;
	for (uint32_t i = 0; i < room; i += 8) {
		__builtin_memcpy(to + i, emit_word(r, tail + i), 8);
		*emit_word(r, tail + i) = 0;
	}
	__builtin_memcpy(to, &size, 4);
	__atomic_store_n(&r->tail, tail + room, __ATOMIC_RELEASE);
	return (int)room;
}

int fathom_program_take(struct program_ring *r, uint8_t *to, size_t bytes)
{
	size_t done = 0;
	int n;

	while (r->bytes && (n = emit_take_one(r, to + done, bytes - done)) != 0) {
		if (n < 0)
			return done ? (int)done : n;
		done += (size_t)n;
	}
	return (int)done;
}
