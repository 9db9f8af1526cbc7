/* SPDX-License-Identifier: MIT */
/* pos.h -- positions and slots of the ring taken apart: which page, which lap, read how far. */
#ifndef FATHOM_RING_POS_H
#define FATHOM_RING_POS_H

#include "fathom/inside/ring.h"

/*
 * A position (tail, commit)     | lap | index | epoch | count | words |     words: 10 bits, count: 10 (9), epoch: 3 (0),
 *                                                                           index: 16 (9)
 * A slot                        | lap | free | read | page |                page: 17 (10), read: 10 (9)
 *
 * (in brackets: 32-bit targets). A slot's lap grows by one whenever the owner puts its tail there, so its low bits are the
 * lap of the position. A position's lap has fewer bits, and need not have more: see R9 in ring.c.
 */
#define FATHOM_POS_LAP_UNIT   (1ul << FATHOM_POS_LAP_SHIFT)
#define FATHOM_POS_NOWHERE    (~0ul) /* no position: more words than a page has */
#define FATHOM_SLOT_READ_UNIT (1ul << FATHOM_SLOT_PAGE_BITS)
#define FATHOM_SLOT_FREE      (FATHOM_SLOT_READ_UNIT << FATHOM_POS_COUNT_BITS)
#define FATHOM_SLOT_LAP_UNIT  (FATHOM_SLOT_FREE << 1)
#define FATHOM_LAPS_SKIPPED   3 /* by a resize: no word or position from before it is met again */

static inline uint32_t pos_count(unsigned long pos)
{
	return (uint32_t)(pos >> FATHOM_POS_WORD_BITS) & ((1u << FATHOM_POS_COUNT_BITS) - 1);
}

static inline unsigned long pos_lap(unsigned long pos)
{
	return pos >> FATHOM_POS_LAP_SHIFT;
}

static inline int pos_same_page(unsigned long a, unsigned long b)
{
	return ((a ^ b) >> FATHOM_POS_PAGE_SHIFT) == 0;
}

/* The start of the page behind the one `pos` is in, in the same epoch. */
static inline unsigned long pos_next_page(const struct fathom_ring *r, unsigned long pos)
{
	unsigned long epoch = pos & FATHOM_POS_EPOCHS;

	if (FATHOM_POS_INDEX(pos) + 1 < fathom_load(&r->nr_pages))
		return ((pos >> FATHOM_POS_PAGE_SHIFT) + 1) << FATHOM_POS_PAGE_SHIFT | epoch;
	return (pos_lap(pos) + 1) << FATHOM_POS_LAP_SHIFT | epoch;
}

/* Is the tail ahead of commit, by a record at least, in whatever epoch they are? (R11) */
static inline int pos_ahead(unsigned long tail, unsigned long commit)
{
	unsigned long d = (tail & ~FATHOM_POS_EPOCHS) - (commit & ~FATHOM_POS_EPOCHS);

	return FATHOM_POS_EPOCH_BITS ? (long)(d - FATHOM_POS_COUNT_UNIT) >= 0 : tail != commit;
}

/* The same place in the next epoch. */
static inline unsigned long pos_next_epoch(unsigned long pos)
{
	unsigned long next = pos + (1ul << FATHOM_POS_EPOCH_SHIFT);

	return (pos & ~FATHOM_POS_EPOCHS) | (next & FATHOM_POS_EPOCHS);
}

static inline uint32_t slot_read(unsigned long slot)
{
	return (uint32_t)(slot / FATHOM_SLOT_READ_UNIT) & ((1u << FATHOM_POS_COUNT_BITS) - 1);
}

/* The same page on the next lap, nothing read: what the owner puts there. */
static inline unsigned long slot_next_lap(unsigned long slot)
{
	return (slot / FATHOM_SLOT_LAP_UNIT + 1) * FATHOM_SLOT_LAP_UNIT + FATHOM_SLOT_PAGE(slot);
}

/* The lap of the slot minus the lap of the position, as far as the position can tell: 0, 1, -1 matter. */
static inline long slot_lap_ahead(unsigned long slot, unsigned long pos)
{
	unsigned long d = slot / FATHOM_SLOT_LAP_UNIT - pos_lap(pos);
	unsigned long half = 1ul << (sizeof(long) * 8 - FATHOM_POS_LAP_SHIFT - 1);

	return (long)((d + half) & (2 * half - 1)) - (long)half;
}

/* Where the page in slot `index` stands to the commit position: < 0 complete, 0 it is there, > 0 not yet. */
static inline int slot_to_commit(uint32_t index, unsigned long slot, unsigned long commit)
{
	long ahead = slot_lap_ahead(slot, commit);
	uint32_t at = FATHOM_POS_INDEX(commit);

	if (ahead == 0)
		return index < at ? -1 : index > at;
	return ahead < 0 ? -1 : 1;
}

static inline struct fathom_page_meta *slot_meta(const struct fathom_ring *r, unsigned long slot)
{
	return &r->meta[FATHOM_SLOT_PAGE(slot)];
}

static inline struct wire_page *slot_page(const struct fathom_ring *r, unsigned long slot)
{
	return (struct wire_page *)(void *)fathom_ring_page_at(r, FATHOM_SLOT_PAGE(slot));
}

static inline uint32_t *slot_data(const struct fathom_ring *r, unsigned long slot)
{
	return (uint32_t *)(void *)slot_page(r, slot)->data;
}

/*
 * The caller's block:   | slots | order | meta | pad to 4096 | page 0 | page 1 | ... | page max |
 * `slots` and `order` (room for resize to sort in) have one word per ring page, meta and pages one more: the reader's.
 * A ring that uses fewer pages than it has keeps the rest, FREE, in the slots behind nr_pages.
 */
static inline size_t ring_book_bytes(uint32_t nr_pages)
{
	size_t bytes = (size_t)nr_pages * 2 * sizeof(unsigned long) +
		       ((size_t)nr_pages + 1) * sizeof(struct fathom_page_meta) + 8;

	return (bytes + WIRE_PAGE_BYTES - 1) / WIRE_PAGE_BYTES * WIRE_PAGE_BYTES;
}

static inline void ring_lay_out(struct fathom_ring *r, void *mem, uint32_t pages)
{
	uint8_t *at = (uint8_t *)mem + (size_t)pages * 2 * sizeof(unsigned long);

	at += (uintptr_t)at % 8;
	r->max_pages = pages;
	r->slots = (unsigned long *)mem;
	r->meta = (struct fathom_page_meta *)(void *)at;
	r->pages = (uint8_t *)mem + ring_book_bytes(pages);
}

/* Added to a time it makes one that no clock reads within WIRE_DELTA_MAX: last_time when it is not known. */
#define FATHOM_TIME_FAR (1ull << 63)

/* The time of the record that ends at `pos`, where commit will be, is not known; `time` is of one before it. */
static inline void time_forget(struct fathom_ring *r, unsigned long pos, uint64_t time)
{
	r->last_time = time + FATHOM_TIME_FAR;
	fathom_store(&r->vague, pos);
	if (time > r->seen_time)
		r->seen_time = time;
}

/* A counter that the owner and a resize on another CPU may add to. */
static inline void shared_add(unsigned long *at, unsigned long n)
{
	__atomic_fetch_add(at, n, __ATOMIC_RELAXED);
}

/* Records of a complete page that nobody has read. */
static inline uint32_t slot_unread(const struct fathom_ring *r, unsigned long slot)
{
	const struct fathom_page_meta *m = slot_meta(r, slot);

	return (uint32_t)m->entries - m->discards - slot_read(slot);
}

/* read.c: the records of [start, end): how many, and the time behind the last; -1 if they make no sense. */
int fathom_ring_count(const uint8_t *data, uint32_t start, uint32_t end, uint64_t *time);

#endif
