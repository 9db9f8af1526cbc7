/* SPDX-License-Identifier: MIT */
/* adopt.c -- a ring that the last boot left in memory becomes one that can be read: page by page, damaged ones aside. */
#include "wire/cold.h"
#include "fathom/inside/errno.h"
#include "lastboot/lastboot.h"
#include "ring/pos.h"

/*
 * A reset may hit the ring anywhere, and memory may lose bits. So the bookkeeping is not taken over but made anew, in the one
 * form that a ring with these pages has after its first lap; only what the pages prove, or what is a mere number, comes from before.
 *
 * A1  Every page is in exactly one slot, or is the reader's. A slot that names no page, or one that another slot has, is damaged; it
 *     gets a page that is left over.
 * A2  The slot of commit and those before it are on lap 2, those after it on lap 1, as if the ring had just been filled once.
 * A3  A page is kept if its commit and the ring's word for it agree, its records fill that exactly, are as many as the ring
 *     says, and their times do not go back, unless the ring had counted a clock that does.
 * A4  Pages are in order by the number of their first record and by time. Of two that are not, the one that also does not fit
 *     the page after it is damaged.
 * A5  Records that were reserved and not committed at the reset are gone: the tail is where commit was.
 */
#define ADOPT_NONE (~0ul) /* a slot without a page */
#define ADOPT_LAP  2ul	  /* of commit */

struct adopt {
	struct fathom_ring *r;
	struct fathom_ring old;
	struct lastboot_found *found;
	uint64_t number, time; /* what a page begins with at least */
	uint64_t first;	       /* number of the oldest record that is kept in a slot */
	uint32_t kept;	       /* pages in slots so far */
	uint32_t at;	       /* the slot of commit */
	uint32_t words, count; /* of commit's page: kept */
};

/* One page, as its records say. */
struct adopt_page {
	struct wire_page *page;
	struct fathom_page_meta *meta;
	uint32_t bytes, records, unreadable;
	uint32_t read;	  /* records of it that were read before */
	uint32_t part_at; /* behind the last of them */
	uint64_t part_time, time;
};

/* Does the page have no slot yet? It has one then. */
static int adopt_claim(unsigned long *seen, uint32_t page, uint32_t last)
{
	unsigned long bit = 1ul << page % (8 * sizeof(long));

	if (page > last || seen[page / (8 * sizeof(long))] & bit)
		return 0;
	seen[page / (8 * sizeof(long))] |= bit;
	return 1;
}

/* Keeps A1. `seen` is the room that resize sorts in. */
static void adopt_slots(struct adopt *a)
{
	uint32_t n = a->r->max_pages, next = 0;
	unsigned long *slots = a->r->slots, *seen = slots + n;
	struct fathom_reader *rd = &a->old.reader;

	__builtin_memset(seen, 0, n * sizeof(*seen));
	for (uint32_t i = 0; i < n; i++)
		if (!adopt_claim(seen, FATHOM_SLOT_PAGE(slots[i]), n))
			slots[i] = ADOPT_NONE;
	if (!adopt_claim(seen, rd->page, n)) {
		a->found->bad_pages += rd->at < rd->end;
		rd->at = rd->end = 0;
		while (!adopt_claim(seen, next, n))
			next++;
		rd->page = next;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (slots[i] != ADOPT_NONE)
			continue;
		while (!adopt_claim(seen, next, n))
			next++;
		slots[i] = FATHOM_SLOT_FREE + next;
		a->found->bad_pages += i < a->old.nr_pages;
	}
}

/* The records of [at, p->bytes), the time before them in p->time: 0, or -1 if they are damaged. Keeps A3. */
static int adopt_walk(const struct adopt *a, struct adopt_page *p, uint32_t at)
{
	uint8_t *data = p->page->data;
	struct wire_item item;

	if (p->bytes > FATHOM_RING_DATA)
		return -1;
	for (; at < p->bytes; at = item.next) {
		uint64_t before = p->time;

		if (wire_page_step(data, at, p->bytes, &p->time, &item) < 0 ||
		    (p->time < before && !a->old.clock_back))
			return -1;
		if (!item.data)
			continue;
		p->unreadable +=
			(uint32_t)fathom_lastboot_tame(data + (item.data - data), item.bytes);
		if (++p->records == p->read) {
			p->part_at = item.next;
			p->part_time = p->time;
		}
	}
	return p->records < p->read ? -1 : 0;
}

/* Is there a page after slot `index`, up to that of commit, which p does not fit before, though those before p do? Keeps A4. */
static int adopt_is_ahead(const struct adopt *a, uint32_t index, const struct adopt_page *p)
{
	const struct fathom_ring *r = a->r;

	while (index != a->at) {
		unsigned long slot;
		const struct fathom_page_meta *m;
		uint64_t time;

		index = index + 1 < a->old.nr_pages ? index + 1 : 0;
		slot = r->slots[index];
		if (slot & FATHOM_SLOT_FREE || (index == a->at && !FATHOM_POS_WORDS(a->old.commit)))
			continue;
		m = slot_meta(r, slot);
		time = slot_page(r, slot)->time;
		return (m->first >= a->number && m->first < p->meta->first + p->records) ||
		       (time >= a->time && time < p->time && !a->old.clock_back);
	}
	return 0;
}

static int adopt_is_good(const struct adopt *a, uint32_t index, struct adopt_page *p)
{
	const struct fathom_page_meta *m = p->meta;
	uint64_t begin;

	p->time = p->page->time;
	if (index != a->at && p->page->commit != p->bytes)
		return 0;
	if (adopt_walk(a, p, 0) < 0)
		return 0;
	if (index != a->at && p->records != (uint32_t)m->entries - m->discards)
		return 0;
	if (p->read && a->kept) /* only the oldest can have been read in part */
		return 0;
	if (!p->bytes) /* nor has it a time */
		return m->first >= a->number;
	begin = p->read ? p->part_time : p->page->time;
	if (m->first < a->number || (begin < a->time && !a->old.clock_back))
		return 0;
	return !adopt_is_ahead(a, index, p);
}

/* What the reader reads on from; its word of the slot is the new one. */
static void adopt_part(struct adopt *a, const struct adopt_page *p, unsigned long slot)
{
	struct fathom_reader *rd = &a->r->reader;

	if (!p->read)
		return;
	rd->part_mark = slot;
	rd->part_at = p->part_at;
	rd->part_time = p->part_time;
}

static void adopt_keep(struct adopt *a, struct adopt_page *p)
{
	const struct fathom_ring *old = &a->old;

	if (!a->kept++)
		a->first = p->meta->first + p->read;
	a->found->pages += p->records > p->read;
	a->found->events += p->records - p->read;
	a->found->unreadable += p->unreadable;
	a->number = p->meta->first + p->records;
	if (p->bytes)
		a->time = p->time;
	p->meta->entries = (uint16_t)p->records;
	p->meta->discards = 0;
	if (p->meta->missed > old->full + old->nested)
		p->meta->missed = 0;
}

/* The page of commit stays where it is. If it is damaged it is empty, and the numbers go on behind what was in it. */
static void adopt_tail(struct adopt *a, struct adopt_page *p, int is_good)
{
	uint32_t count = pos_count(a->old.commit);

	if (is_good) {
		a->words = p->bytes / 4;
		a->count = p->records;
		return;
	}
	if (p->meta->first < a->number ||
	    p->meta->first - a->number > a->found->bad_pages * FATHOM_RING_WORDS)
		p->meta->first = a->number;
	p->meta->first += count;
	p->meta->missed = 0;
}

/* Keeps A2. */
static void adopt_slot(struct adopt *a, uint32_t index)
{
	unsigned long *at = &a->r->slots[index], was = *at;
	unsigned long now = FATHOM_SLOT_PAGE(was) +
			    (index <= a->at ? ADOPT_LAP : ADOPT_LAP - 1) * FATHOM_SLOT_LAP_UNIT;
	int order = slot_to_commit(index, was, a->old.commit), is_good;
	struct adopt_page p = {.page = slot_page(a->r, was), .meta = slot_meta(a->r, was)};

	p.bytes = index == a->at ? FATHOM_POS_WORDS(a->old.commit) * 4 : p.meta->used;
	p.read = slot_read(was);
	*at = now + (index == a->at ? 0 : FATHOM_SLOT_FREE);
	if (index != a->at && (was & FATHOM_SLOT_FREE || order > 0))
		return; /* read, or not written yet */
	is_good = !(was & FATHOM_SLOT_FREE) && order == (index == a->at ? 0 : -1) &&
		  adopt_is_good(a, index, &p);
	a->found->bad_pages += !is_good;
	if (is_good) {
		*at = now + p.read * FATHOM_SLOT_READ_UNIT;
		adopt_part(a, &p, *at);
		adopt_keep(a, &p);
	}
	if (index == a->at)
		adopt_tail(a, &p, is_good);
}

/* What the reader had taken out of the ring, and not handed out yet. */
static void adopt_held(struct adopt *a)
{
	const struct fathom_reader *was = &a->old.reader;
	struct fathom_reader *now = &a->r->reader;
	struct adopt_page p = {.bytes = was->end, .time = was->time};

	now->page = was->page;
	p.page = (struct wire_page *)(void *)fathom_ring_page_at(a->r, was->page);
	if (was->at >= was->end)
		return;
	if (adopt_walk(a, &p, was->at) < 0 || p.records != was->left) {
		a->found->bad_pages++;
		return;
	}
	now->at = was->at;
	now->end = was->end;
	now->time = was->time;
	now->left = p.records;
	now->lost = was->lost;
	a->time = p.time;
	a->found->pages++;
	a->found->events += p.records;
	a->found->unreadable += p.unreadable;
}

static int adopt_makes_sense(const struct fathom_ring *old, uint32_t pages, uint32_t cpu)
{
	return old->max_pages == pages && old->cpu == cpu &&
	       old->nr_pages >= FATHOM_RING_PAGES_MIN && old->nr_pages <= pages &&
	       FATHOM_POS_INDEX(old->commit) < old->nr_pages &&
	       FATHOM_POS_WORDS(old->commit) <= FATHOM_RING_WORDS;
}

/* Counters are numbers: any will do, but for those that are subtracted. */
static void adopt_counters(struct fathom_ring *r, const struct fathom_ring *old)
{
	r->overwrite = old->overwrite != 0;
	r->overwritten = old->overwritten;
	r->full = old->full;
	r->nested = old->nested;
	r->too_big = old->too_big;
	r->disabled = old->disabled;
	r->discarded = old->discarded;
	r->clock_back = old->clock_back;
	r->missed_noted = r->full + r->nested;
	r->reader.read = old->reader.read;
	r->reader.cleared = old->reader.cleared;
	r->base = old->base;
}

/* Every record that was written is read, overwritten, there, or in a damaged page. */
static void adopt_settle(struct adopt *a)
{
	struct fathom_reader *rd = &a->r->reader;
	struct lastboot_found *found = a->found;
	struct fathom_ring_stats st;

	if (!a->kept)
		a->first = slot_meta(a->r, a->r->slots[a->at])->first;
	rd->next = a->old.reader.next <= a->first ? a->old.reader.next : a->first;
	fathom_ring_stats(a->r, &st);
	found->damaged = st.entries - found->events;
	if (found->damaged > (uint64_t)found->bad_pages * FATHOM_RING_WORDS) {
		found->not_counted = 1;
		found->damaged = 0;
	}
	a->r->base.written += st.entries - found->events;
}

int fathom_lastboot_adopt(struct fathom_ring *r, void *mem, size_t bytes, uint32_t cpu,
			  struct lastboot_found *found)
{
	struct adopt a = {.r = r, .found = found};
	unsigned long pos;

	__builtin_memcpy(&a.old, r, sizeof(a.old));
	if (!adopt_makes_sense(&a.old, fathom_ring_pages_in(bytes), cpu))
		return -FATHOM_EILSEQ;
	*r = (struct fathom_ring){.cpu = cpu, .nr_pages = a.old.nr_pages};
	ring_lay_out(r, mem, a.old.max_pages);
	adopt_counters(r, &a.old);
	a.at = FATHOM_POS_INDEX(a.old.commit);
	adopt_slots(&a);
	adopt_held(&a);
	for (uint32_t i = 1; i <= r->nr_pages; i++)
		adopt_slot(&a, (a.at + i) % r->nr_pages);
	for (uint32_t i = r->nr_pages; i < r->max_pages; i++)
		r->slots[i] = FATHOM_SLOT_PAGE(r->slots[i]) + FATHOM_SLOT_FREE +
			      (ADOPT_LAP - 1) * FATHOM_SLOT_LAP_UNIT;
	pos = (ADOPT_LAP << FATHOM_POS_LAP_SHIFT) + ((unsigned long)a.at << FATHOM_POS_PAGE_SHIFT) +
	      a.count * FATHOM_POS_COUNT_UNIT + a.words;
	r->tail = r->commit = pos;
	time_forget(r, pos, 0);
	r->reader.hint = a.at + 1 < r->nr_pages ? a.at + 1 : 0;
	adopt_settle(&a);
	return 0;
}
