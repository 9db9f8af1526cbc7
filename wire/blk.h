/* SPDX-License-Identifier: MIT */
/* blk.h -- the record of the blk tracer, Linux's struct blk_io_trace after the common fields, and its text. */
#ifndef WIRE_BLK_H
#define WIRE_BLK_H

#include <stdint.h>

#include "wire/text.h"

/*
 *  0  8  common fields, where blktrace has magic and number        36  4  device: major << 20 | minor
 *  8  8  time, not filled in: the ring's counts                    40  4  CPU
 * 16  8  sector, of 512 bytes                                      44  2  error, signed
 * 24  4  bytes                                                     46  2  bytes of what follows
 * 28  4  action: what << 0, enum wire_blk_class << 16              48     cgroup (8) if WIRE_BLK_CGROUP; then the action's own
 * 32  4  pid
 */
enum wire_blk_offset {
	WIRE_BLK_SECTOR = 16,
	WIRE_BLK_BYTES = 24,
	WIRE_BLK_ACTION = 28,
	WIRE_BLK_PID = 32,
	WIRE_BLK_DEVICE = 36,
	WIRE_BLK_CPU = 40,
	WIRE_BLK_ERROR = 44,
	WIRE_BLK_MORE = 46,
	WIRE_BLK_FIXED = 48,
};

enum wire_blk_action {
	WIRE_BLK_QUEUE = 1,
	WIRE_BLK_BACKMERGE,
	WIRE_BLK_FRONTMERGE,
	WIRE_BLK_GETRQ,
	WIRE_BLK_SLEEPRQ,
	WIRE_BLK_REQUEUE,
	WIRE_BLK_ISSUE,
	WIRE_BLK_COMPLETE,
	WIRE_BLK_PLUG,
	WIRE_BLK_UNPLUG, /* followed by the number of requests, big endian u64 */
	WIRE_BLK_UNPLUG_TIMER,
	WIRE_BLK_INSERT,
	WIRE_BLK_SPLIT, /* followed by the sector of the second part, big endian u64 */
	WIRE_BLK_BOUNCE,
	WIRE_BLK_REMAP, /* followed by device from and to, u32, and sector from, u64, big endian */
	WIRE_BLK_ACTIONS,
};

enum wire_blk_class {
	WIRE_BLK_TC_READ = 1 << 0,
	WIRE_BLK_TC_WRITE = 1 << 1,
	WIRE_BLK_TC_FLUSH = 1 << 2,
	WIRE_BLK_TC_SYNC = 1 << 3,
	WIRE_BLK_TC_QUEUE = 1 << 4,
	WIRE_BLK_TC_REQUEUE = 1 << 5,
	WIRE_BLK_TC_ISSUE = 1 << 6,
	WIRE_BLK_TC_COMPLETE = 1 << 7,
	WIRE_BLK_TC_PC = 1 << 9, /* a command of the device's own */
	WIRE_BLK_TC_AHEAD = 1 << 11,
	WIRE_BLK_TC_META = 1 << 12,
	WIRE_BLK_TC_DISCARD = 1 << 13,
	WIRE_BLK_TC_FUA = 1 << 15,
};

#define WIRE_BLK_CGROUP	 0x100u
#define WIRE_BLK_MESSAGE (1u << 26 | 2u) /* a notification with text */

/* One of them, taken apart. */
struct fathom_text_blk {
	uint64_t sector, time; /* time: as the clock shows it */
	uint32_t bytes, action, device, cpu;
	int32_t pid;
	int16_t error;
	uint32_t more_bytes;
	const uint8_t *more; /* after the cgroup */
	const char *comm;
};

enum fathom_text_blk_form {
	FATHOM_BLK_CLASSIC = 1, /* with CPU, time and pid, as blkparse has them */
	FATHOM_BLK_WORDS = 2,	/* "queue" for "Q" */
};

/* "R", "WSM", "FN": at most 7 letters. */
void fathom_blk_letters(uint32_t action, uint32_t bytes, char out[8]);
/* The line after the columns, with its end, as Linux prints it. */
void fathom_text_blk(struct fathom_text *t, const struct fathom_text_blk *b, uint32_t form);
/* The head of the classic form. */
extern const char fathom_blk_head[];

#endif
