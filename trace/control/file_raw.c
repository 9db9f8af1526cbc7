/* SPDX-License-Identifier: MIT */
/* file_raw.c -- trace_pipe_raw, trace_pipe_packed and snapshot_raw: pages of the ring, their times in the unit of trace_clock. */
#include "control/control.h"
#include "events/lock.h"
#include "control/files.h"
#include "control/pool.h"
#include "wire/pagepack.h"

/*
 * The ring keeps ticks; whoever reads trace_pipe_raw expects the unit of trace_clock, nanoseconds. So a page is packed
 * again with new deltas. A delta may grow past its 27 bits (a clock slower than 1 GHz) and then takes a time extend more
 * than before; what no longer fits goes into the next page.
 */
struct raw_page {
	struct wire_page page; /* as the ring gave it */
	uint32_t at, end;      /* bytes of its data: next record, end */
	uint32_t lost_at;      /* where the count of lost events stood, 0: none */
	uint64_t ticks;	       /* time of the record before `at` */
	struct wire_page out;
	uint32_t out_at, out_bytes; /* of a page that is read in parts */
};

/* trace_pipe_packed: each read has whole pages, packed (wire/pagepack.h), as many as fit. */
struct raw_packed {
	struct raw_page raw;
	struct wire_packer packer;
};

/* Its bytes: head, records, and the count of lost events. */
static uint32_t raw_used(const struct wire_page *p)
{
	return WIRE_PAGE_HEADER + (uint32_t)(p->commit & WIRE_COMMIT_SIZE) +
	       (p->commit & WIRE_COMMIT_STORED ? 8 : 0);
}

static uint32_t raw_word(const struct wire_page *p, uint32_t at)
{
	uint32_t w;

	__builtin_memcpy(&w, p->data + at, 4);
	return w;
}

static void raw_put(struct raw_page *r, uint32_t *at, uint32_t word)
{
	__builtin_memcpy(r->out.data + *at, &word, 4);
	*at += 4;
}

/* One record of the source: bytes with its header, payload or not, and its time. 0: the page ends here. */
static uint32_t raw_record(struct raw_page *r, int *data, uint64_t *ticks)
{
	uint32_t word, type, delta, size;

	if (r->at + 4 > r->end)
		return 0;
	word = raw_word(&r->page, r->at);
	type = word & 31;
	delta = word >> WIRE_TYPE_LEN_BITS;
	*data = 0;
	*ticks = r->ticks;
	if (type >= 1 && type <= WIRE_TYPE_DATA_MAX) {
		*data = 1;
		*ticks = r->ticks + delta;
		size = 4 + type * 4;
	} else if (r->at + 8 > r->end) {
		return 0;
	} else if (type == WIRE_TYPE_SIZED) {
		*data = 1;
		*ticks = r->ticks + delta;
		size = 4 + raw_word(&r->page, r->at + 4);
	} else if (type == WIRE_TYPE_PADDING) {
		if (!delta)
			return 0;
		*ticks = r->ticks + delta;
		size = 4 + raw_word(&r->page, r->at + 4);
	} else {
		uint64_t high = (uint64_t)raw_word(&r->page, r->at + 4) << WIRE_DELTA_BITS;

		*ticks = type == WIRE_TYPE_EXTEND
				 ? r->ticks + high + delta
				 : (high | delta) | (r->page.time & (uint64_t)31 << 59);
		size = 8;
	}
	size = (size + 3) & ~3u;
	return size > r->end - r->at ? 0 : size;
}

static void raw_note_pid(const uint8_t *record, uint32_t bytes)
{
	struct wire_common c;

	if (bytes < sizeof(c))
		return;
	__builtin_memcpy(&c, record, sizeof(c));
	fathom_ctl_note_pid(c.pid);
}

/* Append one data record; 0 if it does not fit any more. */
static int raw_emit(struct raw_page *r, uint32_t size, uint64_t time, uint64_t *last, uint32_t *at)
{
	uint32_t word = raw_word(&r->page, r->at), head = (word & 31) ? 4 : 8;
	uint64_t delta = time - *last;
	uint32_t extend = delta > WIRE_DELTA_MAX ? 8 : 0;

	if (*at + extend + size > WIRE_PAGE_DATA)
		return 0;
	if (extend) {
		raw_put(r, at, wire_header(WIRE_TYPE_EXTEND, (uint32_t)(delta & WIRE_DELTA_MAX)));
		raw_put(r, at, (uint32_t)(delta >> WIRE_DELTA_BITS));
		delta = 0;
	}
	__builtin_memcpy(r->out.data + *at, r->page.data + r->at, size);
	raw_note_pid(r->page.data + r->at + head, size - head);
	word = wire_header(word & 31, (uint32_t)delta);
	__builtin_memcpy(r->out.data + *at, &word, 4);
	*at += size;
	*last = time;
	return 1;
}

static void raw_lost(struct raw_page *r, uint32_t used)
{
	uint64_t flags = r->page.commit & (WIRE_COMMIT_MISSED | WIRE_COMMIT_STORED);

	r->page.commit &= ~(uint64_t)(WIRE_COMMIT_MISSED | WIRE_COMMIT_STORED);
	if (!(flags & WIRE_COMMIT_STORED) || used + 8 > WIRE_PAGE_DATA)
		flags &= ~(uint64_t)WIRE_COMMIT_STORED;
	else
		__builtin_memcpy(r->out.data + used, r->page.data + r->lost_at, 8);
	r->out.commit |= flags;
}

/* Pack the next page into r->out: its bytes of data, 0 if the source is used up. */
static uint32_t raw_pack(struct raw_page *r, const struct fathom_clock *clock)
{
	uint32_t at = 0, size;
	uint64_t last = 0, ticks;
	int data;

	while ((size = raw_record(r, &data, &ticks))) {
		uint64_t time = fathom_clock_time(clock, ticks);

		if (data && !at)
			r->out.time = last = time;
		if (data && !raw_emit(r, size, time < last ? last : time, &last, &at))
			break;
		r->ticks = ticks;
		r->at += size;
	}
	if (!size)
		r->at = r->end;
	r->out.commit = at;
	if (at) {
		raw_lost(r, at);
		size = raw_used(&r->out) - WIRE_PAGE_HEADER;
		__builtin_memset(r->out.data + size, 0, WIRE_PAGE_DATA - size);
	}
	return at;
}

static struct fathom_ring *raw_ring(const struct fathom_file *f)
{
	const struct ctl_instance *tr = fathom_ctl_instance(&f->node);

	if (f->node.entry->ops != &fathom_ctl_snapshot_raw)
		return fathom_ctl_ring(tr, f->node.at);
	return fathom_ctl_has_snapshot(tr) ? fathom_ctl_spares(tr)[f->node.at] : 0;
}

/* The next page from the ring, or what is left of the last one. 1, or 0 if there is none. */
static int raw_fill(struct fathom_file *f, struct raw_page *r)
{
	struct fathom_ring *ring = raw_ring(f);

	FATHOM_LOCKED();
	for (;;) {
		int n;

		if (r->at < r->end && raw_pack(r, &fathom_ctl_instance(&f->node)->clock))
			return 1;
		n = ring ? fathom_ring_read_page(ring, &r->page, 1) : 0;
		if (n <= 0)
			return 0;
		r->at = 0;
		r->end = (uint32_t)n < WIRE_PAGE_DATA ? (uint32_t)n : WIRE_PAGE_DATA;
		r->lost_at = r->end;
		r->ticks = r->page.time;
	}
}

static int raw_open(struct fathom_file *f)
{
	fathom_ctl_instance(&f->node)->raw_open++;
	return 0;
}

static void raw_close(struct fathom_file *f)
{
	fathom_ctl_instance(&f->node)->raw_open--;
	fathom_pool_put(f->ptr);
}

/* One page per read; a shorter read gets the page in parts. */
static int raw_read(struct fathom_file *f, void *buf, size_t bytes)
{
	struct raw_page *r = f->ptr;
	uint32_t n;

	if (!r) {
		r = f->ptr = fathom_pool_get(sizeof(*r));
		if (!r)
			return -FATHOM_ENOMEM;
	}
	if (!bytes)
		return 0;
	if (r->out_at == r->out_bytes) {
		if (!raw_fill(f, r))
			return -FATHOM_EAGAIN;
		r->out_at = 0;
		r->out_bytes = WIRE_PAGE_BYTES;
	}
	n = r->out_bytes - r->out_at;
	if (n > bytes)
		n = (uint32_t)bytes;
	__builtin_memcpy(buf, (uint8_t *)&r->out + r->out_at, n);
	r->out_at += n;
	return (int)n;
}

/* Less than a page's worth of room would need another buffer: such a reader takes trace_pipe_raw. */
static int packed_read(struct fathom_file *f, void *buf, size_t bytes)
{
	struct raw_packed *p = f->ptr;
	uint32_t n = 0;

	if (bytes < WIRE_PACKED_HEAD + WIRE_PAGE_BYTES)
		return bytes ? -FATHOM_EINVAL : 0;
	if (!p) {
		p = f->ptr = fathom_pool_get(sizeof(*p));
		if (!p)
			return -FATHOM_ENOMEM;
	}
	while (bytes - n >= WIRE_PACKED_HEAD + WIRE_PAGE_BYTES && raw_fill(f, &p->raw))
		n += fathom_page_pack(&p->packer, &p->raw.out, raw_used(&p->raw.out),
				      (uint8_t *)buf + n);
	return n ? (int)n : -FATHOM_EAGAIN;
}

/* Is the ring filled as far as buffer_percent asks? The page being written counts, as in Linux; 0: any record does. */
static int raw_filled(struct fathom_ring *ring, uint32_t percent)
{
	struct fathom_ring_stats st;

	fathom_ring_stats(ring, &st);
	return st.entries &&
	       (uint64_t)st.pages * 100 >= (uint64_t)percent * fathom_ring_pages(ring);
}

/* Readable when a part of a page is left, or the ring is filled enough: 6.1 says so always, later kernels do this. */
static int raw_poll(struct fathom_file *f)
{
	const struct raw_page *r = f->ptr;
	struct fathom_ring *ring = raw_ring(f);
	uint32_t percent = fathom_ctl_instance(&f->node)->buffer_percent;

	if ((r && (r->at < r->end || r->out_at < r->out_bytes)) ||
	    (ring && raw_filled(ring, percent)))
		return FATHOM_POLL_IN | FATHOM_POLL_OUT;
	return FATHOM_POLL_OUT;
}

const struct ctl_file_ops fathom_ctl_raw = {
	.open = raw_open, .read = raw_read, .poll = raw_poll, .close = raw_close, .stream = 1};
const struct ctl_file_ops fathom_ctl_packed = {
	.open = raw_open, .read = packed_read, .poll = raw_poll, .close = raw_close, .stream = 1};
const struct ctl_file_ops fathom_ctl_snapshot_raw = {
	.open = raw_open, .read = raw_read, .poll = raw_poll, .close = raw_close, .stream = 1};
