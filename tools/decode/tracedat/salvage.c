/* SPDX-License-Identifier: MIT */
/* salvage.c -- version 7 without its table of contents: sections are found by walking the file. */
#include "decode/tracedat/tracedat.h"
#include "wire/ringpage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * An option after its pages says what a buffer holds. A recorder that was killed, or a copy that was cut, has the
 * pages and not the option; a flipped bit in the option has the same effect. But sections lie one after the other, each with
 * its size, so they can be found; and the pages of a buffer are those of CPU after CPU, each from a page's boundary on.
 */

/* Bounds on what a hostile file can make of this. */
#define SECTIONS_MAX 10000u
#define CPUS_MAX     1024u /* if the trace does not say how many there were */

struct section {
	uint64_t at, end; /* end <= the file's */
	uint16_t id, flags;
};

static bool is_seen(const struct tracedat *t, uint64_t section)
{
	return idmap_find(&t->seen, section) != NULL;
}

bool tracedat_first_seen(struct tracedat *t, uint64_t section)
{
	void **at = idmap_at(&t->seen, section);

	if (!at || *at)
		return false;
	*at = t;
	return true;
}

/* The section at `at`; false at the end of the file. */
static bool section_at(const struct source *s, uint64_t at, struct section *out)
{
	struct reader r;
	uint64_t bytes;

	reader_init(&r, s->map, s->map_bytes, s->big_endian);
	reader_seek(&r, at);
	out->at = at;
	out->id = reader_u16(&r);
	out->flags = reader_u16(&r);
	reader_u32(&r);
	bytes = reader_u64(&r);
	if (r.failed)
		return false;
	out->end = bytes > reader_left(&r) ? s->map_bytes : r.at + bytes;
	return true;
}

static uint64_t to_page(const struct tracedat *t, uint64_t at)
{
	return (at + t->page_bytes - 1) / t->page_bytes * t->page_bytes;
}

/* Compressed chunks from `at` on. *behind is where those of the CPU end, 0 if the file does not have all of them. */
static int salvage_chunks(struct source *s, uint32_t cpu, uint64_t at, uint64_t end,
			  uint64_t *behind)
{
	struct tracedat *t = s->priv;
	const struct ring_stream *n;
	int err = tracedat_add_chunks(s, cpu, at, end - at, t->page_bytes);

	*behind = 0;
	if (err)
		return err;
	n = &t->ring.streams[t->ring.nr_streams - 1];
	if (n->nr_chunks && n->nr_chunks == get_u32(s->map + at, s->big_endian))
		*behind = n->chunks[n->nr_chunks - 1].offset + n->chunks[n->nr_chunks - 1].bytes;
	return 0;
}

/* Plain pages from `at` on: a CPU's end where the time steps back. */
static uint64_t pages_end(const struct source *s, uint64_t at, uint64_t end)
{
	const struct tracedat *t = s->priv;
	uint64_t last = 0;

	for (; at + t->ring.page.time_offset + 8 <= end; at += t->page_bytes) {
		uint64_t time = get_u64(s->map + at + t->ring.page.time_offset, s->big_endian);

		if (time < last)
			return at;
		last = time;
	}
	return end;
}

static int salvage_buffer(struct source *s, const struct section *k)
{
	struct tracedat *t = s->priv;
	uint64_t at = to_page(t, k->at + TRACEDAT_SECTION_HEADER);
	uint32_t cpus = s->info.nr_cpus ? s->info.nr_cpus : CPUS_MAX;
	char name[32] = "";
	int err = 0;

	if (s->nr_buffers)
		snprintf(name, sizeof(name), "found-%zu", s->nr_buffers);
	if (s->nr_buffers >= TRACEDAT_BUFFERS_MAX)
		return 0;
	if (!source_add_buffer(s, name, t->clock))
		return -ENOMEM;
	source_damage(s, k->at, 0,
		      "a buffer that no option describes: its CPUs are numbered as they come");
	for (uint32_t cpu = 0; !err && at < k->end && cpu < cpus; cpu++) {
		uint64_t behind;

		if (k->flags & TRACEDAT_SECTION_COMPRESSED) {
			err = salvage_chunks(s, cpu, at, k->end, &behind);
			if (!behind)
				break;
		} else {
			behind = cpu + 1 < cpus ? pages_end(s, at, k->end) : k->end;
			err = tracedat_add_pages(s, cpu, at, behind - at, t->page_bytes);
		}
		at = to_page(t, behind);
	}
	return err;
}

int tracedat_salvage(struct source *s, uint64_t from)
{
	struct tracedat *t = s->priv;
	uint64_t at = from, next;
	struct section k;
	int err = 0;

	/* Options first: they may describe a buffer after all. */
	for (unsigned n = 0; !err && n < SECTIONS_MAX && section_at(s, at, &k); n++) {
		if (k.id == OPT_DONE && !is_seen(t, at))
			err = tracedat_option_section(s, at, &next);
		else if (k.id >= OPT_HEADER_INFO && k.id <= OPT_CMDLINES && !is_seen(t, at))
			tracedat_meta_section(s, k.id, at);
		at = k.end;
	}
	at = from;
	for (unsigned n = 0; !err && n < SECTIONS_MAX && section_at(s, at, &k); n++) {
		if (k.id == OPT_BUFFER && !is_seen(t, at))
			err = salvage_buffer(s, &k);
		at = k.end;
	}
	return err;
}
