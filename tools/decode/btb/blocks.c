/* SPDX-License-Identifier: MIT */
/* blocks.c -- lines to blocks to sections; what is missing is rebuilt from the XOR block. */
#include "decode/btb/blocks.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Lines come in order but for losses. What tells a redundancy block from data, when its own header line is lost:
 *
 *	B1  ids of data blocks only grow within a run, so a smaller or repeated id in an open section is its redundancy
 *	    block (whose id is the section's first);
 *	B2  after `--> btbs:` comes data;
 *	B3  after a redundancy block comes the next section, or with a smaller id the next run.
 *
 * Blocks are kept until the parity lines that stand after them have come: those end a span, and the next section begins
 * again. Where no section's announcement speaks of parity, sections are settled by and by.
 */
#define SETTLE_BLOCKS 1024u
#define ID_JUMP	      4096u /* blocks lost in a row; an id further off is itself damaged */
#define LOST_PER_SEEN \
	4u /* and so is what says that more were lost than this many times those that were seen */

void btb_blocks_init(struct btb_blocks *b, btb_section_fn fn, void *arg, struct btb_loss *loss)
{
	memset(b, 0, sizeof(*b));
	b->fn = fn;
	b->arg = arg;
	b->loss = loss;
}

/* Room for one more of `size` bytes; marks the reader failed if there is none. */
static bool grow(struct btb_blocks *b, void *array, size_t n, size_t *cap, size_t size)
{
	b->failed = b->failed || !vec_room(array, n, cap, size);
	return !b->failed;
}

/* Is it plausible that this many blocks are missing here? Each of them takes room, of which a damaged number may not take more. */
static bool believe_lost(struct btb_blocks *b, uint64_t blocks)
{
	if (blocks > ID_JUMP || b->nr_lost + blocks > ID_JUMP + LOST_PER_SEEN * b->nr_seen)
		return false;
	b->nr_lost += blocks;
	return true;
}

static struct btb_block *add_block(struct btb_blocks *b, uint64_t id, bool redundancy)
{
	struct btb_block *k;

	if (!grow(b, &b->block, b->nr_block, &b->cap_block, sizeof(*b->block)))
		return NULL;
	k = &b->block[b->nr_block++];
	memset(k, 0, sizeof(*k));
	k->id = id;
	k->redundancy = redundancy;
	k->section = (uint32_t)(b->nr_section - 1);
	return k;
}

static bool add_section(struct btb_blocks *b, uint64_t first)
{
	if (!grow(b, &b->section, b->nr_section, &b->cap_section, sizeof(*b->section)))
		return false;
	b->section[b->nr_section++] =
		(struct btb_section){.first = first, .last = first, .words = b->announced_words};
	b->announced = false;
	b->announced_words = 0;
	b->open = true;
	return true;
}

static struct btb_section *current(struct btb_blocks *b)
{
	return b->nr_section ? &b->section[b->nr_section - 1] : NULL;
}

/* The id of the last data block, settled ones included. */
static uint64_t last_id(const struct btb_blocks *b)
{
	return b->nr_section ? b->section[b->nr_section - 1].last : b->next ? b->next - 1 : 0;
}

static void settle(struct btb_blocks *b);

static void begin_data(struct btb_blocks *b, uint64_t id)
{
	struct btb_section *s = current(b);

	if ((s || b->next) && id <= last_id(b) &&
	    (!b->open || b->announced || (s && id < s->first))) {
		bool announced = b->announced; /* belongs to the run that begins (B3) */
		uint32_t words = b->announced_words;

		btb_blocks_finish(b);
		b->announced = announced;
		b->announced_words = words;
		s = NULL;
	} else if (!b->open &&
		   (b->nr_parity || (!b->parity_told && b->nr_block >= SETTLE_BLOCKS))) {
		settle(b);
		s = NULL;
	}
	if (!s || !b->open || b->announced) {
		if (!add_section(b, id))
			return;
		s = current(b);
	}
	b->nr_seen++;
	s->last = id;
	s->seen++;
	add_block(b, id, false);
}

/* A redundancy block ends its section, and its id says where the section began. */
static void begin_redundancy(struct btb_blocks *b, uint64_t id)
{
	struct btb_section *s = current(b);

	if (s && b->open && !b->announced && id < s->first && !believe_lost(b, s->first - id)) {
		/* Too far before what was seen to begin that: it belongs to another run (B3). */
		btb_blocks_finish(b);
		s = NULL;
	}
	if (!s || !b->open || b->announced || id > s->last) {
		if (!add_section(b, id))
			return;
	} else if (id > s->first) {
		/* The previous section lost its end and this one its announcement: two were taken for one. */
		uint64_t last = s->last;
		uint32_t cut = (uint32_t)b->nr_section;

		s->last = id - 1;
		if (!add_section(b, id))
			return;
		s = current(b);
		s->last = last;
		for (size_t i = b->nr_block;
		     i-- && b->block[i].id >= id && !b->block[i].redundancy;) {
			b->block[i].section = cut;
			s->seen++;
		}
	} else {
		s->first = id;
	}
	if (add_block(b, id, true)) {
		current(b)->xor_at = b->nr_block;
		b->open = false;
	}
}

static bool is_redundancy(struct btb_blocks *b, uint64_t id, uint32_t offset, const uint64_t w[4],
			  uint32_t mask)
{
	struct btb_section *s = current(b);

	if (offset == 0 && (mask & 5) == 5 && w[0] == id)
		return w[2] & WIRE_BTB_REDUNDANCY;
	return s && b->open && !b->announced && id <= s->last;
}

void btb_blocks_place(struct btb_blocks *b, uint64_t id, uint32_t offset, const uint64_t w[4],
		      uint32_t mask)
{
	struct btb_block *k = b->nr_block ? &b->block[b->nr_block - 1] : NULL;
	if ((b->nr_section || b->next) && id > last_id(b) + 1 &&
	    !believe_lost(b, id - last_id(b) - 1)) {
		/* The id is damaged; if the line continues the open block, that is where it belongs. */
		if (!k || offset != b->last_offset + WIRE_BTB_LINE_WORDS)
			return;
		id = k->id;
	}
	if (!k || k->id != id || offset <= b->last_offset || b->announced) {
		if (is_redundancy(b, id, offset, w, mask))
			begin_redundancy(b, id);
		else
			begin_data(b, id);
		if (b->failed)
			return;
		k = &b->block[b->nr_block - 1];
	}
	memcpy(&k->w[offset], w, WIRE_BTB_LINE_WORDS * sizeof(*w));
	k->known[offset / 64] |= (uint64_t)mask << offset % 64;
	b->last_offset = offset;
}

void btb_blocks_section(struct btb_blocks *b, uint32_t words, bool parity)
{
	btb_blocks_flush(b);
	b->parity_told |= parity;
	b->announced = true;
	b->announced_words = words;
}

void btb_blocks_parity(struct btb_blocks *b, const struct btb_parity *p)
{
	btb_blocks_flush(b);
	if (grow(b, &b->parity, b->nr_parity, &b->cap_parity, sizeof(*b->parity)))
		b->parity[b->nr_parity++] = *p;
}

static bool known(const struct btb_block *k, uint32_t word)
{
	return k->known[word / 64] >> word % 64 & 1;
}

static void set_known(struct btb_block *k, uint32_t word)
{
	k->known[word / 64] |= 1ull << word % 64;
}

struct btb_block *btb_blocks_find(struct btb_blocks *b, uint64_t id)
{
	size_t lo = 0, hi = b->nr_data;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (b->block[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < b->nr_data && b->block[lo].id == id ? &b->block[lo] : NULL;
}

static int by_id(const void *a, const void *b)
{
	const struct btb_block *x = a, *y = b;

	if (x->redundancy != y->redundancy)
		return x->redundancy ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

/* The id after the last data block: what was seen, or what parity lines say there was. */
static uint64_t data_end(struct btb_blocks *b)
{
	uint64_t end = b->section[b->nr_section - 1].last + 1;

	for (size_t i = 0; i < b->nr_parity; i++) {
		const struct btb_parity *p = &b->parity[i];
		uint64_t stop =
			p->start + (p->lines + WIRE_BTB_BLOCK_LINES - 1) / WIRE_BTB_BLOCK_LINES;

		if (stop > end && (stop == b->believed_end || believe_lost(b, stop - end)))
			end = b->believed_end = stop;
	}
	return end;
}

/* How many blocks and words a section has: from its announcement, its own header, its neighbour, or what was seen. */
static uint32_t section_blocks(struct btb_blocks *b, size_t i)
{
	struct btb_section *s = &b->section[i];
	struct btb_block *first = btb_blocks_find(b, s->first);
	uint64_t n = s->last - s->first + 1;

	if (!s->words && first && (first->known[0] >> 4 & 15) == 15 && s->xor_at) {
		size_t w =
			btb_section_length(first->w + WIRE_BTB_BLOCK_HEAD, WIRE_BTB_SECTION_HEAD);

		if (w <= n * WIRE_BTB_BLOCK_DATA + ID_JUMP)
			s->words = (uint32_t)w;
	}
	if (s->words) {
		uint64_t told =
			((uint64_t)s->words + WIRE_BTB_BLOCK_DATA - 1) / WIRE_BTB_BLOCK_DATA;

		if (told <= n || believe_lost(b, told - n))
			return (uint32_t)told;
		s->words = 0;
	}
	if (i + 1 < b->nr_section && s[1].first > s->first && s[1].first - s->first <= ID_JUMP)
		n = s[1].first - s->first;
	else if (i + 1 == b->nr_section && !s->xor_at)
		n = data_end(b) - s->first;
	return (uint32_t)n;
}

/*
 * A loss that begins in the first block of a section and ends in its redundancy block, which has the same id, looks like
 * one block with a hole. If the section has more blocks than that, what stands after the hole is not believed.
 */
static void distrust_tail(struct btb_blocks *b, const struct btb_section *s, uint64_t seen_last)
{
	struct btb_block *k = btb_blocks_find(b, s->first);
	uint32_t line = WIRE_BTB_BLOCK_LINES;

	if (s->xor_at || seen_last != s->first || s->last == s->first || !k)
		return;
	while (line-- > 0 && btb_line_known(k, line))
		;
	if (line == UINT32_MAX)
		return; /* no hole */
	while (line + 1 < WIRE_BTB_BLOCK_LINES) {
		line++;
		k->known[line / 16] &= ~(15ull << line % 16 * 4);
	}
}

static void sort_blocks(struct btb_blocks *b)
{
	qsort(b->block, b->nr_block, sizeof(*b->block), by_id);
	b->nr_data = 0;
	while (b->nr_data < b->nr_block && !b->block[b->nr_data].redundancy)
		b->nr_data++;
	for (size_t i = b->nr_data; i < b->nr_block; i++)
		b->section[b->block[i].section].xor_at = i + 1;
}

static int by_first(const void *a, const void *b)
{
	const struct btb_section *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* A gap in the ids is one section or more that were lost whole: parity may bring them back, else they count as lost. */
static void add_gap(struct btb_blocks *b, uint64_t first, uint64_t end)
{
	if (first >= end || end - first > ID_JUMP || !add_section(b, first))
		return;
	b->section[b->nr_section - 1].last = end - 1;
}

/* Parity lines say where the data began and how far it went. */
static void fill_gaps(struct btb_blocks *b)
{
	size_t n = b->nr_section;
	uint64_t at = b->next ? b->next : b->section[0].first, end = data_end(b);

	for (size_t i = 0; i < b->nr_parity; i++)
		if (b->parity[i].start < at && at - b->parity[i].start <= ID_JUMP)
			at = b->parity[i].start;
	for (size_t i = 0; i < n && !b->failed; i++) {
		add_gap(b, at, b->section[i].first);
		if (b->section[i].last >= at)
			at = b->section[i].last + 1;
	}
	add_gap(b, at, end);
	if (b->nr_section == n)
		return;
	/* Blocks know their section by its place: place by place again, in the order of ids. */
	for (size_t i = b->nr_data; i < b->nr_block; i++)
		b->block[i].id = b->section[b->block[i].section].first;
	qsort(b->section, b->nr_section, sizeof(*b->section), by_first);
	for (size_t i = b->nr_data, k = 0; i < b->nr_block; i++) {
		while (k + 1 < b->nr_section && b->section[k].first < b->block[i].id)
			k++;
		b->block[i].section = (uint32_t)k;
	}
}

/* Every block of every section gets a place, lost ones with nothing known; then all stand in the order of ids. */
static void complete(struct btb_blocks *b)
{
	sort_blocks(b);
	for (size_t i = 0; i < b->nr_section; i++) {
		uint64_t before = i ? b->section[i - 1].last + 1 : b->next;
		uint64_t seen = b->section[i].last, end;

		/* Announced, but its first blocks and its redundancy block are lost: it begins where the previous one ended. */
		if (b->section[i].words && !b->section[i].xor_at && before < b->section[i].first &&
		    believe_lost(b, b->section[i].first - before))
			b->section[i].first = before;
		end = b->section[i].first + section_blocks(b, i);

		if (i + 1 < b->nr_section && b->section[i + 1].first < end &&
		    b->section[i + 1].first > b->section[i].first)
			end = b->section[i + 1].first;
		b->section[i].last = end - 1;
		distrust_tail(b, &b->section[i], seen);
	}
	fill_gaps(b);
	for (size_t i = 0; i < b->nr_section && !b->failed; i++) {
		for (uint64_t id = b->section[i].first; id <= b->section[i].last && !b->failed;
		     id++) {
			struct btb_block *k = btb_blocks_find(b, id);

			if (!k)
				k = add_block(b, id, false);
			if (k)
				k->section = (uint32_t)i;
		}
	}
	sort_blocks(b);
}

/* The header words and the padding of a data block follow from the section's length. */
static void fill_derived(struct btb_section *s, struct btb_block *k)
{
	uint32_t at = (uint32_t)(k->id - s->first) * WIRE_BTB_BLOCK_DATA;
	uint32_t len = s->words > at + WIRE_BTB_BLOCK_DATA ? WIRE_BTB_BLOCK_DATA : s->words - at;

	if (!s->words || at >= s->words)
		return;
	k->w[0] = k->id;
	k->w[1] = len;
	k->w[2] = k->w[3] = 0;
	k->known[0] |= 15;
	for (uint32_t c = WIRE_BTB_BLOCK_HEAD + len; c < WIRE_BTB_BLOCK_WORDS; c++) {
		k->w[c] = 0;
		set_known(k, c);
	}
}

/* Column by column: one unknown word is the XOR of all others. Returns how many were rebuilt. */
static uint64_t xor_section(struct btb_blocks *b, struct btb_section *s, bool check)
{
	struct btb_block *first = btb_blocks_find(b, s->first), *x;
	uint32_t n = (uint32_t)(s->last - s->first + 1);
	uint64_t rebuilt = 0;

	if (!s->xor_at || !first)
		return 0;
	x = &b->block[s->xor_at - 1];
	for (uint32_t c = WIRE_BTB_BLOCK_HEAD; c < WIRE_BTB_BLOCK_WORDS; c++) {
		struct btb_block *hole = NULL;
		uint64_t sum = x->w[c];
		uint32_t holes = 0;

		if (!known(x, c) || (known(x, 1) && c >= WIRE_BTB_BLOCK_HEAD + x->w[1]))
			continue;
		for (uint32_t i = 0; i < n && holes < 2; i++) {
			if (known(&first[i], c))
				sum ^= first[i].w[c];
			else if (++holes == 1)
				hole = &first[i];
		}
		if (holes == 1) {
			hole->w[c] = sum;
			set_known(hole, c);
			rebuilt++;
		} else if (check && holes == 0 && sum) {
			b->loss->xor_errors++;
		}
	}
	return rebuilt;
}

/* Hand a section out, or several if their ends were lost and the headers tell them apart. */
static void emit(struct btb_blocks *b, struct btb_section *s, uint64_t *buf)
{
	struct btb_block *first = btb_blocks_find(b, s->first);
	uint32_t n = (uint32_t)(s->last - s->first + 1);
	size_t words = 0, good = 0, at = 0;
	bool whole = true;

	if (!first)
		return;
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t c = WIRE_BTB_BLOCK_HEAD; c < WIRE_BTB_BLOCK_WORDS; c++) {
			bool k = known(&first[i], c);

			if (s->words && words == s->words)
				break;
			buf[words++] = k ? first[i].w[c] : 0;
			whole = whole && k;
			good += whole;
			b->loss->lost_words += !k;
		}
	}
	while (at < words) {
		size_t len = btb_section_length(buf + at, good > at ? good - at : 0);
		size_t step =
			(len + WIRE_BTB_BLOCK_DATA - 1) / WIRE_BTB_BLOCK_DATA * WIRE_BTB_BLOCK_DATA;

		if (s->words || !len || step >= words - at)
			step = words - at;
		else if (len > words - at)
			len = words - at;
		if (s->words || !len || len > step)
			len = step;
		b->loss->sections++;
		b->fn(b->arg, b->run, buf + at, len,
		      good > at ? (good - at < len ? good - at : len) : 0);
		at += step;
	}
}

/* What one code rebuilds may be what the other lacked: as long as something moves. */
static void repair(struct btb_blocks *b)
{
	uint64_t before;

	for (size_t i = 0; i < b->nr_block; i++)
		if (!b->block[i].redundancy)
			fill_derived(&b->section[b->block[i].section], &b->block[i]);
	do {
		before = b->loss->rebuilt_words + b->loss->rebuilt_lines;
		if (b->nr_parity)
			btb_parity_repair(b);
		for (size_t i = 0; i < b->nr_section; i++)
			b->loss->rebuilt_words += xor_section(b, &b->section[i], false);
	} while (b->nr_parity && b->loss->rebuilt_words + b->loss->rebuilt_lines > before);
}

/* Room for the words of the longest section. */
static uint64_t *section_buffer(const struct btb_blocks *b)
{
	uint64_t most = 0;

	for (size_t i = 0; i < b->nr_section; i++)
		if (b->section[i].last - b->section[i].first + 1 > most)
			most = b->section[i].last - b->section[i].first + 1;
	return malloc((most + 1) * WIRE_BTB_BLOCK_DATA * sizeof(uint64_t));
}

/* No parity line will come any more for what is here: repair it and hand it out. */
static void settle(struct btb_blocks *b)
{
	uint64_t *buf;

	if (!b->nr_section || b->failed)
		return;
	complete(b);
	buf = b->failed ? NULL : section_buffer(b);
	if (!buf) {
		b->failed = true;
		return;
	}
	repair(b);
	for (size_t i = 0; i < b->nr_section; i++) {
		xor_section(b, &b->section[i], true);
		emit(b, &b->section[i], buf);
	}
	free(buf);
	b->next = b->section[b->nr_section - 1].last + 1;
	b->nr_block = b->nr_section = b->nr_parity = 0;
	b->open = false;
}

int btb_blocks_finish(struct btb_blocks *b)
{
	bool any;

	btb_blocks_flush(b);
	settle(b);
	any = b->next && !b->failed;
	free(b->block);
	free(b->section);
	free(b->parity);
	b->loss->runs += any;

	struct btb_blocks before = *b;

	btb_blocks_init(b, b->fn, b->arg, b->loss);
	b->run = before.run + any;
	b->failed = before.failed;
	b->nr_seen = before.nr_seen;
	b->nr_lost = before.nr_lost;
	return b->failed ? -ENOMEM : b->run ? 0 : -ENODATA;
}
