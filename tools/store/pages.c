/* SPDX-License-Identifier: MIT */
/* pages.c -- the ring pages of a stream for a writer: copied unchanged, or rebuilt from events. */
#include "store/pages.h"
#include "wire/ringpage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool pages_copied(const struct source *s, const struct scan_choice *f)
{
	if (!s->ops->page || f->from || f->to != UINT64_MAX || f->types || f->filter ||
	    !s->nr_buffers)
		return false;
	/* Records of slim events are longer than their bytes in the pages. */
	if (s->slim)
		return false;
	/* trace.dat has one page size; buffers with several sizes are rebuilt. */
	for (size_t i = 1; i < s->nr_buffers; i++)
		if (s->buffers[i].nr_streams &&
		    s->buffers[i].page_bytes != s->buffers[0].page_bytes)
			return false;
	return s->buffers[0].page_bytes != 0;
}

uint32_t pages_size(const struct source *s, const struct scan_choice *f)
{
	return pages_copied(s, f) ? s->buffers[0].page_bytes : PAGES_BYTES;
}

/* ---- copying ---- */

static int copy(struct source *s, uint32_t stream, int (*put)(void *, const void *, uint32_t),
		void *arg)
{
	struct cursor *c = cursor_open(s, stream);
	uint32_t size = s->buffers[s->streams[stream].buffer].page_bytes, n;
	int err = c ? 0 : -ENOMEM;

	for (uint64_t i = 0; !err && i < s->streams[stream].nr_blocks; i++) {
		const uint8_t *p = s->ops->page(c, i, &n);

		/* A page in which the file ended is incomplete and is omitted from the new file. */
		if (p && n == size)
			err = put(arg, p, size);
	}
	cursor_close(c);
	return err;
}

/* ---- making ---- */

struct maker {
	struct source *s;
	uint8_t page[PAGES_BYTES];
	uint32_t used; /* of the data */
	uint32_t header, commit_bytes;
	bool open;
	uint64_t time;
	uint64_t lost;
	int (*put)(void *, const void *, uint32_t);
	void *arg;
	int err;
};

static void store(uint8_t *p, uint64_t v, uint32_t n, bool big)
{
	for (uint32_t i = 0; i < n; i++)
		p[big ? n - 1 - i : i] = (uint8_t)(v >> (8 * i));
}

/* Commit word, and after the data the number of lost events if there is room for it. */
static void flush_page(struct maker *m)
{
	uint64_t commit = m->used;
	uint32_t room = PAGES_BYTES - m->header - m->used;

	if (!m->open)
		return;
	if (m->lost) {
		commit |= WIRE_COMMIT_MISSED;
		if (m->lost != LOST_UNKNOWN && room >= m->commit_bytes) {
			commit |= WIRE_COMMIT_STORED;
			store(m->page + m->header + m->used, m->lost, m->commit_bytes,
			      m->s->big_endian);
		}
	}
	store(m->page + 8, commit, m->commit_bytes, m->s->big_endian);
	if (!m->err)
		m->err = m->put(m->arg, m->page, PAGES_BYTES);
	m->open = false;
	m->lost = 0;
}

static void open_page(struct maker *m, uint64_t time)
{
	memset(m->page, 0, sizeof(m->page));
	store(m->page, time, 8, m->s->big_endian);
	m->time = time;
	m->used = 0;
	m->open = true;
}

static void word(struct maker *m, uint32_t v)
{
	store(m->page + m->header + m->used, v, 4, m->s->big_endian);
	m->used += 4;
}

static uint32_t head(const struct maker *m, uint32_t type_len, uint32_t delta)
{
	return m->s->big_endian ? type_len << WIRE_DELTA_BITS | delta
				: wire_header(type_len, delta);
}

/* Bytes of a record in a page: header, length word if it is long, payload in words. */
static uint32_t record_bytes(uint32_t size)
{
	uint32_t words = (size + 3) / 4;

	return 4 + (words > WIRE_TYPE_DATA_MAX || !words ? 4 : 0) + words * 4;
}

/* False: the event is too large for any page. */
static bool add_event(struct maker *m, const struct event *e)
{
	uint32_t need = record_bytes(e->size), words = (e->size + 3) / 4;
	uint32_t room = PAGES_BYTES - m->header - m->commit_bytes; /* the number lost fits after */
	uint64_t delta;

	if (need + 8 > room || e->size > PAGES_BYTES)
		return false;
	if (m->open && (e->lost || e->time < m->time || m->used + need + 8 > room))
		flush_page(m);
	if (!m->open)
		open_page(m, e->time);
	if (e->lost)
		m->lost = e->lost;
	delta = e->time - m->time;
	if (delta > WIRE_DELTA_MAX) {
		word(m, head(m, WIRE_TYPE_EXTEND, (uint32_t)(delta & WIRE_DELTA_MAX)));
		word(m, (uint32_t)(delta >> WIRE_DELTA_BITS));
		delta = 0;
	}
	if (words > WIRE_TYPE_DATA_MAX || !words) {
		word(m, head(m, WIRE_TYPE_SIZED, (uint32_t)delta));
		word(m, words * 4 + 4);
	} else {
		word(m, head(m, words, (uint32_t)delta));
	}
	memcpy(m->page + m->header + m->used, e->data, e->size);
	m->used += words * 4;
	m->time = e->time;
	return true;
}

static int make(struct source *s, uint32_t stream, const struct scan_choice *f,
		int (*put)(void *, const void *, uint32_t), void *arg, uint64_t *too_large)
{
	const struct scan_options one = {
		.order = SCAN_BY_STREAM, .only_stream = true, .stream = stream};
	struct maker *m = calloc(1, sizeof(*m));
	struct scan *sc = m ? scan_open(s, f, &one) : NULL;
	const struct event *given;
	uint64_t lost = 0;
	bool wanted;
	int err;

	if (!sc) {
		free(m);
		return -ENOMEM;
	}
	m->s = s;
	m->put = put;
	m->arg = arg;
	m->commit_bytes = s->long_bytes == 4 ? 4 : 8;
	m->header = 8 + m->commit_bytes;
	while (!m->err && (given = scan_next_any(sc, &wanted))) {
		struct event e = *given;

		if (e.lost)
			lost = e.lost;
		if (!wanted)
			continue;
		e.lost = lost;
		lost = 0;
		*too_large += !add_event(m, &e);
	}
	flush_page(m);
	err = m->err;
	scan_close(sc);
	free(m);
	return err;
}

int pages_each(struct source *s, uint32_t stream, const struct scan_choice *f,
	       int (*put)(void *arg, const void *page, uint32_t bytes), void *arg,
	       uint64_t *too_large)
{
	if (!scan_stream(f, s, stream))
		return 0;
	return pages_copied(s, f) ? copy(s, stream, put, arg)
				  : make(s, stream, f, put, arg, too_large);
}
