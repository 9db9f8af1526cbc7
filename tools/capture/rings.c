/* SPDX-License-Identifier: MIT */
/* rings.c -- the rings in a target's memory: check the beacon and everything it leads to, take the pages in order. */
#include "capture/rings.h"
#include "capture/io.h"
#include "capture/names.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "wire/crc32.h"
#include "wire/ringpage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS_MAX      (16u << 20) /* the formats of all events */
#define MISSED_UNKNOWN UINT64_MAX

/* One ring's head, as the beacon says where its members are. */
struct ring_head {
	uint64_t commit, slots, pages, meta;
	uint32_t nr_pages, max_pages;
	bool live; /* it will be looked at again */
	/* the reader's: the page that is its own, with what it has not handed out; the one that it has read in part */
	uint32_t page, from, end, left;
	uint64_t time, lost, part_mark;
};

/* ---- memory ---- */

/* What a target's address refers to: in the block by the beacon's own place, else in the kernel's image. */
static bool target(const struct rings *r, uint64_t at, void *to, uint64_t n)
{
	uint64_t phys = at;

	if (r->is_virtual)
		return r->read(r->arg, at, to, n);
	if (at >= r->b.block && at - r->b.block < r->b.block_bytes) {
		if (n > r->b.block_bytes - (at - r->b.block))
			return false;
		phys = r->at + (at - r->b.self);
	} else if (!image_phys(r->kernel, at, n, &phys)) {
		return false;
	}
	return r->read(r->arg, phys, to, n);
}

/* A number of the target. Of memory that cannot be read it is 0, and `unread` is set. */
static uint64_t number(struct rings *r, uint64_t at, uint32_t bytes)
{
	uint8_t p[8];

	if (!target(r, at, p, bytes)) {
		r->unread = true;
		return 0;
	}
	switch (bytes) {
	case 2: return get_u16(p, r->c->big);
	case 4: return get_u32(p, r->c->big);
	default: return get_u64(p, r->c->big);
	}
}

/* A number of type `long`: positions, slots, counters and addresses. */
static uint64_t longword(struct rings *r, uint64_t at)
{
	return number(r, at, r->c->long_bytes);
}

/* ---- the beacon ---- */

static unsigned index_shift(const struct wire_beacon *b)
{
	return (unsigned)b->pos_word_bits + b->pos_count_bits + b->pos_epoch_bits;
}

/* The slot that the position is in. */
static uint32_t index_of(const struct wire_beacon *b, uint64_t position)
{
	return (uint32_t)(position >> index_shift(b)) & ((1u << b->pos_index_bits) - 1);
}

static bool meta_is_good(const struct wire_beacon *b)
{
	return b->meta_first + 8 <= b->meta_bytes && b->meta_missed + 8 <= b->meta_bytes &&
	       b->meta_used + 4 <= b->meta_bytes && b->meta_entries + 2 <= b->meta_bytes &&
	       b->meta_discards + 2 <= b->meta_bytes;
}

/* Are all members that are read in the head? */
static bool head_is_good(const struct wire_beacon *b)
{
	for (const uint16_t *member = &b->ring_commit; member <= &b->part_time; member++)
		if (*member + 8 > b->ring_bytes)
			return false;
	return true;
}

/* Converts a beacon of the other byte order to this machine's. */
static void beacon_swap(struct wire_beacon *b)
{
	uint32_t *u32[] = {&b->bytes,	   &b->crc,	&b->nr_cpus,
			   &b->page_bytes, &b->ns_mult, &b->ns_shift};
	uint64_t *u64[] = {&b->self, &b->block, &b->block_bytes, &b->texts, &b->texts_bytes};

	for (size_t i = 0; i < sizeof(u32) / sizeof(u32[0]); i++)
		*u32[i] = __builtin_bswap32(*u32[i]);
	for (size_t i = 0; i < sizeof(u64) / sizeof(u64[0]); i++)
		*u64[i] = __builtin_bswap64(*u64[i]);
	for (uint16_t *u = &b->ring_bytes; u <= &b->meta_discards; u++)
		*u = __builtin_bswap16(*u);
	for (size_t i = 0; i < WIRE_BEACON_CPUS; i++)
		b->ring[i] = __builtin_bswap64(b->ring[i]);
}

bool rings_beacon(struct rings *r, uint64_t at, const void *p)
{
	struct wire_beacon copy, *b = &r->b;

	memcpy(&copy, p, sizeof(copy));
	copy.crc = 0;
	memcpy(b, p, sizeof(*b));
	r->at = at;
	if (r->c->big)
		beacon_swap(b);
	return !memcmp(b->magic, WIRE_BEACON_MAGIC, sizeof(b->magic)) && b->bytes == sizeof(*b) &&
	       fathom_crc32(0, &copy, sizeof(copy)) == b->crc && b->nr_cpus &&
	       b->nr_cpus <= WIRE_BEACON_CPUS && wire_page_bytes_ok(b->page_bytes) &&
	       b->self >= b->block && b->self - b->block < b->block_bytes && meta_is_good(b) &&
	       head_is_good(b) && index_shift(b) + b->pos_index_bits < 8 * r->c->long_bytes - 1 &&
	       b->pos_index_bits < 32 && b->pos_word_bits < 32 &&
	       b->slot_page_bits + b->pos_count_bits + 1u < 8 * r->c->long_bytes;
}

static void add_format(struct rings *r, const char *text, size_t n)
{
	const char *eol = memchr(text, '\n', n);
	char system[64];

	if (!eol || (size_t)(eol - text) >= sizeof(system))
		return;
	memcpy(system, text, (size_t)(eol - text));
	system[eol - text] = 0;
	capture_format(r->c, system, eol + 1, n - (size_t)(eol + 1 - text));
}

static void read_formats(struct rings *r)
{
	uint64_t at = 0, all = r->b.texts_bytes;
	uint8_t *p = NULL;

	if (all <= TEXTS_MAX && target(r, r->b.texts, NULL, all))
		p = malloc(all + 1);
	if (p && target(r, r->b.texts, p, all))
		while (at + 4 <= all) {
			uint64_t n = get_u32(p + at, r->c->big);

			if (n > all - at - 4)
				break;
			add_format(r, (const char *)p + at + 4, n);
			at += 4 + n;
		}
	free(p);
	if (!r->c->nr_formats)
		diag_warn("%s: the memory does not hold the formats of the events", r->name);
}

int rings_begin(struct rings *r, const char *kernel)
{
	struct capture *c = r->c;

	/* Where the memory is that of a kernel which was asked, the CPUs are known already. */
	if (!c->nr_cpus && capture_set_cpus(c, r->b.nr_cpus))
		return -1;
	if (c->nr_cpus != r->b.nr_cpus) {
		diag_error("%s: has rings of %u CPUs, the kernel has %u", r->name, r->b.nr_cpus,
			   c->nr_cpus);
		return -1;
	}
	c->page_bytes = r->b.page_bytes;
	c->ns_mult = r->b.ns_mult;
	c->ns_shift = r->b.ns_shift;
	snprintf(c->release, sizeof(c->release), "%.*s", (int)sizeof(r->b.release), r->b.release);
	read_formats(r);
	return capture_kallsyms(c, kernel) || recording_begin(r->out, c) ? -1 : 0;
}

void rings_end(struct rings *r)
{
	char file[32];

	if (r->bad)
		diag_warn("%s: %llu damaged pages were skipped", r->name,
			  (unsigned long long)r->bad);
	capture_names(r->c, recording_file(r->out, file));
}

/* ---- the head of a ring ---- */

static void read_reader(struct rings *r, uint64_t at, struct ring_head *h, struct rings_cpu *s)
{
	const struct wire_beacon *b = &r->b;

	h->page = (uint32_t)number(r, at + b->reader_page, 4);
	h->from = (uint32_t)number(r, at + b->reader_at, 4);
	h->end = (uint32_t)number(r, at + b->reader_end, 4);
	h->left = (uint32_t)number(r, at + b->reader_left, 4);
	h->time = number(r, at + b->reader_time, 8);
	h->lost = number(r, at + b->reader_lost, 8);
	h->part_mark = longword(r, at + b->part_mark);
	s->next = number(r, at + b->reader_next, 8);
	s->part_at = (uint32_t)number(r, at + b->part_at, 4);
	s->part_time = number(r, at + b->part_time, 8);
}

/* What the ring itself counts; the rest of *to is what its kernel said, if it was asked. */
static void read_stats(struct rings *r, uint64_t at, struct wire_stats *to)
{
	const struct wire_beacon *b = &r->b;

	to->overwritten = longword(r, at + b->ring_overwritten);
	to->full = longword(r, at + b->ring_full);
	to->nested = longword(r, at + b->ring_nested);
	to->too_big = longword(r, at + b->ring_too_big);
}

/* Where the head of the CPU's ring is. 0: it cannot be read. */
static uint64_t find_head(struct rings *r, uint32_t cpu)
{
	uint64_t at;

	r->unread = false;
	at = longword(r, r->b.ring[cpu]);
	if (r->unread || !target(r, at, NULL, r->b.ring_bytes)) {
		r->unread = true;
		return 0;
	}
	return at;
}

static int read_head(struct rings *r, uint32_t cpu, uint64_t at, struct ring_head *h)
{
	const struct wire_beacon *b = &r->b;

	h->commit = longword(r, at + b->ring_commit);
	h->slots = longword(r, at + b->ring_slots);
	h->pages = longword(r, at + b->ring_pages);
	h->meta = longword(r, at + b->ring_meta);
	h->nr_pages = (uint32_t)number(r, at + b->ring_nr_pages, 4);
	h->max_pages = (uint32_t)number(r, at + b->ring_max_pages, 4);
	if (r->unread)
		return -1;
	if (!h->nr_pages || h->nr_pages > h->max_pages || h->max_pages >> b->pos_index_bits ||
	    !target(r, h->slots, NULL, (uint64_t)h->nr_pages * r->c->long_bytes) ||
	    !target(r, h->pages, NULL, (h->max_pages + 1ull) * b->page_bytes) ||
	    !target(r, h->meta, NULL, (h->max_pages + 1ull) * b->meta_bytes)) {
		diag_error("%s: the ring of cpu %u is damaged: %u of %u pages", r->name, cpu,
			   h->nr_pages, h->max_pages);
		return -1;
	}
	if (index_of(b, h->commit) >= h->nr_pages) {
		diag_error("%s: the ring of cpu %u is damaged: writing in slot %u of %u", r->name,
			   cpu, index_of(b, h->commit), h->nr_pages);
		return -1;
	}
	return 0;
}

/* ---- pages ---- */

/* Is the page of this slot before (-1) or at (0) the commit position, or not written yet (1)? */
static int slot_order(const struct rings *r, uint64_t slot, uint32_t index, uint64_t commit)
{
	const struct wire_beacon *b = &r->b;
	unsigned lap_shift = index_shift(b) + b->pos_index_bits;
	unsigned slot_shift = b->slot_page_bits + b->pos_count_bits + 1u;
	uint64_t mask = ~0ull >> (64 - 8 * r->c->long_bytes) >> lap_shift;
	uint64_t half = (mask >> 1) + 1;
	uint64_t ahead = ((slot >> slot_shift) - (commit >> lap_shift) + half) & mask;
	uint32_t at = index_of(b, commit);

	if (ahead != half)
		return ahead < half ? -1 : 1;
	return index < at ? -1 : index > at;
}

static uint32_t data_bytes(const struct rings *r)
{
	return r->b.page_bytes - WIRE_PAGE_HEADER;
}

static uint64_t in_order(const struct rings *r, uint64_t v)
{
	return r->c->big ? __builtin_bswap64(v) : v;
}

/* [start, end) of a page's data as a page of its own, with the number of events missed before it, if there is room. */
static void add_part(struct rings *r, uint32_t cpu, const struct wire_page *from, uint32_t start,
		     uint32_t end, uint64_t time, uint64_t missed)
{
	struct wire_page page = {.time = in_order(r, time)};
	uint64_t commit = end - start;

	memcpy(page.data, from->data + start, end - start);
	if (missed) {
		commit |= WIRE_COMMIT_MISSED;
		if (missed != MISSED_UNKNOWN && end - start + 8 <= data_bytes(r)) {
			commit |= WIRE_COMMIT_STORED;
			missed = in_order(r, missed);
			memcpy(page.data + (end - start), &missed, 8);
		}
	}
	page.commit = in_order(r, commit);
	recording_pages(r->out, cpu, &page, r->b.page_bytes);
}

/* What a page holds: [start, end) of its data, and the time before that. */
struct extent {
	struct wire_page page; /* a copy: an image need not keep it at an even place */
	uint32_t start, end;
	uint64_t time;
	/* by its records: how many, and the time of the last */
	uint32_t records;
	uint64_t end_time;
};

/* An extent as trace.dat wants it. One too full for its number of missed events is cut in two. */
static void add_extent(struct rings *r, uint32_t cpu, struct extent *e, uint64_t missed)
{
	uint32_t cut = 0, at;
	uint64_t cut_time = e->time;
	struct wire_item item;

	e->end_time = e->time;
	for (at = e->start; at < e->end; at = item.next) {
		if (wire_page_step_order(e->page.data, at, e->end, &e->end_time, &item,
					 r->c->big)) {
			r->bad++;
			return;
		}
		e->records += item.data != NULL;
		if (item.next - e->start + 8 <= data_bytes(r)) {
			cut = item.next;
			cut_time = e->end_time;
		}
	}
	if (!missed || e->end - e->start + 8 <= data_bytes(r) || !cut)
		cut = e->end;
	add_part(r, cpu, &e->page, e->start, cut, e->time, missed);
	if (cut < e->end)
		add_part(r, cpu, &e->page, cut, e->end, cut_time, 0);
}

/* The data of the extent. False: there is none, or it makes no sense. */
static bool read_extent(struct rings *r, const struct ring_head *h, uint32_t page, struct extent *e)
{
	uint64_t at = h->pages + (uint64_t)page * r->b.page_bytes + WIRE_PAGE_HEADER + e->start;

	if (page > h->max_pages || e->start > e->end || e->end > data_bytes(r) ||
	    (e->start | e->end) & 3) {
		r->bad++;
		return false;
	}
	if (!target(r, at, e->page.data + e->start, e->end - e->start))
		r->unread = true;
	return !r->unread;
}

/* What the reader has taken and not handed out, the oldest of all. It may have been in the middle of that. */
static void add_held(struct rings *r, uint32_t cpu, const struct ring_head *h)
{
	struct extent e = {.start = h->from, .end = h->end, .time = h->time};

	if (h->left && h->from != h->end && read_extent(r, h, h->page, &e))
		add_extent(r, cpu, &e, h->lost);
}

/* ---- slots ---- */

static uint64_t slot_at(struct rings *r, const struct ring_head *h, uint32_t index)
{
	return longword(r, h->slots + (uint64_t)index * r->c->long_bytes);
}

static uint64_t lap_of(const struct rings *r, uint64_t slot)
{
	return slot >> (r->b.slot_page_bits + r->b.pos_count_bits + 1u);
}

/* Of a page in the ring, what its slot and its meta say. */
struct found_page {
	int order;	 /* to the commit position */
	uint32_t page;	 /* which it is */
	bool part;	 /* it was taken in part */
	uint64_t first;	 /* the number of its first record */
	uint64_t number; /* ... of the first that was not taken */
	uint64_t missed; /* records that were refused before it */
	uint64_t after;	 /* the number of the next page's first record, once this one is complete */
};

/* False: nothing in this slot is to be taken. */
static bool look(struct rings *r, const struct ring_head *h, const struct rings_cpu *s,
		 uint32_t index, struct found_page *f, struct extent *e)
{
	const struct wire_beacon *b = &r->b;
	uint64_t slot = slot_at(r, h, index), meta;
	uint64_t read = slot >> b->slot_page_bits & ((1ull << b->pos_count_bits) - 1);
	bool again = h->live && s->begun;

	f->page = (uint32_t)(slot & ((1ull << b->slot_page_bits) - 1));
	f->order = slot_order(r, slot, index, h->commit);
	if ((slot >> (b->slot_page_bits + b->pos_count_bits) & 1) || f->order > 0)
		return false; /* handed to the reader, or not written yet */
	meta = h->meta + (uint64_t)f->page * b->meta_bytes;
	f->first = number(r, meta + b->meta_first, 8);
	f->part = again ? f->first == s->part_first && s->part_at : slot == h->part_mark;
	f->number = !again ? f->first + read : f->part ? s->next : f->first;
	if (again && f->number < s->next)
		return false;
	f->missed = f->part ? 0 : number(r, meta + b->meta_missed, 8);
	f->after = f->first + number(r, meta + b->meta_entries, 2) -
		   number(r, meta + b->meta_discards, 2);
	e->end = f->order < 0 ? (uint32_t)number(r, meta + b->meta_used, 4)
			      : (uint32_t)(h->commit & ((1ull << b->pos_word_bits) - 1)) * 4;
	e->start = f->part ? s->part_at : 0;
	e->time =
		f->part ? s->part_time : number(r, h->pages + (uint64_t)f->page * b->page_bytes, 8);
	return true;
}

/* Of a ring that is taken while it is written, what was there before does not count as missed. */
static uint64_t missed_before(struct rings *r, uint32_t cpu, const struct ring_head *h,
			      struct rings_cpu *s, const struct found_page *f)
{
	uint64_t gap = f->number > s->next ? f->number - s->next : 0;

	if (!h->live)
		return f->missed + gap;
	if (!s->begun)
		return s->changed ? MISSED_UNKNOWN : 0;
	r->c->cpus[cpu].stats.overwritten += gap;
	return f->missed + gap;
}

static void add_slot(struct rings *r, uint32_t cpu, const struct ring_head *h, struct rings_cpu *s,
		     uint32_t index)
{
	struct extent e = {0};
	struct found_page f;

	if (!look(r, h, s, index, &f, &e) || r->unread)
		return;
	e.end_time = e.time;
	if (e.end > e.start) {
		if (!read_extent(r, h, f.page, &e))
			return;
		add_extent(r, cpu, &e, missed_before(r, cpu, h, s, &f));
	}
	s->begun = true;
	if (h->live) {
		s->part_first = f.first;
		s->part_at = e.end;
		s->part_time = e.end_time;
	}
	s->next = f.order < 0 ? f.after : f.number + e.records;
}

int rings_all(struct rings *r, uint32_t cpu)
{
	struct rings_cpu s = {0};
	struct ring_head h = {0};
	uint64_t head = find_head(r, cpu);
	uint32_t at;

	if (!head) {
		diag_error("%s: the ring of cpu %u lies outside of the image (is it the right "
			   "--kernel?)",
			   r->name, cpu);
		return -1;
	}
	r->c->cpus[cpu].counted = true;
	read_stats(r, head, &r->c->cpus[cpu].stats);
	read_reader(r, head, &h, &s);
	if (read_head(r, cpu, head, &h))
		return -1;
	at = index_of(&r->b, h.commit);
	add_held(r, cpu, &h);
	for (uint32_t i = 1; i <= h.nr_pages; i++) {
		r->bad += r->unread;
		r->unread = false;
		add_slot(r, cpu, &h, &s, (at + i) % h.nr_pages);
	}
	r->bad += r->unread;
	return 0;
}

/* ---- again and again ---- */

static void count(struct rings *r, uint32_t cpu, uint64_t head, struct rings_cpu *s)
{
	struct wire_stats now = {0}, *to = &r->c->cpus[cpu].stats;

	read_stats(r, head, &now);
	if (s->head != head) {
		*s = (struct rings_cpu){.head = head, .changed = s->head != 0, .before = now};
		s->before.full -= to->full; /* the counts of the ring before it stay */
		s->before.nested -= to->nested;
		s->before.too_big -= to->too_big;
	}
	r->c->cpus[cpu].counted = true;
	to->full = now.full - s->before.full;
	to->nested = now.nested - s->before.nested;
	to->too_big = now.too_big - s->before.too_big;
}

int rings_take(struct rings *r, uint32_t cpu, struct rings_cpu *s, int64_t end_ms)
{
	struct ring_head h = {.live = true};
	uint64_t head = find_head(r, cpu);
	uint32_t at, i, n = 0;

	if (!head || read_head(r, cpu, head, &h))
		return -1;
	count(r, cpu, head, s);
	if (!s->begun)
		read_reader(r, head, &h, s);
	at = index_of(&r->b, h.commit);
	i = s->index;
	if (!s->begun || i >= h.nr_pages || lap_of(r, slot_at(r, &h, i)) != s->lap)
		i = (at + 1) % h.nr_pages;
	for (;; i = (i + 1) % h.nr_pages, n++) {
		s->index = i;
		s->lap = lap_of(r, slot_at(r, &h, i));
		if (n && i != at && io_now_ms() >= end_ms)
			break;
		if (!r->unread)
			add_slot(r, cpu, &h, s, i);
		if (r->unread)
			return -1;
		if (i == at)
			break;
	}
	r->used = n * 100 / h.nr_pages;
	return i == at ? 0 : 1;
}
