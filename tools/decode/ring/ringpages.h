/* SPDX-License-Identifier: MIT */
/* ringpages.h -- streams that are made of ring pages: what trace.dat and trace_pipe_raw dumps share. */
#ifndef DECODE_RINGPAGES_H
#define DECODE_RINGPAGES_H

#include "decode/compress.h"
#include "decode/source.h"

/* A run of pages that was compressed together. */
struct ring_chunk {
	uint64_t offset; /* of the compressed data in the file */
	uint32_t bytes;	 /* compressed */
	uint32_t out_bytes;
	uint64_t first_block;
	/* of its first page, 0: not read yet; written once by any thread, the same by all */
	uint64_t time;
};

/* The largest chunk that is believed: trace-cmd writes 10 pages. */
#define RING_CHUNK_MAX (64u << 20)

struct ring_stream {
	const uint8_t *pages; /* uncompressed: nr_blocks pages, the last may be cut */
	uint64_t bytes;
	uint64_t offset; /* of pages in the file */
	uint32_t page_bytes;
	struct ring_chunk *chunks;
	size_t nr_chunks;
	uint64_t *
		places; /* offset of each page in the file, if they do not lie side by side; else NULL */
};

/* Corrections of time, in the order they are made: shift (guest to host), tsc → ns, offset. */
struct ring_clock {
	uint32_t mult, shift;
	int64_t offset;
	bool scaled;		   /* mult and shift are given */
	bool any;		   /* something is to be done */
	struct ring_shift *shifts; /* by CPU, then time */
	size_t nr_shifts;
	bool interpolate;
};

struct ring_shift {
	uint32_t cpu;
	uint64_t time;
	int64_t offset;
	uint64_t scaling;
	uint32_t fraction; /* bits of it, at most 127 */
};

struct ring_set {
	struct format_page page;
	uint32_t type_offset, pid_offset;
	/* a record with both has at least this many; shorter ones have type 0 */
	uint32_t common_bytes;
	bool big;
	enum compression compression;
	struct ring_clock clock;
	struct ring_stream *streams; /* one per source stream */
	size_t nr_streams;
};

/* Set s->priv to something that begins with struct ring_set, then use these as the ops of the source: RING_OPS. */
int ring_cursor_init(struct cursor *c);
void ring_cursor_fini(struct cursor *c);
void ring_seek(struct cursor *c, uint64_t block);
bool ring_next(struct cursor *c, struct event *e);
uint32_t ring_next_run(struct cursor *c, struct event *e, uint32_t max);
uint64_t ring_block_time(struct source *s, uint32_t stream, uint64_t block);
const uint8_t *ring_page(struct cursor *c, uint64_t block, uint32_t *bytes);
void ring_tally(struct cursor *c, uint64_t block, struct tally *out);
bool ring_ahead(struct cursor *c, unsigned distance, bool expect);

/* Where common_type and common_pid lie, from the first schema that has them. */
void ring_find_common(struct source *s, struct ring_set *set);
uint64_t ring_clock_convert(const struct ring_clock *clock, uint32_t cpu, uint64_t t);
void ring_set_free(struct ring_set *set);

#define RING_CURSOR_BYTES 256u

#define RING_OPS                                                                       \
	.cursor_bytes = RING_CURSOR_BYTES, .cursor_init = ring_cursor_init,            \
	.cursor_fini = ring_cursor_fini, .seek = ring_seek, .next = ring_next,         \
	.next_run = ring_next_run, .block_time = ring_block_time, .tally = ring_tally, \
	.ahead = ring_ahead, .page = ring_page

#endif
