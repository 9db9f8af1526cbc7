/* SPDX-License-Identifier: MIT */
/* ringpages.c -- walk ring pages: bounds-checked, compressed or not, either byte order. */
#include "decode/ring/ringpages.h"
#include "decode/slim.h"
#include "decode/ring/ringchunks.h"
#include "base/bytes.h"
#include "base/vec.h"
#include "wire/ringpage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * Invariants:
 *   P1  page <= at <= end, and end is inside the page's bytes: the commit word is checked before anything is read.
 *   P2  A record is given only if all its bytes lie before end; else the rest of the page is damage.
 *   P3  The window of chunks belongs to the cursor, so event data stays valid until its next call, whatever others do.
 */
struct ring_cursor {
	struct cursor c; /* first: a cursor is one of these */
	const struct ring_set *set;
	struct ring_stream *stream;
	const uint8_t *at, *end; /* in the page; at == end: take the next page */
	uint64_t time;		 /* raw, of the last header */
	uint64_t lost;		 /* to be reported with the next event */
	uint64_t page_offset;	 /* of the page (or its chunk) in the file */
	const uint8_t *page;
	uint64_t load;		    /* block to load next */
	struct ring_window *window; /* NULL: nothing is compressed */
	const uint8_t *chunk;	    /* number chunk_number - 1 */
	uint64_t chunk_number;	    /* 0: none */
	const uint8_t *kept,
		*seen; /* the part of the file that was walked and not given back; NULL: nothing yet */
	uint8_t *slim; /* room for the records of a run that slim_expand() makes */
	uint32_t nr_slim;
};

_Static_assert(sizeof(struct ring_cursor) <= RING_CURSOR_BYTES, "ops.cursor_bytes is too small");

/* The top bits of an absolute time stamp are not stored: they are those of the time before it. */
#define STAMP_BITS 59

int ring_cursor_init(struct cursor *c)
{
	struct ring_cursor *r = (struct ring_cursor *)c;

	r->set = c->source->priv;
	r->stream = &r->set->streams[c->stream];
	if (r->stream->nr_chunks)
		r->window = ring_window_new(c->source, r->set, c->stream);
	return r->stream->nr_chunks && !r->window ? -ENOMEM : 0;
}

void ring_seek(struct cursor *c, uint64_t block)
{
	struct ring_cursor *r = (struct ring_cursor *)c;

	r->load = block;
	r->at = r->end = NULL;
	r->lost = 0;
	c->next = (struct position){block, 0};
}

/* ---- pages ---- */

#define DROP_TOTAL \
	(64u       \
	 << 20) /* smaller files are left in memory; of a larger one all streams hold so much together */
#define DROP_BYTES (8u << 20)

static void give_back(const uint8_t *from, const uint8_t *to)
{
	uintptr_t first = ((uintptr_t)from + 4095) & ~(uintptr_t)4095;
	uintptr_t end = (uintptr_t)to & ~(uintptr_t)4095;

	if (end > first)
		madvise((void *)first, end - first, MADV_DONTNEED);
}

/*
 * A file larger than memory is walked without holding it: what was read is released in large pieces, and what is left
 * when the walk goes on elsewhere. The pages stay in the page cache, so one who goes back there pays a minor fault, no more.
 */
static void drop_behind(struct ring_cursor *r, const uint8_t *at)
{
	ptrdiff_t hold = DROP_TOTAL / (ptrdiff_t)r->c.source->nr_streams;

	if (r->c.source->map_bytes < DROP_TOTAL)
		return;
	if (hold > (ptrdiff_t)DROP_BYTES)
		hold = DROP_BYTES;
	if (!r->kept || at < r->seen || at - r->seen > (ptrdiff_t)DROP_BYTES) {
		if (r->kept)
			give_back(r->kept, r->seen);
		r->kept = at;
	} else if (at - r->kept >= hold) {
		give_back(r->kept, at);
		r->kept = at;
	}
	r->seen = at;
}

void ring_cursor_fini(struct cursor *c)
{
	struct ring_cursor *r = (struct ring_cursor *)c;

	if (r->kept)
		give_back(r->kept, r->seen);
	ring_window_free(r->window);
	free(r->slim);
}

/* Make chunk n the cursor's. False: out of memory. */
static bool load_chunk(struct ring_cursor *r, size_t n)
{
	const uint8_t *chunk;

	if (r->chunk_number == n + 1)
		return true;
	drop_behind(r, r->c.source->map + r->stream->chunks[n].offset);
	chunk = ring_window_chunk(r->window, n);
	if (chunk) {
		r->chunk = chunk;
		r->chunk_number = n + 1;
	}
	return chunk != NULL;
}

bool ring_ahead(struct cursor *c, unsigned distance, bool expect)
{
	struct ring_cursor *r = (struct ring_cursor *)c;

	if (!r->window)
		return false;
	if (!expect)
		return ring_window_ahead(r->window, distance);
	ring_window_widen(r->window, distance + 1);
	return true;
}

/* A page that is not compressed. */
static const uint8_t *page_in_file(const struct ring_stream *t, uint64_t block)
{
	return t->pages + (t->places ? t->places[block] : block * t->page_bytes);
}

/* The bytes of a page, and how many of it there are; NULL at the end of the stream. */
static const uint8_t *find_page(struct ring_cursor *r, uint64_t block, uint32_t *bytes)
{
	const struct ring_stream *t = r->stream;
	uint32_t page_bytes = t->page_bytes;
	uint64_t left;

	if (block >= r->c.source->streams[r->c.stream].nr_blocks)
		return NULL;
	if (t->nr_chunks) {
		size_t n = ring_chunk_of(t, block);
		uint64_t in = (block - t->chunks[n].first_block) * page_bytes;

		if (in >= t->chunks[n].out_bytes || !load_chunk(r, n))
			return NULL;
		left = t->chunks[n].out_bytes - in;
		*bytes = left < page_bytes ? (uint32_t)left : page_bytes;
		r->page_offset = t->chunks[n].offset;
		return r->chunk + in;
	}
	if (t->places) {
		*bytes = page_bytes;
		r->page_offset = t->places[block];
	} else {
		left = t->bytes - block * page_bytes;
		*bytes = left < page_bytes ? (uint32_t)left : page_bytes;
		r->page_offset = t->offset + block * page_bytes;
	}
	if (block % 64 == 0)
		drop_behind(r, page_in_file(t, block));
	return page_in_file(t, block);
}

static uint64_t missed(const struct ring_cursor *r, uint64_t commit, const uint8_t *behind,
		       uint32_t left)
{
	uint32_t n = r->set->page.commit_size;
	uint64_t count;

	if (!(commit & WIRE_COMMIT_MISSED))
		return 0;
	if (!(commit & WIRE_COMMIT_STORED) || left < n)
		return LOST_UNKNOWN;
	count = n == 8 ? get_u64(behind, r->set->big) : get_u32(behind, r->set->big);
	return count ? count : LOST_UNKNOWN;
}

/* Take the next page that can be read; keeps P1. False at the end of the stream. */
static bool next_page(struct ring_cursor *r)
{
	const struct format_page *f = &r->set->page;
	const uint8_t *p;
	uint32_t bytes, used, room;
	uint64_t commit, lost;

	for (;;) {
		p = find_page(r, r->load, &bytes);
		if (!p)
			return false;
		r->c.next = (struct position){r->load++, 0};
		if (bytes < f->data_offset) {
			source_damage(r->c.source, r->page_offset, bytes,
				      "cpu %u: the page is cut: %u bytes", r->c.cpu, bytes);
			continue;
		}
		commit = f->commit_size == 8 ? get_u64(p + f->commit_offset, r->set->big)
					     : get_u32(p + f->commit_offset, r->set->big);
		used = (uint32_t)(commit & WIRE_COMMIT_SIZE);
		room = bytes - f->data_offset;
		if (used >
		    room) { /* header_page does not say: instances may have other sub-buffers */
			source_damage(r->c.source, r->page_offset, bytes,
				      "cpu %u: the page claims %u used bytes, but has %u", r->c.cpu,
				      used, room);
			continue;
		}
		r->page = p;
		r->at = p + f->data_offset;
		r->end = r->at + used;
		r->time = get_u64(p + f->time_offset, r->set->big);
		lost = missed(r, commit, r->end, room - used);
		if (lost)
			r->lost = lost;
		return true;
	}
}

/* ---- records ---- */

static inline void split(uint32_t word, bool big, uint32_t *type_len, uint32_t *delta)
{
	if (big) {
		*type_len = word >> WIRE_DELTA_BITS;
		*delta = word & WIRE_DELTA_MAX;
	} else {
		*type_len = word & 31;
		*delta = word >> WIRE_TYPE_LEN_BITS;
	}
}

static inline uint64_t stamp(uint64_t before, uint64_t t)
{
	uint64_t msb = before & ~((1ULL << STAMP_BITS) - 1);

	t |= msb;
	return msb && t < before ? t + (1ULL << STAMP_BITS) : t;
}

/*
 * The next data record of the page: its payload and size, NULL at its end. Inlined where many are read, with `big` known to
 * the compiler. Sets *bad where a record runs over the end (P2).
 */
static inline __attribute__((always_inline)) const uint8_t *next_record(const uint8_t **at,
									const uint8_t *end,
									bool big, uint64_t *time,
									uint32_t *size, bool *bad)
{
	const uint8_t *p = *at;

	while (end - p >= 4) {
		uint32_t type_len, delta, n;

		split(get_u32(p, big), big, &type_len, &delta);
		p += 4;
		if (type_len - 1 < WIRE_TYPE_DATA_MAX) {
			n = type_len * 4;
			if ((size_t)(end - p) < n)
				break;
			*time += delta;
			*size = n;
			*at = p + n;
			return p;
		}
		if (type_len == WIRE_TYPE_PADDING && !delta) {
			*at = end;
			return NULL;
		}
		if (end - p < 4)
			break;
		n = get_u32(p, big);
		if (type_len == WIRE_TYPE_EXTEND) {
			*time += ((uint64_t)n << WIRE_DELTA_BITS) + delta;
			p += 4;
		} else if (type_len == WIRE_TYPE_STAMP) {
			*time = stamp(*time, ((uint64_t)n << WIRE_DELTA_BITS) + delta);
			p += 4;
		} else if (type_len == WIRE_TYPE_PADDING) {
			if (n > (size_t)(end - p))
				break;
			*time += delta;
			p += n;
		} else {
			if (n < 4 || n > (size_t)(end - p))
				break;
			*time += delta;
			*size = n - 4;
			n = (n + 3) & ~3u;
			*at = (size_t)(end - p) < n ? end : p + n;
			return p + 4;
		}
	}
	*bad = p != end;
	*at = end;
	return NULL;
}

static void bad_record(struct ring_cursor *r, const uint8_t *where)
{
	uint64_t in = (uint64_t)(where - r->page);

	source_damage(r->c.source, r->stream->nr_chunks ? r->page_offset : r->page_offset + in,
		      (uint64_t)(r->end - where),
		      "cpu %u: a record at 0x%" PRIx64
		      " of its page extends past the end of the page",
		      r->c.cpu, in);
}

/* The event whose record was found at `data`. */
static inline void tell(struct ring_cursor *r, struct event *e, const uint8_t *data, uint32_t size,
			uint64_t time, bool big)
{
	const struct ring_set *set = r->set;

	e->data = data;
	e->size = size;
	e->time = time;
	if (__builtin_expect(set->clock.any, 0))
		e->time = ring_clock_convert(&set->clock, r->c.cpu, time);
	e->stream = r->c.stream;
	e->cpu = r->c.cpu;
	e->type = 0;
	e->pid = 0;
	if (__builtin_expect(size >= set->common_bytes, 1)) {
		e->type = get_u16(data + set->type_offset, big);
		e->pid = (int32_t)get_u32(data + set->pid_offset, big);
	}
	e->lost = 0;
	e->offset = r->page_offset;
	if (!r->window)
		e->offset += (uint64_t)(data - r->page);
}

/* The next events of the page; 0 at its end, whether by its size or because the rest is damaged. */
static inline __attribute__((always_inline)) uint32_t page_run(struct ring_cursor *r,
							       struct event *e, uint32_t max,
							       bool big)
{
	const uint8_t *at = r->at, *from = at, *data;
	struct position place = r->c.next;
	uint64_t time = r->time;
	uint32_t n = 0, size;
	bool bad = false;

	while (n < max && (data = next_record(&at, r->end, big, &time, &size, &bad))) {
		tell(r, &e[n], data, size, time, big);
		e[n].at = place;
		place.skip++;
		n++;
		from = at;
	}
	if (bad)
		bad_record(r, from);
	r->at = at;
	r->time = time;
	r->c.next = place;
	if (n) {
		e[0].lost = r->lost;
		r->lost = 0;
	}
	return n;
}

/* Out of memory the records stay as they are, which the format then says is too short. */
static __attribute__((noinline)) void expand(struct ring_cursor *r, struct event *e, uint32_t n)
{
	if (n > r->nr_slim) {
		if (!vec_resize(&r->slim, n, SLIM_BYTES))
			return;
		r->nr_slim = n;
	}
	for (uint32_t i = 0; i < n; i++)
		slim_expand(r->c.source, &e[i], r->slim + (size_t)i * SLIM_BYTES);
}

uint32_t ring_next_run(struct cursor *c, struct event *e, uint32_t max)
{
	struct ring_cursor *r = (struct ring_cursor *)c;
	uint32_t n;

	do
		n = r->set->big ? page_run(r, e, max, true) : page_run(r, e, max, false);
	while (!n && next_page(r));
	if (__builtin_expect(c->source->slim != NULL, 0))
		expand(r, e, n);
	return n;
}

bool ring_next(struct cursor *c, struct event *e)
{
	return ring_next_run(c, e, 1);
}

uint64_t ring_block_time(struct source *s, uint32_t stream, uint64_t block)
{
	const struct ring_set *set = s->priv;
	struct ring_stream *t = &set->streams[stream];
	uint64_t time = 0;

	if (t->nr_chunks) {
		struct ring_chunk *k = &t->chunks[ring_chunk_of(t, block)];

		time = __atomic_load_n(&k->time, __ATOMIC_RELAXED);
		if (!time) {
			struct cursor *c = cursor_open(s, stream);

			if (c)
				ring_seek(c, k->first_block);
			if (c && next_page((struct ring_cursor *)c))
				time = ((struct ring_cursor *)c)->time;
			cursor_close(c);
			__atomic_store_n(&k->time, time, __ATOMIC_RELAXED);
		}
	} else if (t->places || t->bytes - block * t->page_bytes >= set->page.time_offset + 8) {
		time = get_u64(page_in_file(t, block) + set->page.time_offset, set->big);
	}
	return set->clock.any ? ring_clock_convert(&set->clock, s->streams[stream].cpu, time)
			      : time;
}

const uint8_t *ring_page(struct cursor *c, uint64_t block, uint32_t *bytes)
{
	return find_page((struct ring_cursor *)c, block, bytes);
}

/* ---- counting ---- */

static inline void scan_page(struct ring_cursor *r, struct tally *out, bool big)
{
	const struct ring_set *set = r->set;
	uint32_t type_at = set->type_offset, pid_at = set->pid_offset, size;
	uint64_t time = r->time, max = time, n = 0, run = 0;
	const uint8_t *data, *from;
	int32_t run_pid = 0;
	bool bad = false;

	for (;;) {
		int32_t pid = 0;
		uint32_t type = 0;

		from = r->at;
		data = next_record(&r->at, r->end, big, &time, &size, &bad);
		if (!data)
			break;
		if (size >= set->common_bytes) {
			type = get_u16(data + type_at, big);
			pid = (int32_t)get_u32(data + pid_at, big);
		}
		out->by_type[type < SOURCE_ID_FAST ? type : 0]++; /* types of 16 bits all are */
		if (pid != run_pid) {
			if (run && out->pids)
				pid_counts_add(out->pids, run_pid, run);
			run_pid = pid;
			run = 0;
		}
		run++;
		n++;
		if (time > max)
			max = time;
	}
	if (bad)
		bad_record(r, from);
	if (run && out->pids)
		pid_counts_add(out->pids, run_pid, run);
	r->time = time;
	r->c.next.skip = n;
	if (max > out->max_time || !out->nr_events)
		out->max_time = max;
	out->nr_events += n;
}

/* The first event's time: the header words before the first data record count. */
static bool first_time(struct ring_cursor *r, uint64_t *time)
{
	const uint8_t *at = r->at;
	uint32_t size;
	bool bad;

	*time = r->time;
	return next_record(&at, r->end, r->set->big, time, &size, &bad) != NULL;
}

void ring_tally(struct cursor *c, uint64_t block, struct tally *out)
{
	struct ring_cursor *r = (struct ring_cursor *)c;
	const struct ring_clock *clock = &r->set->clock;
	uint64_t first, before = out->nr_events, last = out->last_time, max = out->max_time;

	ring_seek(c, block);
	if (!next_page(r) || c->next.block != block || !first_time(r, &first))
		return;
	first = clock->any ? ring_clock_convert(clock, c->cpu, first) : first;
	if (r->lost) {
		struct loss l = {.stream = c->stream,
				 .from = before ? last : first,
				 .to = first,
				 .lost = r->lost};

		losses_add(out->losses, &l);
	}
	tally_first(out, first);
	if (r->set->big)
		scan_page(r, out, true);
	else
		scan_page(r, out, false);
	out->last_time = r->time;
	if (clock->any) {
		out->last_time = ring_clock_convert(clock, c->cpu, r->time);
		out->max_time = !before || out->last_time > max ? out->last_time : max;
	}
}
