/* SPDX-License-Identifier: MIT */
/* record_memory.c -- recover the rings from a memory image: find the beacon, check everything, order the pages. */
#include "capture/image.h"
#include "capture/names.h"
#include "capture/record.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "wire/beacon.h"
#include "wire/crc32.h"
#include "wire/ringpage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct recovery {
	struct image image, kernel;
	struct wire_beacon b;
	uint64_t at;  /* where the beacon lies, physical */
	uint64_t bad; /* damaged pages that were skipped */
	struct capture *c;
	struct recording *out;
};

/* One ring's head, as the beacon says where its members are. */
struct head {
	uint64_t commit, slots, pages, meta;
	uint32_t nr_pages, max_pages;
	/* the reader's: the page that is its own, with what it has not handed out; the one that it has read in part */
	uint32_t page, from, end, left, part_at;
	uint64_t time, lost, part_mark, part_time;
	uint64_t next; /* the number of the next record, if none is missed */
};

/* What a target's address refers to: in the block by the beacon's own place, else in the kernel's image. */
static const uint8_t *target(const struct recovery *r, uint64_t at, uint64_t n)
{
	uint64_t phys;

	if (at >= r->b.block && at - r->b.block < r->b.block_bytes) {
		if (n > r->b.block_bytes - (at - r->b.block))
			return NULL;
		phys = r->at + (at - r->b.self);
	} else if (!image_phys(&r->kernel, at, n, &phys)) {
		return NULL;
	}
	return image_at(&r->image, phys, n);
}

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

/* The beacon at `p`, if it is one. */
static bool beacon_is_good(struct recovery *r, const uint8_t *p)
{
	struct wire_beacon copy, *b = &r->b;

	memcpy(&copy, p, sizeof(copy));
	copy.crc = 0;
	memcpy(b, p, sizeof(*b));
	if (r->c->big)
		beacon_swap(b);
	return b->bytes == sizeof(*b) && fathom_crc32(0, &copy, sizeof(copy)) == b->crc &&
	       b->nr_cpus && b->nr_cpus <= WIRE_BEACON_CPUS && wire_page_bytes_ok(b->page_bytes) &&
	       b->self >= b->block && b->self - b->block < b->block_bytes && meta_is_good(b) &&
	       index_shift(b) + b->pos_index_bits < 8 * r->c->long_bytes - 1 &&
	       b->pos_index_bits < 32 && b->pos_word_bits < 32 &&
	       b->slot_page_bits + b->pos_count_bits + 1u < 8 * r->c->long_bytes;
}

/* Every page of the image, which may be small, may begin with a beacon. */
static int find_beacon(struct recovery *r)
{
	unsigned damaged = 0;

	for (uint32_t i = 0; i < r->image.nr_segs; i++) {
		const struct image_segment *s = &r->image.seg[i];

		for (uint64_t off = (0 - s->at) & (WIRE_PAGE_LEAST - 1);
		     off + sizeof(r->b) <= s->bytes; off += WIRE_PAGE_LEAST) {
			const uint8_t *p = r->image.map + s->offset + off;

			if (memcmp(p, WIRE_BEACON_MAGIC, sizeof(r->b.magic)))
				continue;
			if (beacon_is_good(r, p)) {
				r->at = s->at + off;
				return 0;
			}
			damaged++;
		}
	}
	diag_error("%s: found no rings: %s", r->image.path,
		   damaged ? "their beacon is damaged" : "no beacon of a Fathom tracer in it");
	return -1;
}

/* A number in the target's byte order. */
static uint64_t word(const struct recovery *r, const uint8_t *p, uint32_t bytes)
{
	switch (bytes) {
	case 2: return get_u16(p, r->c->big);
	case 4: return get_u32(p, r->c->big);
	default: return get_u64(p, r->c->big);
	}
}

/* A number of type `long`: positions, slots, counters and addresses. */
static uint64_t longword(const struct recovery *r, const uint8_t *p)
{
	return word(r, p, r->c->long_bytes);
}

/* The head of the CPU's ring, with all the members that are read. NULL if the image does not have it. */
static const uint8_t *find_head(const struct recovery *r, uint32_t cpu)
{
	const struct wire_beacon *b = &r->b;
	const uint16_t member[] = {
		b->ring_commit,	  b->ring_slots,     b->ring_pages,	  b->ring_meta,
		b->ring_nr_pages, b->ring_max_pages, b->ring_overwritten, b->ring_full,
		b->ring_nested,	  b->ring_too_big,   b->reader_page,	  b->reader_at,
		b->reader_end,	  b->reader_left,    b->reader_time,	  b->reader_lost,
		b->reader_next,	  b->part_mark,	     b->part_at,	  b->part_time,
	};
	const uint8_t *at = target(r, b->ring[cpu], r->c->long_bytes);

	for (size_t i = 0; i < sizeof(member) / sizeof(member[0]); i++)
		if (member[i] + 8 > b->ring_bytes)
			at = NULL;
	return at ? target(r, longword(r, at), b->ring_bytes) : NULL;
}

static void read_reader(const struct recovery *r, const uint8_t *p, struct head *h)
{
	const struct wire_beacon *b = &r->b;

	h->page = (uint32_t)word(r, p + b->reader_page, 4);
	h->from = (uint32_t)word(r, p + b->reader_at, 4);
	h->end = (uint32_t)word(r, p + b->reader_end, 4);
	h->left = (uint32_t)word(r, p + b->reader_left, 4);
	h->time = word(r, p + b->reader_time, 8);
	h->lost = word(r, p + b->reader_lost, 8);
	h->next = word(r, p + b->reader_next, 8);
	h->part_mark = longword(r, p + b->part_mark);
	h->part_at = (uint32_t)word(r, p + b->part_at, 4);
	h->part_time = word(r, p + b->part_time, 8);
}

static int read_head(const struct recovery *r, uint32_t cpu, struct head *h)
{
	const struct wire_beacon *b = &r->b;
	struct wire_stats *st = &r->c->cpus[cpu].stats;
	const uint8_t *p = find_head(r, cpu);

	if (!p) {
		diag_error("%s: the ring of cpu %u lies outside of the image (is it the right "
			   "--kernel?)",
			   r->image.path, cpu);
		return -1;
	}
	h->commit = longword(r, p + b->ring_commit);
	h->slots = longword(r, p + b->ring_slots);
	h->pages = longword(r, p + b->ring_pages);
	h->meta = longword(r, p + b->ring_meta);
	h->nr_pages = (uint32_t)word(r, p + b->ring_nr_pages, 4);
	h->max_pages = (uint32_t)word(r, p + b->ring_max_pages, 4);
	read_reader(r, p, h);
	r->c->cpus[cpu].counted = true;
	st->overwritten = longword(r, p + b->ring_overwritten);
	st->full = longword(r, p + b->ring_full);
	st->nested = longword(r, p + b->ring_nested);
	st->too_big = longword(r, p + b->ring_too_big);
	if (!h->nr_pages || h->nr_pages > h->max_pages || h->max_pages >> b->pos_index_bits ||
	    !target(r, h->slots, (uint64_t)h->nr_pages * r->c->long_bytes) ||
	    !target(r, h->pages, (h->max_pages + 1ull) * b->page_bytes) ||
	    !target(r, h->meta, (h->max_pages + 1ull) * b->meta_bytes)) {
		diag_error("%s: the ring of cpu %u is damaged: %u of %u pages", r->image.path, cpu,
			   h->nr_pages, h->max_pages);
		return -1;
	}
	return 0;
}

/* Is the page of this slot before (-1) or at (0) the commit position, or not written yet (1)? */
static int slot_order(const struct recovery *r, uint64_t slot, uint32_t index, uint64_t commit)
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

static uint32_t data_bytes(const struct recovery *r)
{
	return r->b.page_bytes - WIRE_PAGE_HEADER;
}

static uint64_t in_order(const struct recovery *r, uint64_t v)
{
	return r->c->big ? __builtin_bswap64(v) : v;
}

/* [start, end) of a page's data as a page of its own, with the number of events missed before it, if there is room. */
static void add_part(struct recovery *r, uint32_t cpu, const struct wire_page *from, uint32_t start,
		     uint32_t end, uint64_t time, uint64_t missed)
{
	struct wire_page page = {.time = in_order(r, time)};
	uint64_t commit = end - start;

	memcpy(page.data, from->data + start, end - start);
	if (missed) {
		commit |= WIRE_COMMIT_MISSED;
		if (end - start + 8 <= data_bytes(r)) {
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
	struct wire_page page; /* a copy: the image need not keep it at an even place */
	uint32_t start, end;
	uint64_t time;
};

/* An extent as trace.dat wants it. One too full for its number of missed events is cut in two. */
static void add_extent(struct recovery *r, uint32_t cpu, const struct extent *e, uint64_t missed)
{
	uint32_t cut = 0, at;
	uint64_t time = e->time, cut_time = time;
	struct wire_item item;

	if (e->start > e->end || e->end > data_bytes(r) || (e->start | e->end) & 3) {
		r->bad++;
		return;
	}
	for (at = e->start; at < e->end; at = item.next) {
		if (wire_page_step_order(e->page.data, at, e->end, &time, &item, r->c->big)) {
			r->bad++;
			return;
		}
		if (item.next - e->start + 8 <= data_bytes(r)) {
			cut = item.next;
			cut_time = time;
		}
	}
	if (!missed || e->end - e->start + 8 <= data_bytes(r) || !cut)
		cut = e->end;
	add_part(r, cpu, &e->page, e->start, cut, e->time, missed);
	if (cut < e->end)
		add_part(r, cpu, &e->page, cut, e->end, cut_time, 0);
}

static bool page_at(const struct recovery *r, const struct head *h, uint32_t page,
		    struct wire_page *to)
{
	const uint8_t *p = NULL;

	if (page <= h->max_pages)
		p = target(r, h->pages + (uint64_t)page * r->b.page_bytes, r->b.page_bytes);
	if (p)
		memcpy(to, p, r->b.page_bytes);
	return p != NULL;
}

/* What the reader has taken and not handed out, the oldest of all. It may have been in the middle of that. */
static void add_held(struct recovery *r, uint32_t cpu, const struct head *h)
{
	struct extent e = {.start = h->from, .end = h->end, .time = h->time};

	if (!h->left || h->from == h->end)
		return;
	if (page_at(r, h, h->page, &e.page))
		add_extent(r, cpu, &e, h->lost);
	else
		r->bad++;
}

static void add_slot(struct recovery *r, uint32_t cpu, struct head *h, uint32_t index)
{
	const struct wire_beacon *b = &r->b;
	const uint8_t *at =
		target(r, h->slots + (uint64_t)index * r->c->long_bytes, r->c->long_bytes);
	uint64_t slot = at ? longword(r, at) : 0;
	uint32_t page = (uint32_t)(slot & ((1ull << b->slot_page_bits) - 1));
	uint64_t read = slot >> b->slot_page_bits & ((1ull << b->pos_count_bits) - 1);
	int order = slot_order(r, slot, index, h->commit);

	if ((slot >> (b->slot_page_bits + b->pos_count_bits) & 1) || order > 0)
		return; /* handed to the reader, or not written yet */
	const uint8_t *m = target(r, h->meta + (uint64_t)page * b->meta_bytes, b->meta_bytes);
	struct extent e = {0};

	if (!at || !m || !page_at(r, h, page, &e.page)) {
		r->bad++;
		return;
	}
	uint64_t first = word(r, m + b->meta_first, 8), missed = word(r, m + b->meta_missed, 8);
	uint32_t words = (uint32_t)(h->commit & ((1ull << b->pos_word_bits) - 1));

	e.end = order < 0 ? (uint32_t)word(r, m + b->meta_used, 4) : words * 4;
	e.time = in_order(r, e.page.time);
	if (slot == h->part_mark) {
		e.start = h->part_at;
		e.time = h->part_time;
		missed = 0;
	}
	if (first + read > h->next)
		missed += first + read - h->next;
	if (e.end > e.start)
		add_extent(r, cpu, &e, missed);
	h->next = first + word(r, m + b->meta_entries, 2) - word(r, m + b->meta_discards, 2);
}

static int read_ring(struct recovery *r, uint32_t cpu)
{
	struct head h;

	if (read_head(r, cpu, &h))
		return -1;
	uint32_t at = index_of(&r->b, h.commit);

	if (at >= h.nr_pages) {
		diag_error("%s: the ring of cpu %u is damaged: writing in slot %u of %u",
			   r->image.path, cpu, at, h.nr_pages);
		return -1;
	}
	add_held(r, cpu, &h);
	for (uint32_t i = 1; i <= h.nr_pages; i++)
		add_slot(r, cpu, &h, (at + i) % h.nr_pages);
	return 0;
}

static void read_formats(struct recovery *r)
{
	const uint8_t *p = target(r, r->b.texts, r->b.texts_bytes);
	uint64_t at = 0;

	while (p && at + 4 <= r->b.texts_bytes) {
		uint64_t n = word(r, p + at, 4);
		const char *text = (const char *)p + at + 4, *eol;
		char system[64];

		if (n > r->b.texts_bytes - at - 4)
			break;
		eol = memchr(text, '\n', n);
		if (eol && (size_t)(eol - text) < sizeof(system)) {
			memcpy(system, text, (size_t)(eol - text));
			system[eol - text] = 0;
			capture_format(r->c, system, eol + 1, n - (size_t)(eol + 1 - text));
		}
		at += 4 + n;
	}
	if (!r->c->nr_formats)
		diag_warn("%s: the image does not hold the formats of the events", r->image.path);
}

static int recover(struct recovery *r, const struct record_options *o)
{
	unsigned rings = 0;
	char file[32];

	if (find_beacon(r))
		return -1;
	/* Where the image was taken from a running kernel, the CPUs are known already. */
	if (!r->c->nr_cpus && capture_set_cpus(r->c, r->b.nr_cpus))
		return -1;
	if (r->c->nr_cpus != r->b.nr_cpus) {
		diag_error("%s: has rings of %u CPUs, the kernel has %u", r->image.path,
			   r->b.nr_cpus, r->c->nr_cpus);
		return -1;
	}
	r->c->ns_mult = r->b.ns_mult;
	r->c->ns_shift = r->b.ns_shift;
	snprintf(r->c->release, sizeof(r->c->release), "%.*s", (int)sizeof(r->b.release),
		 r->b.release);
	read_formats(r);
	if (capture_kallsyms(r->c, o->kernel) || recording_begin(r->out, r->c))
		return -1;
	for (uint32_t cpu = 0; cpu < r->b.nr_cpus; cpu++)
		rings += !read_ring(r, cpu);
	if (r->bad)
		diag_warn("%s: %llu damaged pages were skipped", r->image.path,
			  (unsigned long long)r->bad);
	capture_names(r->c, recording_file(r->out, file));
	if (!r->c->ended[0])
		snprintf(r->c->ended, sizeof(r->c->ended), "read from a memory image");
	return rings ? 0 : -1;
}

int record_memory(const struct record_options *o, const char *image, struct capture *c,
		  struct recording *out)
{
	struct recovery *r = calloc(1, sizeof(*r));
	int err = -1;

	if (!r)
		return -1;
	r->c = c;
	r->out = out;
	if (!image_open(&r->image, image, o->base) && !image_kernel(&r->kernel, o->kernel)) {
		c->big = r->kernel.big;
		c->long_bytes = r->kernel.long_bytes;
		err = recover(r, o);
	}
	image_close(&r->image);
	image_close(&r->kernel);
	free(r);
	return err;
}
