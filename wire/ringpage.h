/* SPDX-License-Identifier: MIT */
/* ringpage.h -- the ring-buffer page: Linux's sub-buffer layout, which trace.dat's CPU data is made of. */
#ifndef WIRE_RINGPAGE_H
#define WIRE_RINGPAGE_H

#include <stdint.h>

/*
 * OFFSET  SIZE  MEANING
 *      0     8  absolute time of the page
 *      8     8  commit: bytes of data used, and the two flags below (4 bytes on a 32-bit target)
 *     16  4080  data: records, each after one 32-bit header word
 */
#ifndef WIRE_PAGE_BYTES /* a port may choose others: FATHOM_PAGE_BYTES */
#define WIRE_PAGE_BYTES 4096u
#endif
#define WIRE_PAGE_HEADER 16u
#define WIRE_PAGE_LEAST	 512u /* bytes of the smallest */
#define WIRE_PAGE_DATA	 (WIRE_PAGE_BYTES - WIRE_PAGE_HEADER)

#define WIRE_COMMIT_SIZE 0x000fffffu /* bytes of data used */
#define WIRE_COMMIT_STORED \
	0x40000000u /* the number of missed events stands after the data, as u64 */
#define WIRE_COMMIT_MISSED 0x80000000u /* events were missed before this page */

/* Pages that a target of this library may have. */
static inline int wire_page_bytes_ok(uint32_t bytes)
{
	return bytes >= WIRE_PAGE_LEAST && bytes <= 4096 && !(bytes & (bytes - 1));
}

struct wire_page {
	uint64_t time;
	uint64_t commit;
	uint8_t data[WIRE_PAGE_DATA];
};

/* The header word of a record, native endian: on little endian type_len is bits 0-4, time_delta bits 5-31. */
#define WIRE_TYPE_LEN_BITS 5
#define WIRE_DELTA_BITS	   27
#define WIRE_DELTA_MAX	   ((1u << WIRE_DELTA_BITS) - 1)

enum wire_type_len {
	WIRE_TYPE_SIZED = 0,	 /* the next u32 is the length, itself included */
	WIRE_TYPE_DATA_MAX = 28, /* 1..28: that many words of payload */
	/* delta 0: rest of the page is unused; else the next u32 is the length to skip */
	WIRE_TYPE_PADDING = 29,
	WIRE_TYPE_EXTEND = 30, /* the next u32 holds bits 27.. of the delta */
	WIRE_TYPE_STAMP = 31,  /* the same packing of an absolute time, 59 bits */
};

static inline uint32_t wire_header(uint32_t type_len, uint32_t delta)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return type_len << WIRE_DELTA_BITS | delta;
#else
	return type_len | delta << WIRE_TYPE_LEN_BITS;
#endif
}

static inline uint32_t wire_header_type(uint32_t word)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return word >> WIRE_DELTA_BITS;
#else
	return word & 31;
#endif
}

static inline uint32_t wire_header_delta(uint32_t word)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return word & WIRE_DELTA_MAX;
#else
	return word >> WIRE_TYPE_LEN_BITS;
#endif
}

/* The same of a machine of the other byte order, the word being read in its order. */
static inline uint32_t wire_header_type_other(uint32_t word)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return word & 31;
#else
	return word >> WIRE_DELTA_BITS;
#endif
}

static inline uint32_t wire_header_delta_other(uint32_t word)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return word >> WIRE_TYPE_LEN_BITS;
#else
	return word & WIRE_DELTA_MAX;
#endif
}

/* An absolute stamp has 59 bits; the rest comes from the time before it, which it may have carried over. */
#define WIRE_STAMP_BITS 59
static inline uint64_t wire_stamp_time(uint64_t before, uint64_t stamp)
{
	uint64_t span = (uint64_t)1 << WIRE_STAMP_BITS;
	uint64_t time = (before & ~(span - 1)) | stamp;

	return time < before && before - time > span / 2 ? time + span : time;
}

/* One thing in a page, as wire_page_step() found it. */
struct wire_item {
	const uint8_t *data; /* payload of a data record, NULL for padding and time */
	uint32_t bytes;
	uint32_t next; /* offset after it */
	uint32_t type; /* its type_len */
};

static inline uint32_t wire_page_word(const uint8_t *at, int other)
{
	uint32_t word = *(const uint32_t *)(const void *)at;

	return other ? word >> 24 | (word >> 8 & 0xff00) | (word << 8 & 0xff0000) | word << 24
		     : word;
}

/*
 * Step over the item at `at` of the page's data, which ends at `end`, and keep *time: 0, or -1 if it is damaged. `other`:
 * the page is of the other byte order than this machine's. Trusts nothing: `data` may be any bytes.
 */
static inline int wire_page_step_order(const uint8_t *data, uint32_t at, uint32_t end,
				       uint64_t *time, struct wire_item *item, int other)
{
	uint32_t word, extra = 0, delta, room;

	if (at >= end || at % 4 || end - at < 4)
		return -1;
	room = end - at;
	word = wire_page_word(data + at, other);
	delta = other ? wire_header_delta_other(word) : wire_header_delta(word);
	item->type = other ? wire_header_type_other(word) : wire_header_type(word);
	item->data = 0;
	item->bytes = 0;
	if (item->type >= 1 && item->type <= WIRE_TYPE_DATA_MAX) {
		item->bytes = item->type * 4;
		item->next = at + 4 + item->bytes;
		item->data = data + at + 4;
		*time += delta;
		return item->bytes <= room - 4 ? 0 : -1;
	}
	if (item->type == WIRE_TYPE_PADDING && !delta) {
		item->next = end;
		return 0;
	}
	if (room < 8)
		return -1;
	extra = wire_page_word(data + at + 4, other);
	if (item->type == WIRE_TYPE_EXTEND || item->type == WIRE_TYPE_STAMP) {
		uint64_t t = ((uint64_t)extra << WIRE_DELTA_BITS) + delta;

		*time = item->type == WIRE_TYPE_EXTEND ? *time + t : wire_stamp_time(*time, t);
		item->next = at + 8;
		return 0;
	}
	*time += delta;
	if (extra < 4 || extra > room - 4)
		return -1;
	item->next = at + 4 + ((extra + 3) & ~3u);
	if (item->type == WIRE_TYPE_SIZED) {
		item->bytes = extra - 4;
		item->data = data + at + 8;
	}
	return item->next <= end ? 0 : -1;
}

static inline int wire_page_step(const uint8_t *data, uint32_t at, uint32_t end, uint64_t *time,
				 struct wire_item *item)
{
	return wire_page_step_order(data, at, end, time, item, 0);
}

#endif
