/* SPDX-License-Identifier: MIT */
/* lines.c -- where a line belongs: what it says itself, checked against the lines beside it. */
#include "decode/btb/blocks.h"

#include <string.h>

/*
 * A wrong digit in `[id.offset]` can be a good digit, and a line that is put where it says would begin another block or
 * even another run. Lines come in order, so one that does not follow the line before it is held until the next comes:
 *
 *	L1  if the next follows it, or it stands between its neighbours, it is believed (lines were lost);
 *	L2  if the next shows that exactly one line is missing, it is that line;
 *	L3  else nobody knows where it belongs, and it counts as damaged: the redundancy may bring it back.
 */
#define NEAR (2 * WIRE_BTB_BLOCK_LINES) /* without a neighbour on its other side */

static void put(struct btb_blocks *b, const struct btb_line *l)
{
	btb_blocks_place(b, l->at / WIRE_BTB_BLOCK_LINES,
			 (uint32_t)(l->at % WIRE_BTB_BLOCK_LINES) * WIRE_BTB_LINE_WORDS, l->w,
			 l->mask);
	b->last_line = l->at;
	b->has_last = true;
}

static bool believed(const struct btb_blocks *b, const struct btb_line *held,
		     const struct btb_line *next)
{
	bool before_next = held->at < next->at && next->at - held->at <= NEAR;
	bool after_last = held->at > b->last_line && held->at - b->last_line <= NEAR;

	if (next->at == held->at + 1)
		return true;
	if (!b->has_last)
		return before_next;
	if (next->at > b->last_line)
		return held->at > b->last_line && held->at < next->at;
	return after_last || before_next; /* the next begins a redundancy block, or a run */
}

static void settle_held(struct btb_blocks *b, const struct btb_line *next)
{
	struct btb_line l = b->held;

	if (!b->holding)
		return;
	b->holding = false;
	if (next && next->at == l.at && !memcmp(next->w, l.w, sizeof(l.w)))
		return; /* the same line twice */
	if (next && !believed(b, &l, next)) {
		if (!b->has_last || next->at != b->last_line + 2) {
			b->loss->bad_lines++;
			return;
		}
		l.at = b->last_line + 1;
		b->loss->corrected_lines++;
	}
	put(b, &l);
}

void btb_blocks_line(struct btb_blocks *b, uint64_t id, uint32_t offset, const uint64_t w[4],
		     uint32_t mask)
{
	struct btb_line l = {.mask = mask};

	if (id > UINT32_MAX) {
		b->loss->bad_lines++;
		return;
	}
	l.at = id * WIRE_BTB_BLOCK_LINES + offset / WIRE_BTB_LINE_WORDS;
	memcpy(l.w, w, sizeof(l.w));
	settle_held(b, &l);
	if (b->has_last && l.at == b->last_line + 1) {
		put(b, &l);
		return;
	}
	b->held = l;
	b->holding = true;
}

void btb_blocks_flush(struct btb_blocks *b)
{
	settle_held(b, NULL);
	b->has_last = false;
}
