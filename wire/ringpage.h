/* SPDX-License-Identifier: MIT */
/* ringpage.h -- the ring-buffer page: Linux's sub-buffer layout, which trace.dat's CPU data is made of. */
#ifndef WIRE_RINGPAGE_H
#define WIRE_RINGPAGE_H

#include <stdint.h>

/*
 * OFFSET  SIZE  MEANING
 *      0     8  absolute time of the page
 *      8     8  commit: bytes of data used, and the two flags below (4 bytes on a 32-bit target)
 *     16  4080  data: records, each behind one 32-bit header word
 */
#define WIRE_PAGE_BYTES	 4096u
#define WIRE_PAGE_HEADER 16u
#define WIRE_PAGE_DATA	 (WIRE_PAGE_BYTES - WIRE_PAGE_HEADER)

#define WIRE_COMMIT_SIZE 0x000fffffu /* bytes of data used */
#define WIRE_COMMIT_STORED \
	0x40000000u /* the number of missed events stands behind the data, as u64 */
#define WIRE_COMMIT_MISSED 0x80000000u /* events were missed before this page */

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
	WIRE_TYPE_PADDING =
		29, /* delta 0: rest of the page is unused; else the next u32 is the length to skip */
	WIRE_TYPE_EXTEND = 30, /* the next u32 holds bits 27.. of the delta */
	WIRE_TYPE_STAMP = 31,  /* the same packing of an absolute time, 59 bits */
};

static inline uint32_t wire_header(uint32_t type_len, uint32_t delta)
{
	return type_len | delta << WIRE_TYPE_LEN_BITS;
}

#endif
