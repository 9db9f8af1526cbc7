/* SPDX-License-Identifier: MIT */
/* lz4.h -- LZ4 blocks: a small encoder for the stream recorder, and the decoder that its dump checks with. */
#ifndef RING_LZ4_H
#define RING_LZ4_H

#include <stdint.h>

#define FATHOM_LZ4_SLOTS 4096u	/* of the encoder's table, two bytes each */
#define FATHOM_LZ4_MAX	 65535u /* bytes of a block: a table entry is a position */

/* The most that n bytes can become. */
static inline uint32_t fathom_lz4_bound(uint32_t n)
{
	return n + n / 255u + 16u;
}

/* Encode n bytes; what was written, or 0 if it takes more than `room`. The table's contents do not matter. Any context. */
uint32_t fathom_lz4_pack(const uint8_t *src, uint32_t n, uint8_t *dst, uint32_t room,
			 uint16_t table[FATHOM_LZ4_SLOTS]);
/* Decode; the bytes written, or -1 if the block is not one or does not fit. */
int64_t fathom_lz4_unpack(const uint8_t *src, uint32_t n, uint8_t *dst, uint32_t room);

#endif
