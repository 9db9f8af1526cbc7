/* SPDX-License-Identifier: MIT */
/* blocks.h -- lines to blocks to sections, with repair; inside of the console stage. */
#ifndef DECODE_BTB_BLOCKS_H
#define DECODE_BTB_BLOCKS_H

#include "decode/btb/btb.h"

struct btb_block {
	uint64_t id;
	uint64_t known[2]; /* bit per word */
	uint32_t section;  /* index into btb_blocks.sections */
	uint8_t redundancy;
	uint64_t w[WIRE_BTB_BLOCK_WORDS];
};

struct btb_section {
	uint64_t first; /* id of its first block */
	uint32_t words; /* as announced by `--> btbs:`; 0 if that line was lost */
	size_t xor_at;	/* index of the redundancy block + 1, 0: lost */
	uint64_t last;	/* highest id seen */
	uint32_t seen;	/* data blocks */
};

struct btb_parity {
	uint64_t start;
	uint32_t lines, groups, group, row;
	uint64_t w[WIRE_BTB_LINE_WORDS];
};

struct btb_line {
	uint64_t at; /* its number: of its block times the lines of a block, and within that */
	uint64_t w[WIRE_BTB_LINE_WORDS];
	uint32_t mask; /* of the words that could be read */
};

/* Blocks of one run, collected until the parity lines that protect them have come, or enough where there are none. */
struct btb_blocks {
	btb_section_fn fn;
	void *arg;
	struct btb_loss *loss;
	uint32_t run;
	struct btb_block *block;
	size_t nr_block, cap_block;
	size_t nr_data; /* after complete(): data blocks by id, then redundancy blocks */
	struct btb_section *section;
	size_t nr_section, cap_section;
	struct btb_parity *parity;
	size_t nr_parity, cap_parity;
	uint64_t nr_seen, nr_lost; /* in all runs: begun by a line, and believed to be missing */
	uint64_t believed_end;	   /* parity lines were believed that data went so far */
	uint64_t next; /* id after the last block that was settled; 0: none was in this run */
	uint32_t last_offset; /* of the block that is being filled */
	bool open;	      /* the current section has no redundancy block yet */
	bool announced;	      /* a `--> btbs:` line came and no data since */
	uint32_t announced_words;
	bool parity_told;     /* the producer says that parity lines will come */
	bool failed;	      /* out of memory */
	struct btb_line held; /* does not follow the one before it: btb_lines.c */
	bool holding, has_last;
	uint64_t last_line; /* placed last */
};

void btb_blocks_init(struct btb_blocks *b, btb_section_fn fn, void *arg, struct btb_loss *loss);
/* A line as it was read; it is placed when its neighbours confirm where it belongs. */
void btb_blocks_line(struct btb_blocks *b, uint64_t id, uint32_t offset, const uint64_t w[4],
		     uint32_t mask);
/* No line comes that could confirm the one that is held. */
void btb_blocks_flush(struct btb_blocks *b);
void btb_blocks_place(struct btb_blocks *b, uint64_t id, uint32_t offset, const uint64_t w[4],
		      uint32_t mask);
void btb_blocks_section(struct btb_blocks *b, uint32_t words, bool parity);
void btb_blocks_parity(struct btb_blocks *b, const struct btb_parity *p);
int btb_blocks_finish(struct btb_blocks *b);

/* Rebuild lines from parity lines (btb_parity.c). `at(id)` finds a data block. */
struct btb_block *btb_blocks_find(struct btb_blocks *b, uint64_t id);
void btb_parity_repair(struct btb_blocks *b);

static inline bool btb_line_known(const struct btb_block *k, uint32_t line)
{
	return (k->known[line / 16] >> (line % 16 * 4) & 15) == 15;
}

#endif
