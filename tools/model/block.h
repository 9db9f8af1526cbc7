/* SPDX-License-Identifier: MIT */
/* block.h -- what a block layer did, from Linux's block events or the records of the blk tracer: one act per event. */
#ifndef MODEL_BLOCK_H
#define MODEL_BLOCK_H

#include "decode/blk.h"
#include "store/scan.h"

enum block_dir {
	BLOCK_READ,
	BLOCK_WRITE,
	BLOCK_DISCARD,
	BLOCK_NONE, /* a flush, a plug */
};

struct block_act {
	enum wire_blk_action what;
	enum block_dir dir;
	bool record; /* of the blk tracer */
	uint32_t device;
	uint64_t time, sector;
	uint32_t bytes, nr; /* nr: requests of an unplug */
	int32_t pid, error;
};

struct block_reader;

/* NULL: out of memory. */
struct block_reader *block_reader_new(struct source *s);
void block_reader_free(struct block_reader *r);
/* False: the event is none of a block layer's, or damaged. */
bool block_read(struct block_reader *r, const struct event *e, struct block_act *out);

#endif
