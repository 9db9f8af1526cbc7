/* SPDX-License-Identifier: MIT */
/* beacon.c -- leave what a reader of the kernel's memory needs, for the day the kernel cannot speak any more. */
#include "fathom/save.h"
#include "fathom/inside/errno.h"
#include "fathom/inside/event.h"
#include "fathom/trace.h"
#include "wire/beacon.h"
#include "wire/crc32.h"
#include "wire/text.h"

const struct wire_beacon *fathom_beacon_at;

#define BEACON_FORMAT_MAX 8192u /* one format file; longer ones are cut */

/* One event as "system\n" and its format. */
static size_t beacon_format(struct fathom_event *ev, char *to, size_t bytes)
{
	struct fathom_text t;

	fathom_text_init(&t, to, bytes);
	fathom_text_str(&t, ev->system);
	fathom_text_char(&t, '\n');
	fathom_event_format(ev, &t);
	return t.len;
}

/* All formats, measured first in a piece of memory that is not needed afterwards. */
static int beacon_texts(struct wire_beacon *b)
{
	uint32_t n = fathom_event_count(), len;
	char *measure = fathom_memory_take(BEACON_FORMAT_MAX), *to;
	size_t bytes = 0;

	if (!measure)
		return -FATHOM_ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		bytes += 4 + beacon_format(fathom_event_at(i), measure, BEACON_FORMAT_MAX);
	to = fathom_memory_take(bytes);
	if (!to)
		return -FATHOM_ENOMEM;
	b->texts = (uintptr_t)to;
	b->texts_bytes = bytes;
	for (uint32_t i = 0; i < n; i++, to += 4 + len) {
		len = (uint32_t)beacon_format(fathom_event_at(i), to + 4, BEACON_FORMAT_MAX);
		__builtin_memcpy(to, &len, 4);
	}
	return 0;
}

static void beacon_layout(struct wire_beacon *b)
{
	b->ring_bytes = sizeof(struct fathom_ring);
	b->ring_commit = offsetof(struct fathom_ring, commit);
	b->ring_slots = offsetof(struct fathom_ring, slots);
	b->ring_pages = offsetof(struct fathom_ring, pages);
	b->ring_meta = offsetof(struct fathom_ring, meta);
	b->ring_nr_pages = offsetof(struct fathom_ring, nr_pages);
	b->ring_max_pages = offsetof(struct fathom_ring, max_pages);
	b->ring_overwritten = offsetof(struct fathom_ring, overwritten);
	b->ring_full = offsetof(struct fathom_ring, full);
	b->ring_nested = offsetof(struct fathom_ring, nested);
	b->ring_too_big = offsetof(struct fathom_ring, too_big);
	b->reader_page = offsetof(struct fathom_ring, reader.page);
	b->reader_at = offsetof(struct fathom_ring, reader.at);
	b->reader_end = offsetof(struct fathom_ring, reader.end);
	b->reader_left = offsetof(struct fathom_ring, reader.left);
	b->reader_time = offsetof(struct fathom_ring, reader.time);
	b->reader_lost = offsetof(struct fathom_ring, reader.lost);
	b->reader_next = offsetof(struct fathom_ring, reader.next);
	b->part_mark = offsetof(struct fathom_ring, reader.part_mark);
	b->part_at = offsetof(struct fathom_ring, reader.part_at);
	b->part_time = offsetof(struct fathom_ring, reader.part_time);
	b->meta_bytes = sizeof(struct fathom_page_meta);
	b->meta_first = offsetof(struct fathom_page_meta, first);
	b->meta_missed = offsetof(struct fathom_page_meta, missed);
	b->meta_used = offsetof(struct fathom_page_meta, used);
	b->meta_entries = offsetof(struct fathom_page_meta, entries);
	b->meta_discards = offsetof(struct fathom_page_meta, discards);
	b->pos_word_bits = FATHOM_POS_WORD_BITS;
	b->pos_count_bits = FATHOM_POS_COUNT_BITS;
	b->pos_epoch_bits = FATHOM_POS_EPOCH_BITS;
	b->pos_index_bits = FATHOM_POS_INDEX_BITS;
	b->slot_page_bits = FATHOM_SLOT_PAGE_BITS;
}

/* `table` has the addresses of the heads; NULL: the library's own, which a kernel's image has. */
static int beacon_write(struct fathom_ring **table)
{
	const struct fathom_config *c = &fathom_core.config;
	struct wire_beacon *b;
	int err;

	if (!fathom_core.nr_cpus)
		return -FATHOM_EINVAL;
	b = fathom_memory_take(sizeof(*b));
	if (!b)
		return -FATHOM_ENOMEM;
	err = beacon_texts(b);
	if (err)
		return err;
	__builtin_memcpy(b->magic, WIRE_BEACON_MAGIC, sizeof(b->magic));
	b->bytes = sizeof(*b);
	b->nr_cpus = fathom_core.nr_cpus;
	b->page_bytes = WIRE_PAGE_BYTES;
	b->self = (uintptr_t)b;
	b->block = (uintptr_t)c->memory;
	b->block_bytes = c->memory_bytes;
	b->ns_mult = c->clock_hz ? fathom_core.ns_mult : 0;
	b->ns_shift = fathom_core.ns_shift;
	for (uint32_t i = 0; i + 1 < sizeof(b->release) && c->release[i]; i++)
		b->release[i] = c->release[i];
	beacon_layout(b);
	for (uint32_t i = 0; i < b->nr_cpus; i++)
		b->ring[i] = (uintptr_t)(table ? &table[i] : &fathom_hot.ring[i]);
	b->crc = fathom_crc32(0, b, sizeof(*b));
	fathom_beacon_at = b;
	return 0;
}

static int beacon_alone(void)
{
	uint32_t nr = fathom_core.nr_cpus;
	struct fathom_ring *heads = nr ? fathom_memory_take(nr * sizeof(*heads)) : NULL;
	struct fathom_ring **table = nr ? fathom_memory_take(nr * sizeof(*table)) : NULL;

	if (nr && (!heads || !table))
		return -FATHOM_ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		__builtin_memcpy(&heads[i], fathom_hot.ring[i], sizeof(heads[i]));
		fathom_hot.ring[i] = table[i] = &heads[i];
	}
	return beacon_write(table);
}

int fathom_beacon(int alone)
{
	return alone ? beacon_alone() : beacon_write(NULL);
}
