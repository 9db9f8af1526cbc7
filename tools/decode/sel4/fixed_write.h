/* SPDX-License-Identifier: MIT */
/* fixed_write.h -- a seL4 stream as fixed 16-byte records, with lists of the rare types and a description beside it. */
#ifndef DECODE_SEL4_FIXED_WRITE_H
#define DECODE_SEL4_FIXED_WRITE_H

#include "decode/sel4/sel4.h"

/*
 * PATH.types, little endian:
 *
 * OFFSET  SIZE  MEANING
 *      0     8  "FTHMTYPE"
 *      8     4  version, 1
 *     12     4  number of types T
 *     16  T*24  per type: u32 type, u32 listed (0: too many, scan for them), u64 count, u64 offset of its list
 *    ...        per listed type: count record numbers, u64 each, ascending
 */
#define SEL4_TYPES_MAGIC   "FTHMTYPE"
#define SEL4_TYPES_VERSION 1u

struct sel4_types_head {
	char magic[8];
	uint32_t version;
	uint32_t nr;
	struct sel4_types_entry {
		uint32_t type;
		uint32_t listed;
		uint64_t count;
		uint64_t offset;
	} entry[WIRE_SEL4_NR_TYPES];
};

/* PATH, PATH.types and PATH.meta. 0 or a negative errno. */
int sel4_fixed_write(const struct sel4_trace *t, const char *path);

#endif
