/* SPDX-License-Identifier: MIT */
/* btb.h -- send a backtrace buffer over a text console: compressed sections, XOR blocks, parity lines. */
#ifndef FATHOM_BTB_H
#define FATHOM_BTB_H

#include <stddef.h>
#include <stdint.h>
#include "fathom/trace.h"
#include "wire/btb.h"

/*
 * What an export needs: three sections (the words, a sorted copy, the code) and the parity lines that grow while data is
 * sent. FATHOM_BTB_EXPORT_BYTES without parity; each group of parity takes FATHOM_BTB_GROUP_BYTES(percent) more and
 * protects up to 200 lines (about 17 KiB of console text).
 */
#define FATHOM_BTB_EXPORT_BYTES		(3u * WIRE_BTB_SECTION_WORDS * 8)
#define FATHOM_BTB_ROWS(percent)	((percent)*WIRE_BTB_GROUP_LINES / 100u)
#define FATHOM_BTB_GROUP_BYTES(percent) (FATHOM_BTB_ROWS(percent) * WIRE_BTB_LINE_WORDS * 8)

struct fathom_btb_export {
	fathom_write_fn write;
	void *arg;
	uint64_t *words; /* of the section that is being filled; the first four are its header */
	uint64_t *sorted;
	uint64_t *code;
	uint64_t *parity; /* [groups][rows][4] */
	uint32_t nr;	  /* words in the section, header included */
	uint32_t groups;
	uint32_t rows;
	uint32_t percent;
	uint64_t block;	      /* id of the next data block */
	uint64_t span;	      /* block with which the lines under parity begin */
	uint32_t span_lines;  /* data lines since */
	uint64_t sent_words;  /* of the buffer */
	uint64_t sent_blocks; /* redundancy blocks included */
	uint64_t xored[WIRE_BTB_BLOCK_DATA];
};

/*
 * Begin an export. `memory` (8-aligned) of `bytes`: what is left behind FATHOM_BTB_EXPORT_BYTES holds parity. `percent`:
 * parity lines per hundred data lines, 0 to 25; a burst of up to that share of the lines, less two groups' worth, is
 * rebuilt. `expect`: about how many words will be sent (0: not known), so that a short export does not get the parity
 * lines of a long one. 0, -EINVAL, -ENOMEM. Context: task.
 */
int fathom_btb_export_begin(struct fathom_btb_export *e, void *memory, size_t bytes,
			    uint32_t percent, uint64_t expect, fathom_write_fn write, void *arg);
void fathom_btb_export_words(struct fathom_btb_export *e, const uint64_t *w, size_t n);
/* The last section and the parity lines. */
void fathom_btb_export_end(struct fathom_btb_export *e);

#endif
