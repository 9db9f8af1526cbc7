/* SPDX-License-Identifier: MIT */
/* ring.h -- one CPU's ring of pages: reserve/commit for nested writers, one reader that swaps pages out. */
#ifndef FATHOM_RING_H
#define FATHOM_RING_H

#include <stddef.h>
#include <stdint.h>
#include "wire/ringpage.h"

struct fathom_ring;

/* A reservation; lives on the writer's stack between reserve and commit. */
struct fathom_slot {
	void *data;	/* where the payload goes; NULL if it was not granted (and counted) */
	uint32_t bytes; /* payload bytes */
	uint32_t at;	/* the ring's own bookkeeping */
	void *page;
	uint64_t time;
};

/* Every event offered is in exactly one of these: written + full + too_big + disabled + nested = offered;
 * written = read + overwritten + still in the ring + discarded. */
struct fathom_ring_stats {
	uint64_t written;     /* committed records */
	uint64_t read;	      /* consumed by the reader */
	uint64_t overwritten; /* lost in overwrite mode (Linux: overrun) */
	uint64_t full;	      /* refused in discard mode (Linux: dropped events) */
	uint64_t
		nested; /* refused: a nested writer lapped an open reservation (Linux: commit overrun) */
	uint64_t too_big;   /* refused: larger than a page holds */
	uint64_t disabled;  /* refused: recording was off */
	uint64_t discarded; /* given back by the writer */
	uint64_t entries;   /* in the ring now */
	uint64_t bytes;	    /* data bytes in the ring now */
	uint64_t oldest;    /* time of the oldest record, 0 if empty */
};

/* One record as a reader sees it; points into the page, valid until the next call on the same iterator. */
struct fathom_record {
	const void *data;
	uint32_t bytes;
	uint32_t cpu;
	uint64_t time;
	uint64_t lost; /* events missed right before this one */
};

/*
 * Set-up. `mem` holds the pages and the bookkeeping; at least 3 pages (reader + 2). 0, -EINVAL, -ENOMEM. Context: init.
 */
size_t fathom_ring_bytes(uint32_t nr_pages);
int fathom_ring_init(struct fathom_ring *r, void *mem, size_t bytes, uint32_t cpu);

/* Writers: any context, on the ring's own CPU only. Wait-free. reserve returns slot->data. */
void *fathom_ring_reserve(struct fathom_ring *r, uint32_t bytes, struct fathom_slot *slot);
void fathom_ring_commit(struct fathom_ring *r, struct fathom_slot *slot);
void fathom_ring_discard(struct fathom_ring *r, struct fathom_slot *slot);

/*
 * The reader: one at a time (the caller serialises), any CPU, never stops a writer.
 * read_page copies one page out in wire layout (missed flag and count included): bytes of data, 0 if nothing is there.
 * With `partial` 0 only full pages are handed out.
 * consume takes one record; peek looks at it.
 */
int fathom_ring_read_page(struct fathom_ring *r, struct wire_page *out, int partial);
int fathom_ring_consume(struct fathom_ring *r, struct fathom_record *rec);
int fathom_ring_peek(struct fathom_ring *r, struct fathom_record *rec);

/* A walk that consumes nothing. Restarts itself where the writer overtook it, and counts that as lost. */
struct fathom_ring_iter {
	struct fathom_ring *ring;
	uint64_t time;
	uint64_t state[6];
	struct wire_page *copy; /* the caller's scratch page: the walk reads a stable copy */
};
void fathom_ring_iter_init(struct fathom_ring_iter *it, struct fathom_ring *r,
			   struct wire_page *scratch);
int fathom_ring_iter_next(struct fathom_ring_iter *it, struct fathom_record *rec);

/* Control: task context. */
void fathom_ring_enable(struct fathom_ring *r, int on);
void fathom_ring_overwrite(struct fathom_ring *r, int on);
void fathom_ring_reset(struct fathom_ring *r);
int fathom_ring_resize(struct fathom_ring *r, uint32_t nr_pages);
uint32_t fathom_ring_pages(const struct fathom_ring *r);
int fathom_ring_swap(struct fathom_ring *a,
		     struct fathom_ring *b); /* exchange contents: snapshot */
void fathom_ring_stats(const struct fathom_ring *r, struct fathom_ring_stats *st);

#endif
