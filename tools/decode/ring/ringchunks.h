/* SPDX-License-Identifier: MIT */
/* ringchunks.h -- inside tools/decode: the compressed chunks of a stream, unpacked when needed or ahead by other threads. */
#ifndef DECODE_RINGCHUNKS_H
#define DECODE_RINGCHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/ring/ringpages.h"

/*
 * A window belongs to one cursor. It holds the chunk the cursor is in and, once ring_window_widen() was called, some of
 * those after it, which any thread may unpack while the owner walks. Chunk n lies in slot n % nr_slots.
 *
 *   W1  A slot is written by the one thread that set it BUSY, under no lock, and read by the owner once it is READY.
 *   W2  The slot of the owner's chunk is never given away: a chunk ahead is at most nr_slots - 1 after it.
 */
struct ring_window;

struct ring_window *ring_window_new(struct source *s, const struct ring_set *set, uint32_t stream);
void ring_window_free(struct ring_window *w);
/* The bytes of chunk n, valid until the next call; a damaged one reads as zeros. NULL: out of memory. The owner only. */
const uint8_t *ring_window_chunk(struct ring_window *w, size_t n);
/* Let others unpack up to `slots` - 1 chunks ahead. Before there are others. */
void ring_window_widen(struct ring_window *w, unsigned slots);
/* Unpack the chunk that lies `distance` ahead of the owner's; any thread. False: that is done or not wanted. */
bool ring_window_ahead(struct ring_window *w, unsigned distance);

/* The chunk that holds a block. */
size_t ring_chunk_of(const struct ring_stream *t, uint64_t block);

#endif
