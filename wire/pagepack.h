/* SPDX-License-Identifier: MIT */
/* pagepack.h -- ring pages packed for a slow line: each alone, so that what is lost takes no other page with it. */
#ifndef WIRE_PAGEPACK_H
#define WIRE_PAGEPACK_H

#include <stddef.h>
#include <stdint.h>

/*
 * OFFSET  SIZE  MEANING (little endian)
 *      0     2  p: bytes after this head
 *      2     2  n: bytes of the page; after them it has zeros only
 *      4     1  WIRE_PACKED_CODED: p bytes of code, else n bytes as they are; WIRE_PACKED_BIG: the page is big-endian
 *      5     p  as said
 */
#define WIRE_PACKED_HEAD  5u
#define WIRE_PACKED_CODED 1u
#define WIRE_PACKED_BIG	  2u
#define WIRE_PACKED_MAX \
	4096u /* bytes of a page; a packed one takes WIRE_PACKED_HEAD more at the most */

/* Powers of two. Smaller tables would take less memory and more of the line: FORMAT.md has the numbers. */
#define WIRE_PACK_PLACES 128u
#define WIRE_PACK_PATHS	 256u
#define WIRE_PACK_RECENT 32u
#define WIRE_PACK_KINDS	 4u

/* What a page is predicted from, 3.4 KiB; nothing in it lasts from page to page. */
struct wire_packer {
	uint8_t *page; /* read where packing, written where unpacking */
	uint32_t at, bytes;
	uint8_t *to;	     /* packing: the next byte of code, its end */
	uint8_t *to_end;     /* ... reached: the page is not worth it */
	const uint8_t *from; /* unpacking: the same */
	const uint8_t *from_end;
	uint32_t low, high, code; /* of the arithmetic coder */
	uint32_t virtual_bytes;	  /* read after the end: zeros */
	uint8_t unpacks, big, swaps, full;
	uint32_t nr_recent;
	uint32_t recent[WIRE_PACK_RECENT];
	uint32_t by_path
		[WIRE_PACK_PATHS]; /* the word that followed the same words of the same event */
	uint32_t by_place
		[WIRE_PACK_PLACES]; /* the word at this place of the last event of this type */
	uint16_t is_path[WIRE_PACK_PLACES], is_place[WIRE_PACK_PLACES], is_recent[WIRE_PACK_PLACES];
	uint16_t which[WIRE_PACK_RECENT];
	uint16_t nibble[8][16];
	uint16_t type[WIRE_PACK_KINDS][32], delta[WIRE_PACK_KINDS][32], second[32];
};

/*
 * The first `bytes` bytes of a page (of this machine's byte order; a multiple of 4, 16 .. WIRE_PACKED_MAX), packed into `to`, which
 * has room for WIRE_PACKED_HEAD + bytes. Returns what it took. Context: any; about 60 instructions a word.
 */
uint32_t fathom_page_pack(struct wire_packer *s, const void *page, uint32_t bytes, uint8_t *to);

/*
 * The page that `from` begins with: into `page`, which has room for `room`; the rest is filled with zeros. Returns the bytes that it
 * took of `from`, or -1: it is damaged, cut, or larger than `room`. *used, *big: bytes of the page, and its byte order.
 */
int32_t fathom_page_unpack(struct wire_packer *s, const uint8_t *from, size_t bytes, uint8_t *page,
			   uint32_t room, uint32_t *used, int *big);

#endif
