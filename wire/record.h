/* SPDX-License-Identifier: MIT */
/* record.h -- what every event record begins with, and the ids Linux fixed for its own events. */
#ifndef WIRE_RECORD_H
#define WIRE_RECORD_H

#include <stdint.h>

struct wire_common {
	uint16_t type;	       /* the ID of the event's format file */
	uint8_t flags;	       /* enum wire_flags */
	uint8_t preempt_count; /* low nibble: preempt depth, high nibble: migrate-disable depth */
	int32_t pid;
};

/* The context of a record: enum wire_flags, and from bit 8 on the preempt depth. */
static inline uint32_t wire_context(const struct wire_common *c)
{
	return c->flags | (uint32_t)c->preempt_count << 8;
}

enum wire_flags {
	WIRE_FLAG_IRQS_OFF = 0x01,
	WIRE_FLAG_NOSUPPORT = 0x02,
	WIRE_FLAG_RESCHED_LAZY = 0x02, /* since Linux 6.13, and with PREEMPT_RT before */
	WIRE_FLAG_NEED_RESCHED = 0x04,
	WIRE_FLAG_HARDIRQ = 0x08,
	WIRE_FLAG_SOFTIRQ = 0x10,
	WIRE_FLAG_PREEMPT_RESCHED = 0x20,
	WIRE_FLAG_NMI = 0x40,
	WIRE_FLAG_BH_OFF = 0x80,
};

/* Ids of the `ftrace` system: fixed, decoders know them. Ids of other events start at WIRE_ID_FIRST. */
enum wire_id {
	WIRE_ID_FUNCTION = 1,
	WIRE_ID_CONTEXT_SWITCH = 2,
	WIRE_ID_WAKEUP = 3,
	WIRE_ID_KERNEL_STACK = 4,
	WIRE_ID_PRINT = 5,
	WIRE_ID_BPRINT = 6,
	WIRE_ID_FUNCGRAPH_EXIT = 10,
	WIRE_ID_FUNCGRAPH_ENTRY = 11,
	WIRE_ID_USER_STACK = 12,
	WIRE_ID_BLK = 13, /* wire/blk.h: it has no format file */
	WIRE_ID_BPUTS = 14,
	WIRE_ID_HWLAT = 15,
	WIRE_ID_OSNOISE = 16,
	WIRE_ID_TIMERLAT = 17,
	WIRE_ID_RAW_DATA = 18,
	WIRE_ID_FUNC_REPEATS = 19,
	WIRE_ID_FIRST = 32,
};

#endif
