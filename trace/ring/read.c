/* SPDX-License-Identifier: MIT */
/* read.c -- the reader's side of the ring: takes pages by swapping, walks without consuming. */
#include "wire/cold.h"
#include "fathom/inside/ring.h"
#include "ring/pos.h"

/*
 * The reader owns one page that is not in the ring. A page that is complete (before `commit`) it takes by exchanging the
 * slot's word for its own page, marked FREE. Of the page that is being written it copies what is committed, and says so
 * in the slot's count of read records: if that exchange fails the owner has overwritten the page meanwhile and the copy
 * is thrown away. Either way what the reader holds then is its own, and its only.
 *
 * Which page is the oldest? Behind the commit page, going round; pages not "before commit" on the way are FREE, or
 * prepared for the tail. `hint` spares the way round: if the slot before it is FREE then the owner has not come there.
 */

/* A page as it was found: its slot, and how to go on in it. */
struct found {
	uint32_t index;
	uint32_t start, end; /* bytes of data not read yet */
	uint64_t time;	     /* before start */
	unsigned long slot;
	int complete;
};

/*
 * These look at a page, and at its meta, that the owner may overwrite under their eyes: the slot's word tells afterwards
 * whether it did. ThreadSanitizer has no word for that.
 */
#ifndef RACY /* the model of weak memory does have a word for it */
#define RACY __attribute__((no_sanitize("thread")))
#endif

RACY static void copy_words(void *to, const void *from, uint32_t bytes)
{
	volatile const uint32_t *src = from;
	uint32_t *dst = to;

	for (uint32_t i = 0; i < bytes / 4; i++)
		dst[i] = src[i];
}

RACY static void page_extent(const struct fathom_ring *r, struct found *f, unsigned long commit)
{
	const struct fathom_reader *rd = &r->reader;

	f->start = f->slot == rd->part_mark ? rd->part_at : 0;
	f->time = f->slot == rd->part_mark ? rd->part_time : slot_page(r, f->slot)->time;
	f->end = f->complete ? slot_meta(r, f->slot)->used : FATHOM_POS_WORDS(commit) * 4;
}

/* wire_page_step() once for all who read: inlined into each of them it is a kilobyte. */
__attribute__((noinline)) static int read_step(const uint8_t *data, uint32_t at, uint32_t end,
					       uint64_t *time, struct wire_item *item)
{
	return wire_page_step(data, at, end, time, item);
}

static uint32_t index_after(const struct fathom_ring *r, uint32_t index)
{
	return index + 1 < r->nr_pages ? index + 1 : 0;
}

static uint32_t index_before(const struct fathom_ring *r, uint32_t index)
{
	return index ? index - 1 : r->nr_pages - 1;
}

/*
 * Look at slot `index`, on a walk that began when commit was in the page of `since`: 1 a page with records, 0 nothing
 * to read there, -1 the owner went on to another page meanwhile: begin again.
 */
static int look(const struct fathom_ring *r, uint32_t index, unsigned long since, struct found *f)
{
	unsigned long commit;
	int order;

	f->index = index;
	f->slot = fathom_load_acquire(&r->slots[index]);
	FATHOM_STEP(P);
	/* Pairs with the release of commit in close() and publish_to(): the page and its meta are there. */
	commit = fathom_load_acquire(&r->commit);
	if (!pos_same_page(commit, since))
		return -1;
	if (f->slot & FATHOM_SLOT_FREE)
		return 0;
	order = slot_to_commit(index, f->slot, commit);
	if (order > 0)
		return 0;
	f->complete = order < 0;
	page_extent(r, f, commit);
	return 1;
}

/* The oldest page with something to read, or 0. Bounded: a writer that outruns us this often gets its way for now. */
static int find_oldest(const struct fathom_ring *r, struct found *f)
{
	for (int again = 0; again < 64; again++) {
		unsigned long since = fathom_load_acquire(&r->commit);
		uint32_t index = index_after(r, FATHOM_POS_INDEX(since));
		uint32_t before = index_before(r, r->reader.hint);
		int got = 0;

		if (fathom_load_acquire(&r->slots[before]) & FATHOM_SLOT_FREE)
			index = r->reader.hint;
		for (uint32_t n = 0; n < r->nr_pages && !got; n++) {
			got = look(r, index, since, f);
			index = index_after(r, index);
		}
		if (got >= 0)
			return got;
	}
	return 0;
}

int fathom_ring_count(const uint8_t *data, uint32_t start, uint32_t end, uint64_t *time)
{
	struct wire_item item;
	int n = 0;

	for (; start < end; start = item.next) {
		if (read_step(data, start, end, time, &item) < 0)
			return -1;
		n += item.data != NULL;
	}
	return n;
}

static struct wire_page *reader_page(const struct fathom_ring *r)
{
	return (struct wire_page *)(void *)fathom_ring_page_at(r, r->reader.page);
}

/* What is held now begins with record number `first`. */
static void hold(struct fathom_ring *r, const struct found *f, uint64_t first, uint64_t missed,
		 uint32_t left)
{
	struct fathom_reader *rd = &r->reader;

	rd->at = f->start;
	rd->end = f->end;
	rd->time = f->time;
	rd->left = left;
	/* Laps of 4 bits can deceive find_oldest() after 16 laps in one look: never backwards. */
	if (sizeof(long) == 8 || first >= rd->next)
		rd->lost += first - rd->next;
	rd->lost += missed;
	rd->next = first + left;
}

/* Take a complete page out of the ring. Keeps R6, R7. */
static int take(struct fathom_ring *r, struct found *f)
{
	struct fathom_reader *rd = &r->reader;
	unsigned long old = f->slot;
	unsigned long spare =
		old / FATHOM_SLOT_LAP_UNIT * FATHOM_SLOT_LAP_UNIT + FATHOM_SLOT_FREE + rd->page;
	const struct fathom_page_meta *m = slot_meta(r, f->slot);

	FATHOM_STEP(Q);
	if (!fathom_shared_cmpxchg(&r->slots[f->index], &old, spare))
		return 0;
	FATHOM_STEP(R);
	rd->page = FATHOM_SLOT_PAGE(f->slot);
	rd->hint = index_after(r, f->index);
	rd->part_mark = 0;
	/* The extent was read before the page was ours. Now nobody changes it. */
	f->end = m->used;
	if (!f->start)
		f->time = reader_page(r)->time;
	hold(r, f, m->first + slot_read(f->slot), f->start ? 0 : m->missed,
	     slot_unread(r, f->slot));
	return 1;
}

/* Copy what is committed of the page in writing, and mark it read. */
RACY static int take_part(struct fathom_ring *r, struct found *f)
{
	struct fathom_reader *rd = &r->reader;
	const struct fathom_page_meta *m = slot_meta(r, f->slot);
	struct wire_page *copy = reader_page(r);
	uint64_t first = m->first + slot_read(f->slot), missed = f->start ? 0 : m->missed;
	uint64_t time = f->time;
	unsigned long old = f->slot, marked;
	int n;

	copy_words(copy->data + f->start, slot_page(r, f->slot)->data + f->start,
		   f->end - f->start);
	n = fathom_ring_count(copy->data, f->start, f->end, &time);
	if (n <= 0)
		n = 0; /* overwritten, which the exchange below finds out, or nothing but padding */
	marked = f->slot + (unsigned long)n * FATHOM_SLOT_READ_UNIT;
	FATHOM_STEP(S);
	if (!fathom_shared_cmpxchg(&r->slots[f->index], &old, marked))
		return 0;
	if (!n)
		return -1;
	rd->hint = f->index;
	rd->part_mark = marked;
	rd->part_at = f->end;
	rd->part_time = time;
	hold(r, f, first, missed, (uint32_t)n);
	return 1;
}

/* Get something to hold: 1, or 0 if there is nothing (with `partial` 0: no page that is complete). */
static int fill(struct fathom_ring *r, int partial)
{
	struct found f;
	int got;

	for (uint32_t tries = 0; tries < 2 * r->nr_pages + 64; tries++) {
		if (!find_oldest(r, &f))
			return 0;
		if (!f.complete && (!partial || f.start >= f.end))
			return 0;
		got = f.complete ? take(r, &f) : take_part(r, &f);
		if (got < 0)
			return 0;
		if (got && r->reader.left)
			return 1;
		if (got)
			r->reader.at = r->reader.end;
	}
	return 0;
}

/* The next record held, padding and time skipped: its end, or 0 if the page holds no more. */
static uint32_t next_record(struct fathom_ring *r, struct fathom_record *rec)
{
	struct fathom_reader *rd = &r->reader;
	const uint8_t *data = reader_page(r)->data;
	struct wire_item item;

	while (rd->at < rd->end) {
		uint64_t time = rd->time;

		if (read_step(data, rd->at, rd->end, &time, &item) < 0)
			break;
		if (item.data) {
			rec->data = item.data;
			rec->bytes = item.bytes;
			rec->cpu = r->cpu;
			rec->time = time;
			rec->lost = rd->lost;
			return item.next;
		}
		rd->time = time;
		rd->at = item.next;
	}
	rd->at = rd->end;
	return 0;
}

static uint32_t held_or_filled(struct fathom_ring *r, struct fathom_record *rec)
{
	uint32_t next = next_record(r, rec);

	if (!next && fill(r, 1))
		next = next_record(r, rec);
	return next;
}

int fathom_ring_peek(struct fathom_ring *r, struct fathom_record *rec)
{
	return held_or_filled(r, rec) != 0;
}

int fathom_ring_consume(struct fathom_ring *r, struct fathom_record *rec)
{
	struct fathom_reader *rd = &r->reader;
	uint32_t next = held_or_filled(r, rec);

	if (!next)
		return 0;
	rd->at = next;
	rd->time = rec->time;
	rd->lost = 0;
	rd->left--;
	rd->read++;
	return 1;
}

int fathom_ring_read_page(struct fathom_ring *r, struct wire_page *out, int partial)
{
	struct fathom_reader *rd = &r->reader;
	uint32_t bytes;

	if (rd->at >= rd->end && !fill(r, partial))
		return 0;
	bytes = rd->end - rd->at;
	copy_words(out->data, reader_page(r)->data + rd->at, bytes);
	for (uint32_t i = bytes; i < WIRE_PAGE_DATA; i++)
		out->data[i] = 0;
	out->time = rd->time;
	out->commit = bytes;
	if (rd->lost) { /* FATHOM_RING_DATA leaves room for the count in every page */
		out->commit |= WIRE_COMMIT_MISSED | WIRE_COMMIT_STORED;
		copy_words(out->data + bytes, &rd->lost, sizeof(rd->lost));
	}
	rd->at = rd->end;
	rd->read += rd->left;
	rd->left = 0;
	rd->lost = 0;
	return (int)bytes;
}

void fathom_ring_iter_init(struct fathom_ring_iter *it, struct fathom_ring *r,
			   struct wire_page *scratch)
{
	const struct fathom_reader *rd = &r->reader;
	struct found f;

	it->ring = r;
	it->copy = scratch;
	it->at = rd->at;
	it->end = rd->end;
	it->time = rd->time;
	it->lost = rd->lost;
	it->next = rd->next;
	if (rd->at < rd->end)
		copy_words(scratch->data + rd->at, reader_page(r)->data + rd->at, rd->end - rd->at);
	it->index = rd->hint;
	it->steps = find_oldest(r, &f) ? r->nr_pages : 0;
	if (it->steps)
		it->index = f.index;
}

/* Copy the next page that has records: 1, or 0 at the end. A page that changes under the copy is skipped, as lost. */
RACY static int iter_page(struct fathom_ring_iter *it)
{
	const struct fathom_ring *r = it->ring;
	struct found f;

	while (it->steps) {
		unsigned long commit = fathom_load_acquire(&r->commit);
		uint64_t first, missed;
		uint64_t time;
		int n;

		if (look(r, it->index, commit, &f) <= 0 || f.start >= f.end) {
			it->steps--;
			it->index = index_after(r, it->index);
			continue;
		}
		first = slot_meta(r, f.slot)->first + slot_read(f.slot);
		missed = f.start ? 0 : slot_meta(r, f.slot)->missed;
		if (f.end > WIRE_PAGE_DATA)
			f.end = f.start;
		copy_words(it->copy->data + f.start, slot_page(r, f.slot)->data + f.start,
			   f.end - f.start);
		it->steps = f.complete ? it->steps - 1 : 0;
		it->index = index_after(r, it->index);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (fathom_load(&r->slots[f.index]) != f.slot)
			continue;
		time = f.time;
		n = fathom_ring_count(it->copy->data, f.start, f.end, &time);
		if (n <= 0)
			continue;
		it->at = f.start;
		it->end = f.end;
		it->time = f.time;
		it->lost += first - it->next + missed;
		it->next = first + (uint64_t)n;
		return 1;
	}
	return 0;
}

int fathom_ring_iter_next(struct fathom_ring_iter *it, struct fathom_record *rec)
{
	struct wire_item item;

	do {
		while (it->at < it->end) {
			if (read_step(it->copy->data, it->at, it->end, &it->time, &item) < 0)
				break;
			it->at = item.next;
			if (!item.data)
				continue;
			rec->data = item.data;
			rec->bytes = item.bytes;
			rec->cpu = it->ring->cpu;
			rec->time = it->time;
			rec->lost = it->lost;
			it->lost = 0;
			return 1;
		}
		it->at = it->end;
	} while (iter_page(it));
	return 0;
}
