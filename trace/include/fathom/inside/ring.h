/* SPDX-License-Identifier: MIT */
/* ring.h -- one CPU's ring of pages: reserve/commit for nested writers, one reader that swaps pages out. */
#ifndef FATHOM_RING_H
#define FATHOM_RING_H

#include <stddef.h>
#include <stdint.h>
#include "fathom/inside/local.h"
#include "fathom/port_default.h"
#ifndef WIRE_PAGE_BYTES /* the models of the ring have smaller ones */
#define WIRE_PAGE_BYTES ((uint32_t)FATHOM_PAGE_BYTES)
#endif
#include "wire/ringpage.h"

/*
 * How it works, the invariants R1..R11 and the letters of FATHOM_STEP() are explained in trace/ring/ring.c.
 *
 * Who may write: contexts of ONE CPU that nest like interrupts: whoever interrupts an open reservation must have
 * committed (or discarded) its own before the interrupted one goes on. So between reserve and commit a task must not
 * be preempted by another task: switch preemption off, or interrupts. NMIs are fine, to any depth.
 *
 * Clock: pages carry raw ticks of fathom_port_clock(), never converted on the way in: a multiplication per event costs
 * as much as the whole reservation. Whoever makes text converts (fathom_ring_* hand out ticks), and trace.dat says
 * TSC2NSEC, or names a clock that counts nanoseconds when config.clock_hz is 0.
 *
 * Payloads are aligned to FATHOM_RING_ALIGN: 4 on x86_64, aarch64 and 32-bit targets, as in Linux (so a u64 member at
 * offset 8 of a record sits at an address that is 4 modulo 8), 8 elsewhere. Lengths are rounded up to 4 (or 8), as in Linux.
 */

/* Labelled race points: nothing in a kernel, a scheduler hook in test/model. A port may define it. */
#ifndef FATHOM_STEP
#define FATHOM_STEP(letter) ((void)0)
#endif

/*
 * A position: which page (lap and index of its slot), how many records and how many 4-byte words of it are taken. Between
 * them is an epoch: how often the ring was seized, so that a position of before is not taken for one of now (R10 in
 * ring.c). A 32-bit target has no bits to spare for it.
 */
#if UINTPTR_MAX > 0xffffffffu
#define FATHOM_POS_EPOCH_BITS 3
#define FATHOM_POS_COUNT_BITS 10
#define FATHOM_POS_INDEX_BITS 16
#else
#define FATHOM_POS_EPOCH_BITS 0
#define FATHOM_POS_COUNT_BITS 9
#define FATHOM_POS_INDEX_BITS 9
#endif
#define FATHOM_POS_WORD_BITS   10
#define FATHOM_POS_COUNT_UNIT  (1ul << FATHOM_POS_WORD_BITS)
#define FATHOM_POS_EPOCH_SHIFT (FATHOM_POS_WORD_BITS + FATHOM_POS_COUNT_BITS)
#define FATHOM_POS_PAGE_SHIFT  (FATHOM_POS_EPOCH_SHIFT + FATHOM_POS_EPOCH_BITS)
#define FATHOM_POS_LAP_SHIFT   (FATHOM_POS_PAGE_SHIFT + FATHOM_POS_INDEX_BITS)
#define FATHOM_POS_EPOCHS      ((1ul << FATHOM_POS_PAGE_SHIFT) - (1ul << FATHOM_POS_EPOCH_SHIFT))
#define FATHOM_POS_SAME(a, b)  ((((a) ^ (b)) & ~FATHOM_POS_EPOCHS) == 0) /* in whatever epoch */
#define FATHOM_POS_WORDS(pos)  ((uint32_t)(pos) & ((1u << FATHOM_POS_WORD_BITS) - 1))
#define FATHOM_POS_INDEX(pos) \
	((uint32_t)((pos) >> FATHOM_POS_PAGE_SHIFT) & ((1u << FATHOM_POS_INDEX_BITS) - 1))

/* A slot of the ring: which page lies there. The word is shared by the owner and the reader; ring.c has the rest. */
#define FATHOM_SLOT_PAGE_BITS  (FATHOM_POS_INDEX_BITS + 1)
#define FATHOM_SLOT_PAGE(word) ((uint32_t)(word) & ((1u << FATHOM_SLOT_PAGE_BITS) - 1))

#define FATHOM_RING_PAGES_MIN 2u /* in the ring, beside the reader's */
#define FATHOM_RING_PAGES_MAX \
	((1u << FATHOM_POS_INDEX_BITS) - 1) /* 256 MiB, or 2 MiB on a 32-bit target */
#define FATHOM_RING_DATA \
	(WIRE_PAGE_DATA - 8) /* room stays behind it for the count of missed events */
#define FATHOM_RING_WORDS     (FATHOM_RING_DATA / 4)
#define FATHOM_RING_EVENT_MAX (FATHOM_RING_DATA - 8) /* the largest payload */

/* Each is more than a page has words: the fast path adds them to the words taken, and compares once. */
enum fathom_ring_flags {
	FATHOM_RING_OFF = 1 << 16, /* refuse and count: tracing is off, switched in any context */
	/* every record carries an absolute stamp (timestamp_mode absolute) */
	FATHOM_RING_ABSOLUTE = 2 << 16,
	/* the same as OFF for whoever steers: a CPU mask, a pause, a resize */
	FATHOM_RING_HELD = 4 << 16,
};

/* What the ring knows of one page, beside the page. Owner writes, whoever holds the page reads. */
struct fathom_page_meta {
	uint64_t first;	   /* number of its first record among all ever written */
	uint64_t missed;   /* records refused (full, nested) between the page before and this one */
	uint32_t used;	   /* bytes of data; valid once the page is closed */
	uint16_t entries;  /* records reserved in it; valid once closed */
	uint16_t discards; /* of these, given back in place; valid once closed and published */
};

/* What the reader holds: a page taken out of the ring, or a copy of the part that was committed of the last one. */
struct fathom_reader {
	uint32_t page;	  /* the page that is not in the ring */
	uint32_t at, end; /* bytes of data: next record, end; equal: nothing is held */
	uint32_t left;	  /* records from `at` to `end` */
	uint64_t time;	  /* of the record before `at` */
	uint64_t lost;	  /* missed right before `at`, not yet told */
	uint64_t next;	  /* number of the next record if none is lost */
	uint32_t hint;	  /* index where the oldest page should be */
	uint32_t part_at; /* how far the page that bears part_mark was read ... */
	uint64_t part_time;
	uint64_t read;		 /* records handed out */
	uint64_t cleared;	 /* records that a reset took away unread; never goes back */
	unsigned long part_mark; /* ... the word of its slot; 0: none */
};

struct fathom_ring {
	/* The owner's cache line: all that the fast path touches. */
	unsigned long commit; /* position: everything before it is written; the reader's limit */
	unsigned long tail;   /* position: everything before it is reserved */
	uint64_t last_time;   /* of the record that ends at commit; far from any time if unknown */
	uint32_t *here;	  /* data of the page of the last outermost record, after the first word */
	uint32_t flags;	  /* enum fathom_ring_flags: control writes, owner reads */
	uint32_t lagging; /* commit is not at the tail, but no reservation is open */
	unsigned long vague; /* the commit position at which last_time is not known */
	unsigned long
		lag; /* while lagging: the tail, which an old one may have been stored over (R11) */
	uint64_t seen_time; /* latest time known of records that last_time does not cover */

	/* The owner's slow path. Counters only grow and may be hit by nested writers: local adds. */
	uint32_t nr_pages;  /* in the ring now, without the reader's */
	uint32_t max_pages; /* that the memory gives */
	uint32_t overwrite; /* control writes, owner reads */
	uint32_t cpu;
	unsigned long *slots;
	uint8_t *pages;
	struct fathom_page_meta *meta; /* by page */
	unsigned long overwritten, full, nested, too_big, disabled, discarded;
	unsigned long in_place; /* discards that had to stay as padding */
	unsigned long in_place_noted, missed_noted;
	unsigned long clock_back;
	unsigned long corrupt; /* pages that FATHOM_PARANOID found broken */

	struct fathom_reader reader;
	struct { /* counters at the last reset: what stats() subtracts */
		uint64_t written, read;
		unsigned long overwritten, full, nested, too_big, disabled, discarded, clock_back;
	} base;
} __attribute__((__aligned__(64)));

/* A reservation; lives on the writer's stack (in registers, mostly) between reserve and commit. */
struct fathom_slot {
	void *data;	      /* where the payload goes; NULL if it was not granted (and counted) */
	uint64_t time;	      /* of the record, in ticks */
	unsigned long before; /* the tail when it was granted */
	unsigned long at;     /* where it begins: there, or at the start of the next page ... */
	unsigned long end;    /* ... and ends */
};

/*
 * Every event offered is in exactly one of these: written + full + nested + too_big + disabled + discarded = offered,
 * and written = read + overwritten + entries.
 */
struct fathom_ring_stats {
	uint64_t written;     /* committed records */
	uint64_t read;	      /* consumed by the reader */
	uint64_t overwritten; /* lost in overwrite mode (Linux: overrun) */
	uint64_t full;	      /* refused in discard mode (Linux: dropped events) */
	/* refused: nested writers lapped or starved an open reservation (commit overrun) */
	uint64_t nested;
	uint64_t too_big;   /* refused: larger than a page holds */
	uint64_t disabled;  /* refused: recording was off */
	uint64_t discarded; /* given back by the writer */
	uint64_t entries;   /* in the ring now, the reader's page included */
	uint64_t
		cleared; /* since the ring was made: taken away unread, or missed before, by resets */
	uint64_t bytes;	 /* data bytes in the ring now */
	uint32_t pages;	 /* pages of the ring that hold records now */
	uint64_t oldest; /* time of the oldest page, 0 if empty */
	/* times the clock went back: the record got the time of the one before, or a stamp */
	uint64_t clock_back;
	uint64_t corrupt; /* FATHOM_PARANOID builds: pages found broken */
};

/* One record as a reader sees it; points into the page, valid until the next call on the same ring or iterator. */
struct fathom_record {
	const void *data;
	uint32_t bytes; /* rounded up to the alignment */
	uint32_t cpu;
	uint64_t time; /* ticks */
	uint64_t lost; /* events missed right before this one */
};

/*
 * Set-up. `mem` (4096-aligned) holds the pages and the bookkeeping: fathom_ring_bytes(n) for n pages and the reader's.
 * The ring takes as many pages as the memory gives. It starts enabled and in overwrite mode.
 * 0, -EINVAL (unaligned, NULL), -ENOMEM (fewer than FATHOM_RING_PAGES_MIN pages). Context: init.
 */
size_t fathom_ring_bytes(uint32_t nr_pages);
/* The most pages that so much memory gives; 0 if none. */
uint32_t fathom_ring_pages_in(size_t bytes);
int fathom_ring_init(struct fathom_ring *r, void *mem, size_t bytes, uint32_t cpu);

/* The slow halves of the writer: page ends, nesting, long deltas, refusals. Out of line, same contract. */
void fathom_ring_reserve_slow(struct fathom_ring *r, uint32_t bytes, struct fathom_slot *slot);
void fathom_ring_commit_first(struct fathom_ring *r, unsigned long before, unsigned long end,
			      uint64_t time);
void fathom_ring_publish(struct fathom_ring *r, unsigned long end, uint64_t time);
/* If a writer gave up publishing what nested ones left (`lagging`), do it now. */
void fathom_ring_catch_up(struct fathom_ring *r);

static inline FATHOM_NOTRACE uint8_t *fathom_ring_page_at(const struct fathom_ring *r,
							  uint32_t page)
{
	return r->pages + (size_t)page * WIRE_PAGE_BYTES;
}

/* Words of 4 bytes that a record with this payload takes, header included. */
static inline FATHOM_NOTRACE uint32_t fathom_ring_words(uint32_t bytes)
{
	uint32_t words = bytes ? (bytes + 3) / 4 : 1;

	if (FATHOM_RING_ALIGN == 8)
		return ((words + 1) & ~1u) + 2;
	return words + (words <= WIRE_TYPE_DATA_MAX ? 1 : 2);
}

/* Write the header of a record of `words` at `to`; where its payload goes. */
static inline FATHOM_NOTRACE void *fathom_ring_header(uint32_t *to, uint32_t words, uint32_t delta)
{
	if (FATHOM_RING_ALIGN == 4 && words <= WIRE_TYPE_DATA_MAX + 1) {
		to[0] = wire_header(words - 1, delta);
		return to + 1;
	}
	to[0] = wire_header(WIRE_TYPE_SIZED, delta);
	to[1] = (words - 1) * 4;
	return to + 2;
}

/* The position behind a record of `words` that begins at `at`. */
static inline FATHOM_NOTRACE unsigned long fathom_ring_end(unsigned long at, uint32_t words)
{
	return at + FATHOM_POS_COUNT_UNIT + words;
}

/* What the grab needs of the look, beside the position and the time. */
struct fathom_look {
	unsigned long delta;
#ifdef fathom_load_pair
	unsigned long here; /* looked at with last_time, and right for the same reason: R11 */
#endif
};

/* Is a reservation open? And where the tail is. */
static inline FATHOM_NOTRACE int fathom_ring_is_open(const struct fathom_ring *r, unsigned long *at)
{
#ifdef fathom_load_pair
	unsigned long commit;

	fathom_load_pair(r, commit, commit, *at); /* the tail stands after it */
	return commit != *at;
#else
	*at = fathom_load(&r->tail);
	FATHOM_STEP(B);
	return fathom_differs(&r->commit, *at);
#endif
}

/*
 * The ordinary case of reserve, for callers that have another way when it is not: 0, with nothing changed or counted, if a
 * reservation is open, recording is off, the page ends, the delta is long or an interrupt came in between. It makes no
 * call and keeps little, so the function around it needs no frame. In two halves: a look, and the grab, which fails if
 * anyone wrote since. End it with fathom_ring_try_commit().
 */
static inline FATHOM_NOTRACE __attribute__((always_inline)) int fathom_ring_look(
	struct fathom_ring *r, uint32_t bytes, unsigned long *at, uint64_t *time,
	struct fathom_look *l)
{
	uint32_t most = FATHOM_RING_WORDS - fathom_ring_words(bytes);
	uint64_t since;

	FATHOM_STEP(A);
	if (fathom_unlikely(fathom_ring_is_open(r, at) || bytes > FATHOM_RING_EVENT_MAX ||
			    fathom_sum(FATHOM_POS_WORDS(*at), &r->flags) > most))
		return 0;
	/* last_time is that of the record before `at` if it is loaded after `at`: the exchange says so. */
	fathom_local_barrier();
	*time = fathom_port_clock();
#ifdef fathom_load_pair
	fathom_load_pair(r, last_time, l->delta, l->here);
	l->delta = since = *time - l->delta;
#else
	l->delta = (unsigned long)(since = *time - r->last_time);
#endif
	return fathom_likely(fathom_fits(since, WIRE_DELTA_BITS));
}

/* The tail was stored too late, so it is none (R11): commit stands for it. Nothing, if an interrupt has mended it. */
static inline FATHOM_NOTRACE void fathom_ring_take_back(struct fathom_ring *r, unsigned long stored)
{
	fathom_local_cmpxchg(&r->tail, stored,
			     fathom_load(&r->lagging) ? fathom_load(&r->lag)
						      : fathom_load(&r->commit));
}

#ifndef FATHOM_RING_TAKE_BACK /* functions/hot.h has another way */
#define FATHOM_RING_TAKE_BACK fathom_ring_take_back
#endif

static inline FATHOM_NOTRACE __attribute__((always_inline)) void *fathom_ring_grab(
	struct fathom_ring *r, uint32_t bytes, unsigned long at, const struct fathom_look *l)
{
	uint32_t words = fathom_ring_words(bytes), *to; /* after the first word of its header */

	FATHOM_STEP(C);
#if FATHOM_POS_EPOCH_BITS
	fathom_store(&r->tail, fathom_ring_end(at, words));
	fathom_local_barrier();
	FATHOM_STEP(O);
	if (fathom_unlikely(fathom_differs(&r->commit, at))) {
		FATHOM_RING_TAKE_BACK(r, fathom_ring_end(at, words));
		return NULL;
	}
#else
	if (fathom_unlikely(!fathom_local_cmpxchg(&r->tail, at, fathom_ring_end(at, words))))
		return NULL;
#endif
	FATHOM_STEP(D);
#ifdef fathom_load_pair
	to = (uint32_t *)l->here + FATHOM_POS_WORDS(at);
	FATHOM_OPAQUE(to); /* the payload begins there: pairs of registers go to small multiples */
#elif FATHOM_FROM_MEMORY
	to = r->here + FATHOM_POS_WORDS(at);
#else
	to = r->here + FATHOM_POS_WORDS(fathom_ring_end(at, words)); /* `at` has done its duty */
	FATHOM_OPAQUE(to);
	to -= words;
#endif
	if (!to)
		__builtin_unreachable(); /* else callers would ask */
	return fathom_ring_header(to - 1, words, (uint32_t)l->delta);
}

static inline FATHOM_NOTRACE void *fathom_ring_try(struct fathom_ring *r, uint32_t bytes,
						   unsigned long *at, uint64_t *time)
{
	struct fathom_look l;

	if (fathom_unlikely(!fathom_ring_look(r, bytes, at, time, &l)))
		return NULL;
	return fathom_ring_grab(r, bytes, *at, &l);
}

/*
 * Publish what fathom_ring_try() gave: it is the outermost record, and lies in the page of commit. Keeps R3, R4. close() is 1 if
 * records of interrupts stand after it: then fathom_ring_publish() is the caller's to call.
 */
static inline FATHOM_NOTRACE int fathom_ring_close(struct fathom_ring *r, unsigned long end,
						   uint64_t time)
{
	r->last_time = time;
	fathom_local_barrier();
	FATHOM_STEP(E);
	/* Pairs with the acquire in the reader's look at `commit`. */
	fathom_store_release(&r->commit, end);
	fathom_local_barrier();
	FATHOM_STEP(F);
	return fathom_differs(&r->tail, end);
}

static inline FATHOM_NOTRACE void fathom_ring_try_commit(struct fathom_ring *r, unsigned long end,
							 uint64_t time)
{
	if (fathom_unlikely(fathom_ring_close(r, end, time)))
		fathom_ring_publish(r, end, time);
}

/* Is recording off? Then an event is refused, and counted. Context: any. */
static inline FATHOM_NOTRACE int fathom_ring_refuses(struct fathom_ring *r)
{
	if (!(fathom_load(&r->flags) & (FATHOM_RING_OFF | FATHOM_RING_HELD)))
		return 0;
	fathom_local_add(&r->disabled, 1);
	return 1;
}

/*
 * Reserve room for a payload of `bytes` on the ring of the running CPU. Returns slot->data, NULL if it was refused
 * (counted by cause; then there is nothing to commit). Context: any, NMI included. Wait-free. Inline: with a constant
 * size it is a clock read and a handful of loads and stores.
 */
static inline FATHOM_NOTRACE __attribute__((always_inline)) void *fathom_ring_reserve(
	struct fathom_ring *r, uint32_t bytes, struct fathom_slot *slot)
{
	unsigned long at;
	uint64_t time;
	void *data = fathom_ring_try(r, bytes, &at, &time);

	if (fathom_likely(data)) {
		slot->data = data;
		slot->time = time;
		slot->before = slot->at = at;
		slot->end = fathom_ring_end(at, fathom_ring_words(bytes));
	} else {
		struct fathom_slot slow; /* so that *slot can live in registers */

		fathom_ring_reserve_slow(r, bytes, &slow);
		*slot = slow;
	}
	return slot->data;
}

/* Publish the record. Nested ones are published by the outermost, which finds commit where it was. Context: the one that reserved. */
static inline FATHOM_NOTRACE void fathom_ring_commit(struct fathom_ring *r,
						     const struct fathom_slot *slot)
{
	if (fathom_unlikely(!FATHOM_POS_SAME(fathom_load(&r->commit), slot->before)))
		return;
	if (fathom_likely(slot->at == slot->before))
		fathom_ring_try_commit(r, slot->end, slot->time);
	else
		fathom_ring_commit_first(r, slot->before, slot->end, slot->time);
}

/* Give the record back: it is as if it had never been reserved, but for the count. Context: the one that reserved. */
void fathom_ring_discard(struct fathom_ring *r, const struct fathom_slot *slot);

/*
 * The reader: one at a time (the caller serialises), any CPU, never stops a writer.
 * read_page: one page in wire layout into `out` (missed flag and count included): bytes of data, 0 if nothing is there.
 * With `partial` 0 only pages that are full are handed out.
 * consume takes one record, peek looks at it: 1, or 0 if nothing is there.
 */
int fathom_ring_read_page(struct fathom_ring *r, struct wire_page *out, int partial);
int fathom_ring_consume(struct fathom_ring *r, struct fathom_record *rec);
int fathom_ring_peek(struct fathom_ring *r, struct fathom_record *rec);

/*
 * A walk that consumes nothing: oldest to newest of what was committed when it came to a page. Reads stable copies in
 * the caller's scratch page, so it works while the owner writes (what it is overtaken by shows as lost), on a stopped
 * machine and in a panic. Serialised with the reader by the caller.
 */
struct fathom_ring_iter {
	struct fathom_ring *ring;
	struct wire_page *copy;
	uint32_t at, end; /* bytes of data in the copy */
	uint32_t index;	  /* next slot to look at */
	uint32_t steps;	  /* slots left to look at */
	uint64_t time;
	uint64_t next; /* number of the next record if none is lost */
	uint64_t lost;
};
void fathom_ring_iter_init(struct fathom_ring_iter *it, struct fathom_ring *r,
			   struct wire_page *scratch);
int fathom_ring_iter_next(struct fathom_ring_iter *it, struct fathom_record *rec);

/* Switches: any context, any CPU; take effect with the next event (overwrite: with the next page). */
void fathom_ring_enable(struct fathom_ring *r, int on);
int fathom_ring_is_enabled(const struct fathom_ring *r);
void fathom_ring_hold(struct fathom_ring *r, int on);
void fathom_ring_overwrite(struct fathom_ring *r, int on);
void fathom_ring_absolute(struct fathom_ring *r, int on);

/* Throw everything away and count from 0 again. Safe while the owner writes; serialised with the reader. */
void fathom_ring_reset(struct fathom_ring *r);

/*
 * Change the number of pages (without the reader's), within the memory given at init. Keeps the newest records that fit.
 * 0, -EINVAL (below 2 or above what the memory holds), -EBUSY (a reservation is open: try again).
 * Context: task, and no writer may start meanwhile: call it on the ring's own CPU with interrupts off, or inside
 * config.stop_cpus(). Serialised with the reader.
 */
int fathom_ring_resize(struct fathom_ring *r, uint32_t nr_pages);
/*
 * The same while writers run: hold the ring, make all CPUs see that, seize, make all CPUs see that, resize_seized, make all
 * CPUs see that, let the ring go. seize and resize_seized are -EBUSY if a writer is open or was faster: seize again.
 * Letting the ring go gives an unused tail back.
 */
int fathom_ring_seize(struct fathom_ring *r);
int fathom_ring_resize_seized(struct fathom_ring *r, uint32_t nr_pages);
uint32_t fathom_ring_pages(const struct fathom_ring *r);
uint32_t fathom_ring_pages_max(const struct fathom_ring *r);

/*
 * Snapshot: writers find their ring through a pointer; this exchanges two such pointers. Any CPU, no writer stops: one
 * that is in the middle of a record finishes it in the ring it began in. The other ring should be reset before.
 */
static inline FATHOM_NOTRACE void fathom_ring_swap(struct fathom_ring **live,
						   struct fathom_ring **spare)
{
	struct fathom_ring *was = *live;

	fathom_store_release(live, *spare);
	*spare = was;
}

/* Empty the spare, give it the switches of the live ring, exchange them. Serialised with the readers of both. */
void fathom_ring_exchange(struct fathom_ring **live, struct fathom_ring **spare);

void fathom_ring_stats(const struct fathom_ring *r, struct fathom_ring_stats *st);

/*
 * Walk a page as a decoder would: 0 if `bytes` of data are whole records with times that do not go back (but by stamps)
 * and *entries is their number, -EILSEQ otherwise. FATHOM_PARANOID builds do this to every page.
 */
int fathom_ring_page_check(const struct wire_page *page, uint32_t bytes, uint32_t *entries);

#endif
