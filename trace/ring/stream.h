/* SPDX-License-Identifier: MIT */
/* stream.h -- inside of the 16-bit stream recorder: what the dump reads. */
#ifndef RING_STREAM_H
#define RING_STREAM_H

#include "fathom/stream.h"
#include "ring/lz4.h"

#define STREAM_SIDE_WORDS 256u
#define STREAM_PROBES	  32u /* slots looked at for a function before the dictionary counts as full */

/* In storage, before the packed bytes, which are padded to 4. */
struct stream_block {
	uint32_t packed;
	uint32_t words;
};

/*
 * One CPU. Only its own contexts write, but for start, stop and reset.
 *
 *  W1  Only the context that found `busy` 0 and set it touches work, storage and table.
 *  W2  A context that finds `busy` set appends to the side buffer in use; the one that set it switches to the other
 *      and moves the words behind its own. Contexts of one CPU nest, so whatever it finds there is complete, and nobody
 *      adds to it any more.
 *  W3  A block holds whole events.
 */
struct stream_cpu {
	uint32_t busy;
	uint32_t nr;		  /* words in work */
	uint32_t inside;	  /* a kernel entry is open */
	uint32_t vmid;		  /* last logged + 1; 0: none */
	uint64_t tcb;		  /* last logged + 1 */
	uint64_t entry;		  /* its clock */
	uint32_t side_now;	  /* the side buffer in use */
	unsigned long side_nr[2]; /* words in them: local atomics */
	uint16_t *work;
	uint16_t *table;
	uint8_t *store;
	uint32_t store_bytes;
	uint32_t oldest; /* offset of the oldest block */
	uint32_t free;	 /* offset behind the newest */
	uint32_t wrap;	 /* end of the blocks before the one at 0; 0: they do not wrap */
	struct fathom_stream_stats stats;
	unsigned long nested, no_index; /* refused: local atomics */
	uint16_t side[2][STREAM_SIDE_WORDS];
} __attribute__((aligned(64)));

struct stream {
	uint32_t on; /* written by control, read relaxed by every event */
	uint32_t nr_cpus;
	uint32_t work_words;
	uint32_t nr_slots;
	uint32_t flags;
	uint64_t clock_hz;
	uintptr_t *dict;  /* by slot; the function's index is WIRE_SEL4_FUNC_FIRST + slot */
	uint8_t *scratch; /* a block's words, for the dump */
	struct stream_cpu *cpu;
};

extern struct stream fathom_stream;

uint32_t fathom_stream_cpus(void); /* 0: there is no stream */
/* Walk the blocks, oldest first: *at begins as c->oldest, c->stats.blocks of them are there. */
const struct stream_block *fathom_stream_next(const struct stream_cpu *c, uint32_t *at);
/* Move what interrupts left in the side buffer and close an open entry. Recording is off. */
void fathom_stream_settle(struct stream_cpu *c);

#endif
