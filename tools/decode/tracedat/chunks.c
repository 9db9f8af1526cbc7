/* SPDX-License-Identifier: MIT */
/* chunks.c -- the compressed chunks of a CPU in trace.dat version 7: found by their headers, or in spite of them. */
#include "decode/tracedat/tracedat.h"
#include "base/vec.h"
#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * u32 number of chunks; each u32 compressed size, u32 size, data. Only the headers are read.
 *
 * A header that leads astray would lose all chunks after it. So a chunk is believed to end where its header says if another
 * one begins there, which is known by the first bytes of its data; else by its data's own account, or where the next header
 * stands that leads on. A size that cannot be is that of the chunk before: all but the last have one size.
 */
#define HEAD	     8u
#define CHUNK_PAGES  10u /* as trace-cmd writes them */
/* Bounds on the search in a hostile file: read the file at most this many times, and a chunk's data up to here. */
#define SEARCH_TIMES 8u
#define EXTENT_MAX   (256u << 10)

struct chunk_walk {
	struct source *s;
	struct ring_stream *stream;
	struct stream *st;
	enum compression kind;
	uint32_t cpu, page_bytes;
	uint64_t at, limit; /* of the next header; of the CPU's chunks */
	uint64_t count;	    /* that the file states; UINT64_MAX: it cannot be */
	size_t cap;
};

struct chunk_head {
	uint32_t bytes, out_bytes;
};

static struct chunk_head head_at(const struct chunk_walk *w, uint64_t at)
{
	return (struct chunk_head){get_u32(w->s->map + at, w->s->big_endian),
				   get_u32(w->s->map + at + 4, w->s->big_endian)};
}

/* Data of a chunk seem to begin after a header at `at`. */
static bool begins(const struct chunk_walk *w, uint64_t at)
{
	return at < w->limit && w->limit - at > HEAD + 4 &&
	       compress_begins(w->kind, w->s->map + at + HEAD);
}

static bool possible_size(uint32_t out_bytes)
{
	return out_bytes && out_bytes <= RING_CHUNK_MAX;
}

/* A chunk seems to stand there: its data begin as they should, or its header leads to such data. */
static bool stands(const struct chunk_walk *w, uint64_t at)
{
	uint64_t left = at < w->limit ? w->limit - at : 0;
	struct chunk_head h;

	if (left <= HEAD)
		return false;
	h = head_at(w, at);
	left -= HEAD;
	return begins(w, at) || (possible_size(h.out_bytes) && h.bytes && h.bytes <= left &&
				 (h.bytes == left || begins(w, at + HEAD + h.bytes)));
}

/* The data end where the header says: another chunk stands there, or it is the last. */
static bool leads_on(const struct chunk_walk *w, uint64_t at, bool last)
{
	uint64_t left = w->limit - at - HEAD, n = head_at(w, at).bytes;

	return n && n <= left && (last || n == left || stands(w, at + HEAD + n));
}

/* The next header from `from` on that is whole and leads on; the limit if there is none, or enough was searched. */
static uint64_t next_whole(const struct chunk_walk *w, uint64_t from)
{
	struct tracedat *t = w->s->priv;
	uint64_t at = from;

	while (at < w->limit && w->limit - at > HEAD + 4 &&
	       t->searched / SEARCH_TIMES < w->s->map_bytes) {
		uint32_t out_bytes = head_at(w, at).out_bytes;

		if (begins(w, at) && possible_size(out_bytes) && out_bytes % w->page_bytes == 0 &&
		    leads_on(w, at, false))
			return at;
		at++;
		t->searched++;
	}
	return w->limit;
}

/* Where the data after a header end, by their own account; 0: they do not say. */
static uint64_t data_extent(const struct chunk_walk *w, uint64_t at)
{
	struct tracedat *t = w->s->priv;
	uint64_t left = w->limit - at - HEAD;

	if (!begins(w, at) || t->searched / SEARCH_TIMES >= w->s->map_bytes)
		return 0;
	t->searched += EXTENT_MAX;
	return compress_extent(w->kind, w->s->map + at + HEAD,
			       left < EXTENT_MAX ? left : EXTENT_MAX);
}

static bool add(struct chunk_walk *w, uint64_t at, struct chunk_head h)
{
	struct ring_stream *n = w->stream;

	if (!VEC_ROOM(n->chunks, n->nr_chunks, w->cap))
		return false;
	n->chunks[n->nr_chunks++] = (struct ring_chunk){.offset = at + HEAD,
							.bytes = h.bytes,
							.out_bytes = h.out_bytes,
							.first_block = w->st->nr_blocks};
	w->st->nr_blocks += (h.out_bytes + w->page_bytes - 1) / w->page_bytes;
	w->st->bytes += h.out_bytes;
	return true;
}

/* The size of a chunk whose header's cannot be. */
static uint32_t usual_size(const struct chunk_walk *w)
{
	return w->stream->nr_chunks ? w->stream->chunks[w->stream->nr_chunks - 1].out_bytes
				    : CHUNK_PAGES * w->page_bytes;
}

/* A header that leads nowhere or states a size that cannot be: take the chunk by its data, if they are there. */
static bool repair(struct chunk_walk *w)
{
	uint64_t at = w->at, extent;
	struct chunk_head h = head_at(w, at);
	bool data = begins(w, at);

	extent = leads_on(w, at, false) ? h.bytes : data_extent(w, at);
	w->at = at + HEAD + extent;
	if (!extent || !stands(w, w->at))
		w->at = next_whole(w, extent ? w->at : at + 1);
	if (!extent)
		extent = w->at - at - HEAD;
	if (w->at > at + HEAD + extent)
		source_damage(w->s, at + HEAD + extent, w->at - at - HEAD - extent,
			      "cpu %u: no chunk begins here", w->cpu);
	if (h.bytes == extent && possible_size(h.out_bytes))
		return add(w, at, h); /* it is the header after it that is damaged */
	source_damage(w->s, at, HEAD, "cpu %u: chunk %zu of %llu: %u bytes from %u", w->cpu,
		      w->stream->nr_chunks, (unsigned long long)w->count, h.out_bytes, h.bytes);
	if (!data || extent > UINT32_MAX)
		return true;
	h.bytes = (uint32_t)extent;
	if (!possible_size(h.out_bytes))
		h.out_bytes = usual_size(w);
	return add(w, at, h);
}

static bool walk_counted(struct chunk_walk *w)
{
	struct tracedat *t = w->s->priv;

	while (w->stream->nr_chunks < w->count && w->at < w->limit && w->limit - w->at > HEAD) {
		bool last = w->stream->nr_chunks + 1 == w->count;
		struct chunk_head h = head_at(w, w->at);

		if (!possible_size(h.out_bytes) || !leads_on(w, w->at, last)) {
			if (!repair(w))
				return false;
			continue;
		}
		if (!add(w, w->at, h))
			return false;
		w->at += HEAD + h.bytes;
		file_map_walked(w->s->map, w->s->map_bytes, HEAD + h.bytes, &t->walked);
	}
	return true;
}

static bool walk_chunks(struct chunk_walk *w)
{
	if (!walk_counted(w))
		return false;
	if (w->count == UINT64_MAX || w->stream->nr_chunks < w->count || !stands(w, w->at))
		return true;
	source_damage(w->s, w->st->offset, 4, "cpu %u: there are more than %llu compressed chunks",
		      w->cpu, (unsigned long long)w->count);
	w->count = UINT64_MAX;
	return walk_counted(w);
}

int tracedat_add_chunks(struct source *s, uint32_t cpu, uint64_t offset, uint64_t bytes,
			uint32_t page_bytes)
{
	struct tracedat *t = s->priv;
	struct chunk_walk w = {.s = s,
			       .stream = tracedat_new_stream(s, cpu),
			       .kind = t->ring.compression,
			       .cpu = cpu,
			       .page_bytes = page_bytes,
			       .at = offset + 4};

	if (!w.stream)
		return -ENOMEM;
	w.st = &s->streams[s->nr_streams - 1];
	w.stream->page_bytes = page_bytes;
	w.stream->pages = s->map;
	w.stream->offset = w.st->offset = offset;
	s->buffers[w.st->buffer].page_bytes = page_bytes;
	if (!bytes)
		return 0;
	if (offset > s->map_bytes || s->map_bytes - offset < 4) {
		source_damage(s, s->map_bytes, bytes,
			      "cpu %u: its chunks at 0x%llx lie beyond the end of the file", cpu,
			      (unsigned long long)offset);
		return 0;
	}
	w.limit = bytes > s->map_bytes - offset - 4 ? s->map_bytes : offset + 4 + bytes;
	w.count = get_u32(s->map + offset, s->big_endian);
	if (!w.count && bytes == 4)
		return 0; /* nothing happened on it */
	if (!w.count || w.count > (w.limit - w.at) / HEAD) {
		source_damage(s, offset, 4, "cpu %u: %llu compressed chunks do not fit", cpu,
			      (unsigned long long)w.count);
		w.count = UINT64_MAX;
	}
	return walk_chunks(&w) ? 0 : -ENOMEM;
}
