/* SPDX-License-Identifier: MIT */
/* control.c -- set-up of a ring, its switches, resize, reset, counters. Task context. */
#include "wire/cold.h"
#include "fathom/inside/errno.h"
#include "fathom/inside/ring.h"
#include "ring/pos.h"

size_t fathom_ring_bytes(uint32_t nr_pages)
{
	return ring_book_bytes(nr_pages) + ((size_t)nr_pages + 1) * WIRE_PAGE_BYTES;
}

uint32_t fathom_ring_pages_in(size_t bytes)
{
	size_t n = bytes / WIRE_PAGE_BYTES;

	if (n > FATHOM_RING_PAGES_MAX)
		n = FATHOM_RING_PAGES_MAX;
	while (n && fathom_ring_bytes((uint32_t)n) > bytes)
		n--;
	return (uint32_t)n;
}

/* Slots from `from` on are unused: whatever page lies there is free, and was last written on `lap`. */
static void free_slots(struct fathom_ring *r, uint32_t from, unsigned long lap)
{
	for (uint32_t i = from; i < r->max_pages; i++)
		fathom_store(&r->slots[i], lap * FATHOM_SLOT_LAP_UNIT + FATHOM_SLOT_FREE +
						   FATHOM_SLOT_PAGE(r->slots[i]));
}

int fathom_ring_init(struct fathom_ring *r, void *mem, size_t bytes, uint32_t cpu)
{
	uint32_t n = fathom_ring_pages_in(bytes);

	if (!r || !mem || (uintptr_t)mem % WIRE_PAGE_BYTES)
		return -FATHOM_EINVAL;
	if (n < FATHOM_RING_PAGES_MIN)
		return -FATHOM_ENOMEM;
	*r = (struct fathom_ring){.cpu = cpu, .overwrite = 1, .nr_pages = n};
	ring_lay_out(r, mem, n);
	for (uint32_t i = 0; i <= n; i++)
		r->meta[i] = (struct fathom_page_meta){0};
	for (uint32_t i = 0; i < n; i++)
		r->slots[i] = i;
	r->reader.page = n;
	free_slots(r, 1, 0);
	r->slots[0] = slot_next_lap(r->slots[0]);
	r->tail = r->commit = FATHOM_POS_LAP_UNIT;
	time_forget(r, FATHOM_POS_LAP_UNIT, 0);
	return 0;
}

static void set_flag(struct fathom_ring *r, uint32_t flag, int on)
{
	if (on)
		__atomic_fetch_or(&r->flags, flag, __ATOMIC_RELAXED);
	else /* Pairs with the acquire of the flags in fathom_ring_reserve_slow(). */
		__atomic_fetch_and(&r->flags, ~flag, __ATOMIC_RELEASE);
}

void fathom_ring_enable(struct fathom_ring *r, int on)
{
	set_flag(r, FATHOM_RING_OFF, !on);
}

int fathom_ring_is_enabled(const struct fathom_ring *r)
{
	return !(fathom_load(&r->flags) & FATHOM_RING_OFF);
}

void fathom_ring_hold(struct fathom_ring *r, int on)
{
	if (!on && fathom_load(&r->tail) == FATHOM_POS_NOWHERE)
		fathom_store(&r->tail, fathom_load(&r->commit)); /* seized, then given up */
	set_flag(r, FATHOM_RING_HELD, on);
}

void fathom_ring_exchange(struct fathom_ring **live, struct fathom_ring **spare)
{
	fathom_ring_reset(*spare);
	fathom_ring_hold(*spare, 0);
	fathom_store(&(*spare)->overwrite, fathom_load(&(*live)->overwrite));
	fathom_store(&(*spare)->flags, fathom_load(&(*live)->flags));
	fathom_ring_swap(live, spare);
}

void fathom_ring_absolute(struct fathom_ring *r, int on)
{
	set_flag(r, FATHOM_RING_ABSOLUTE, on);
}

void fathom_ring_overwrite(struct fathom_ring *r, int on)
{
	fathom_store(&r->overwrite, on ? 1 : 0);
}

uint32_t fathom_ring_pages(const struct fathom_ring *r)
{
	return r->nr_pages;
}

uint32_t fathom_ring_pages_max(const struct fathom_ring *r)
{
	return r->max_pages;
}

/* Records committed so far. The owner may go on meanwhile: a page end in between makes us look again. */
static uint64_t records_written(const struct fathom_ring *r)
{
	unsigned long pos = 0, slot;
	uint64_t n = 0;

	for (int i = 0; i < 64; i++) {
		pos = fathom_load_acquire(&r->commit);
		slot = fathom_load_acquire(&r->slots[FATHOM_POS_INDEX(pos)]);
		n = slot_meta(r, slot)->first + pos_count(pos) -
		    (fathom_load(&r->in_place) - r->in_place_noted);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (pos_same_page(pos, fathom_load(&r->commit)))
			break;
	}
	return n;
}

/* Bytes of data in complete pages and in the one being written, and the time of the oldest. */
static void count_bytes(const struct fathom_ring *r, struct fathom_ring_stats *st)
{
	unsigned long commit = fathom_load_acquire(&r->commit);
	uint32_t index = FATHOM_POS_INDEX(commit);

	st->pages = 0;
	st->bytes = r->reader.end - r->reader.at;
	st->oldest = st->bytes ? r->reader.time : 0;
	for (uint32_t n = 0; n < r->nr_pages; n++) {
		unsigned long slot;
		uint32_t bytes;
		int order;

		index = index + 1 < r->nr_pages ? index + 1 : 0;
		slot = fathom_load_acquire(&r->slots[index]);
		order = slot_to_commit(index, slot, commit);
		if ((slot & FATHOM_SLOT_FREE) || order > 0)
			continue;
		bytes = order ? slot_meta(r, slot)->used : FATHOM_POS_WORDS(commit) * 4;
		if (slot == r->reader.part_mark)
			bytes -= r->reader.part_at < bytes ? r->reader.part_at : bytes;
		if (bytes && !st->bytes)
			st->oldest = slot_page(r, slot)->time;
		st->bytes += bytes;
		st->pages += bytes != 0;
	}
}

void fathom_ring_stats(const struct fathom_ring *r, struct fathom_ring_stats *st)
{
	st->overwritten = fathom_load(&r->overwritten) - r->base.overwritten;
	st->written = records_written(r) - r->base.written;
	st->read = r->reader.read - r->base.read;
	st->full = fathom_load(&r->full) - r->base.full;
	st->nested = fathom_load(&r->nested) - r->base.nested;
	st->too_big = fathom_load(&r->too_big) - r->base.too_big;
	st->disabled = fathom_load(&r->disabled) - r->base.disabled;
	st->discarded = fathom_load(&r->discarded) - r->base.discarded;
	st->clock_back = fathom_load(&r->clock_back) - r->base.clock_back;
	st->corrupt = fathom_load(&r->corrupt);
	st->entries = st->written - st->read - st->overwritten;
	st->cleared = r->reader.cleared;
	count_bytes(r, st);
}

/* Reads everything away, as a reader, and moves the zero of the counters: so the owner need not stop. */
void fathom_ring_reset(struct fathom_ring *r)
{
	struct fathom_record rec;

	for (uint32_t i = 0; i <= r->max_pages; i++) {
		if (!fathom_ring_peek(r, &rec))
			break;
		r->reader.read += r->reader.left;
		r->reader.cleared += r->reader.left + r->reader.lost;
		r->reader.lost = 0;
		r->reader.left = 0;
		r->reader.at = r->reader.end;
	}
	r->base.read = r->reader.read;
	r->base.overwritten = fathom_load(&r->overwritten);
	r->base.written = r->base.read + r->base.overwritten;
	r->base.full = fathom_load(&r->full);
	r->base.nested = fathom_load(&r->nested);
	r->base.too_big = fathom_load(&r->too_big);
	r->base.disabled = fathom_load(&r->disabled);
	r->base.discarded = fathom_load(&r->discarded);
	r->base.clock_back = fathom_load(&r->clock_back);
}

/*
 * Take what is in the slot, and leave a lap that no writer has come to: one that looked at the old word can neither
 * prepare the slot now nor believe that it is prepared.
 */
static unsigned long take_slot(struct fathom_ring *r, uint32_t index, unsigned long lap)
{
	FATHOM_STEP(T);
	return __atomic_exchange_n(&r->slots[index], lap * FATHOM_SLOT_LAP_UNIT + FATHOM_SLOT_FREE,
				   __ATOMIC_ACQ_REL);
}

/*
 * Pages that hold records, oldest first and the tail's last, then all others, into `order`. How many hold records.
 */
static uint32_t take_pages(struct fathom_ring *r, unsigned long lap, unsigned long *order)
{
	uint32_t n = 0, rest = r->max_pages, index = FATHOM_POS_INDEX(fathom_load(&r->commit));

	for (uint32_t i = 0; i < r->nr_pages; i++) {
		unsigned long slot;

		index = index + 1 < r->nr_pages ? index + 1 : 0;
		slot = take_slot(r, index, lap);
		if ((slot & FATHOM_SLOT_FREE) ||
		    slot_to_commit(index, slot, fathom_load(&r->commit)) > 0)
			order[--rest] = slot;
		else
			order[n++] = slot;
	}
	for (uint32_t i = r->nr_pages; i < r->max_pages; i++)
		order[--rest] = take_slot(r, i, lap);
	return n;
}

/*
 * The records before commit are the same as before, in the same page: last_time and `here` stay. What is stored in the
 * tail last shows the owner all the rest (pairs with the acquire of the tail in reserve_slow() and pending()).
 */
static void move_tail(struct fathom_ring *r, unsigned long pos)
{
	if (FATHOM_POS_SAME(fathom_load(&r->commit), fathom_load(&r->vague)))
		fathom_store(&r->vague, pos);
	fathom_store(&r->commit, pos);
	FATHOM_STEP(U);
	fathom_store_release(&r->tail, pos);
}

/* No reservation is open, and none can be granted: the ring is the caller's. Keeps R6, R9. */
static void resize_own(struct fathom_ring *r, uint32_t nr_pages)
{
	unsigned long *order = r->slots + r->max_pages, words = fathom_load(&r->commit);
	/* Beyond the next one, which a writer may have looked for or prepared. */
	unsigned long lap = fathom_load(&r->slots[FATHOM_POS_INDEX(words)]) / FATHOM_SLOT_LAP_UNIT +
			    FATHOM_LAPS_SKIPPED;
	uint32_t held = take_pages(r, lap, order), drop;

	drop = held > nr_pages ? held - nr_pages : 0;
	for (uint32_t i = 0; i < drop; i++)
		shared_add(&r->overwritten, slot_unread(r, order[i]));
	held -= drop;
	for (uint32_t i = 0; i < r->max_pages; i++) {
		unsigned long was =
			order[i + drop < r->max_pages ? i + drop : i + drop - r->max_pages];
		unsigned long word = was % FATHOM_SLOT_FREE + lap * FATHOM_SLOT_LAP_UNIT;

		fathom_store(&r->slots[i], i < held ? word : FATHOM_SLOT_PAGE(was));
		if (i < held && was == r->reader.part_mark)
			r->reader.part_mark = word;
	}
	fathom_store(&r->nr_pages, nr_pages);
	free_slots(r, held, lap - 1);
	move_tail(r, (lap << FATHOM_POS_LAP_SHIFT) +
			     ((unsigned long)(held - 1) << FATHOM_POS_PAGE_SHIFT) +
			     (words & ((1ul << FATHOM_POS_PAGE_SHIFT) - 1)));
	r->reader.hint = 0;
}

static int resize_check(const struct fathom_ring *r, uint32_t nr_pages)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return nr_pages < FATHOM_RING_PAGES_MIN || nr_pages > r->max_pages ? -FATHOM_EINVAL : 0;
}

int fathom_ring_resize(struct fathom_ring *r, uint32_t nr_pages)
{
	int err = resize_check(r, nr_pages);

	if (err)
		return err;
	fathom_ring_catch_up(r);
	if (r->commit != r->tail)
		return -FATHOM_EBUSY;
	resize_own(r, nr_pages);
	return 0;
}

/*
 * A writer that looked before the ring was held may be about to store its tail, and looks at commit after that: the next epoch
 * stops it. Or it is about to exchange the tail: this is an exchange too (R10).
 */
int fathom_ring_seize(struct fathom_ring *r)
{
	unsigned long tail = fathom_load_acquire(&r->tail),
		      commit = fathom_load_acquire(&r->commit);

	FATHOM_STEP(V);
	if (tail == FATHOM_POS_NOWHERE)
		return 0;
	if (!FATHOM_POS_SAME(tail, commit) ||
	    (FATHOM_POS_EPOCH_BITS &&
	     !fathom_shared_cmpxchg(&r->commit, &commit, pos_next_epoch(commit))))
		return -FATHOM_EBUSY;
	FATHOM_STEP(W);
	return fathom_shared_cmpxchg(&r->tail, &tail, FATHOM_POS_NOWHERE) ? 0 : -FATHOM_EBUSY;
}

int fathom_ring_resize_seized(struct fathom_ring *r, uint32_t nr_pages)
{
	int err = resize_check(r, nr_pages);

	if (err)
		return err;
	if (fathom_load_acquire(&r->tail) != FATHOM_POS_NOWHERE)
		return -FATHOM_EBUSY;
	resize_own(r, nr_pages);
	return 0;
}

int fathom_ring_page_check(const struct wire_page *page, uint32_t bytes, uint32_t *entries)
{
	uint64_t time = page->time, before;
	struct wire_item item;

	*entries = 0;
	for (uint32_t at = 0; at < bytes; at = item.next) {
		before = time;
		if (bytes > WIRE_PAGE_DATA ||
		    wire_page_step(page->data, at, bytes, &time, &item) < 0)
			return -FATHOM_EILSEQ;
		if (time < before && item.type != WIRE_TYPE_STAMP)
			return -FATHOM_EILSEQ;
		*entries += item.data != NULL;
	}
	return 0;
}
