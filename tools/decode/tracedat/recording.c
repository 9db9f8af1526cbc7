/* SPDX-License-Identifier: MIT */
/* recording.c -- a trace.dat while it is recorded, or whose recorder was killed: wire/recording.h. */
#include "decode/tracedat/tracedat.h"
#include "base/vec.h"
#include "base/file.h"
#include "wire/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEAD sizeof(struct wire_recording_head)

static const char killed[] = "the recorder was killed";

struct tracedat_walk {
	struct source *s;
	uint32_t first, nr_cpus; /* streams */
	uint32_t page_bytes;
	uint64_t at;
	/* WIRE_RECORDING_LAST_PAGES, 0 bytes: none */
	uint32_t last_cpu;
	uint64_t last_at, last_bytes;
};

static struct wire_recording_head head_at(const struct tracedat_walk *w, uint64_t at)
{
	const uint8_t *p = w->s->map + at;
	bool big = w->s->big_endian;

	return (struct wire_recording_head){get_u32(p, big), get_u32(p + 4, big),
					    get_u32(p + 8, big), get_u32(p + 12, big)};
}

static bool add_place(struct tracedat_walk *w, uint32_t cpu, uint64_t place)
{
	struct tracedat *t = w->s->priv;
	struct ring_stream *n = &t->ring.streams[w->first + cpu];
	struct stream *st = &w->s->streams[w->first + cpu];

	if (!VEC_MORE(n->places, st->nr_blocks))
		return false;
	if (!st->nr_blocks)
		n->offset = st->offset = place;
	n->places[st->nr_blocks++] = place;
	n->bytes = st->bytes += w->page_bytes;
	return true;
}

/* The pages of a record. What is there of a page that the recorder did not finish is damage. */
static bool add_pages(struct tracedat_walk *w, uint32_t cpu, uint64_t at, uint64_t bytes)
{
	if (bytes && cpu >= w->nr_cpus) {
		source_damage(w->s, at, bytes, "pages of cpu %u, but there are %u CPUs", cpu,
			      w->nr_cpus);
		return true;
	}
	for (; bytes >= w->page_bytes; bytes -= w->page_bytes, at += w->page_bytes)
		if (!add_place(w, cpu, at))
			return false;
	if (bytes)
		source_damage(w->s, at, bytes, "cpu %u: the page is cut: %llu bytes", cpu,
			      (unsigned long long)bytes);
	return true;
}

static void take_text(const struct source *s, struct blob *b, uint64_t at, uint64_t bytes)
{
	*b = (struct blob){.text = (const char *)s->map + at, .bytes = bytes};
}

static bool take_record(struct tracedat_walk *w, const struct wire_recording_head *h,
			uint64_t bytes)
{
	struct tracedat *t = w->s->priv;
	uint64_t at = w->at + HEAD;

	switch (h->kind) {
	case WIRE_RECORDING_VOID: return true;
	case WIRE_RECORDING_PAGES: return add_pages(w, h->arg, at, bytes);
	case WIRE_RECORDING_LAST_PAGES:
		w->last_cpu = h->arg;
		w->last_at = at;
		w->last_bytes = bytes;
		return true;
	case WIRE_RECORDING_OPTION:
		tracedat_option(w->s, (uint16_t)h->arg, w->s->map + at, (uint32_t)bytes, at);
		return true;
	case WIRE_RECORDING_KALLSYMS: take_text(w->s, &t->kallsyms, at, bytes); return true;
	case WIRE_RECORDING_PRINTK: take_text(w->s, &t->printk, at, bytes); return true;
	case WIRE_RECORDING_CMDLINES: take_text(w->s, &t->cmdlines, at, bytes); return true;
	default:
		source_damage(w->s, w->at, bytes, "a record of the unknown kind %u", h->kind);
		return true;
	}
}

/* No record begins here: the next place where one does. */
static uint64_t resume(const struct tracedat_walk *w)
{
	uint64_t at = w->at;

	while (w->s->map_bytes - at >= HEAD && head_at(w, at).magic != WIRE_RECORDING_MAGIC)
		at += 8;
	if (w->s->map_bytes - at < HEAD)
		at = w->s->map_bytes;
	source_damage(w->s, w->at, at - w->at, "no record of the recording begins here");
	return at;
}

static bool walk_records(struct tracedat_walk *w)
{
	struct tracedat *t = w->s->priv;

	while (w->at < w->s->map_bytes) {
		struct wire_recording_head h = {0};
		uint64_t left = w->s->map_bytes - w->at;

		if (left >= HEAD)
			h = head_at(w, w->at);
		if (h.magic != WIRE_RECORDING_MAGIC) {
			w->at = resume(w);
			continue;
		}
		left -= HEAD;
		if (h.bytes > left && h.kind != WIRE_RECORDING_PAGES)
			source_damage(w->s, w->at, h.bytes, "the file ends inside a record");
		else if (!take_record(w, &h, h.bytes < left ? h.bytes : left))
			return false;
		w->at += h.bytes < left ? HEAD + (((uint64_t)h.bytes + 7) & ~7ull) : HEAD + left;
		file_map_walked(w->s->map, w->s->map_bytes, HEAD + h.bytes, &t->walked);
	}
	return true;
}

int tracedat_open_recording(struct source *s, uint64_t from, uint32_t cpus)
{
	struct tracedat *t = s->priv;
	uint64_t align = WIRE_RECORDING_ALIGN - 1;
	struct tracedat_walk w = {.s = s,
				  .first = (uint32_t)s->nr_streams,
				  .nr_cpus = cpus,
				  .page_bytes = t->page_bytes,
				  .at = (from + align) & ~align};

	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		struct ring_stream *n = tracedat_new_stream(s, cpu);

		if (!n)
			return -ENOMEM;
		n->page_bytes = t->page_bytes;
		n->pages = s->map;
	}
	s->buffers[s->nr_buffers - 1].page_bytes = t->page_bytes;
	if (!walk_records(&w) || !add_pages(&w, w.last_cpu, w.last_at, w.last_bytes))
		return -ENOMEM;
	if (s->map_room) {
		t->walk = malloc(sizeof(w));
		if (!t->walk)
			return -ENOMEM;
		*t->walk = w;
	} else if (!s->info.ended[0]) {
		tracedat_option(s, OPT_END, (const uint8_t *)killed, sizeof(killed), from);
	}
	return 0;
}

int tracedat_grow(struct source *s)
{
	struct tracedat *t = s->priv;

	return !t->walk ? -EINVAL : walk_records(t->walk) ? 0 : -ENOMEM;
}
