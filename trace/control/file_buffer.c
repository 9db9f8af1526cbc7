/* SPDX-License-Identifier: MIT */
/* file_buffer.c -- sizes, CPU mask and statistics of the rings. */
#include "control/control.h"
#include "control/files.h"
#include "control/pool.h"
#include "control/str.h"
#include "wire/text_line.h"

/* Linux counts the data bytes of a page only. */
static uint64_t size_kb(uint32_t pages)
{
	return (uint64_t)pages * WIRE_PAGE_DATA >> 10;
}

static uint64_t size_of(struct fathom_file *f, uint32_t cpu)
{
	return size_kb(fathom_ring_pages(fathom_ctl_ring(fathom_ctl_instance(&f->node), cpu)));
}

static int buffer_size_show(struct fathom_file *f, struct fathom_text *t)
{
	uint64_t kb = size_of(f, 0);

	for (uint32_t cpu = 1; cpu < fathom_core.nr_cpus; cpu++)
		if (size_of(f, cpu) != kb) {
			fathom_text_str(t, "X\n");
			return 0;
		}
	fathom_text_u64(t, kb, 0, ' ');
	fathom_text_char(t, '\n');
	return 0;
}

static int cpu_buffer_size_show(struct fathom_file *f, struct fathom_text *t)
{
	fathom_text_u64(t, size_of(f, f->node.at), 0, ' ');
	fathom_text_char(t, '\n');
	return 0;
}

#define SUBBUF_KB ((WIRE_PAGE_BYTES + 1023) / 1024)

static int buffer_total_show(struct fathom_file *f, struct fathom_text *t)
{
	uint64_t kb = 0;

	for (uint32_t cpu = 0; cpu < fathom_core.nr_cpus; cpu++)
		kb += size_of(f, cpu);
	fathom_text_u64(t, kb, 0, ' ');
	fathom_text_char(t, '\n');
	return 0;
}

/* Pages have one size, which is the only one that can be set. */
static int subbuf_size_show(struct fathom_file *f, struct fathom_text *t)
{
	(void)f;
	fathom_text_u64(t, SUBBUF_KB, 0, ' ');
	fathom_text_char(t, '\n');
	return 0;
}

static int subbuf_size_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	uint64_t v;
	int err = fathom_ctl_write_number(buf, bytes, &v);

	(void)f;
	return err ? err : v == SUBBUF_KB ? (int)bytes : -FATHOM_EINVAL;
}

const struct ctl_file_ops fathom_ctl_subbuf_size = {.show = subbuf_size_show,
						    .write = subbuf_size_write};

struct buffer_resize {
	struct ctl_instance *tr;
	uint32_t first, last, pages;
	int err;
};

static struct fathom_ring *buffer_spare(const struct ctl_instance *tr, uint32_t cpu)
{
	return fathom_ctl_has_snapshot(tr) ? fathom_ctl_spares(tr)[cpu] : 0;
}

/* The snapshot's ring follows, as far as it can: after the next exchange it is the live one. */
static void buffer_resize_by(struct buffer_resize *r,
			     int (*resize)(struct fathom_ring *ring, uint32_t pages))
{
	r->err = 0;
	for (uint32_t cpu = r->first; cpu <= r->last && !r->err; cpu++) {
		struct fathom_ring *spare = buffer_spare(r->tr, cpu);
		uint32_t most = spare ? fathom_ring_pages_max(spare) : 0;

		r->err = resize(fathom_ctl_ring(r->tr, cpu), r->pages);
		if (spare && !r->err)
			r->err = resize(spare, r->pages < most ? r->pages : most);
	}
}

static void buffer_resize_stopped(void *arg)
{
	buffer_resize_by(arg, fathom_ring_resize);
}

static int buffer_seize(struct fathom_ring *ring, uint32_t pages)
{
	(void)pages;
	return fathom_ring_seize(ring);
}

/* The same pages again: a ring that was seized goes on where it was, any other is left alone. */
static int buffer_let_go(struct fathom_ring *ring, uint32_t pages)
{
	(void)pages;
	fathom_ring_resize_seized(ring, fathom_ring_pages(ring));
	return 0;
}

#define BUFFER_TRIES \
	100000 /* an open reservation ends in microseconds, but in a process that is preempted */

/* All CPUs see what was stored before. One CPU does by itself. */
static void buffer_settle(void)
{
	if (fathom_core.config.sync)
		fathom_core.config.sync();
}

/*
 * No writer may run meanwhile: the port stops the CPUs, or, where it cannot, the rings are held for the moment and open
 * reservations are waited for. With several CPUs and neither of the two nobody knows when the last writer has seen that
 * its ring is held: -ENOSYS. tracing_on is another switch, so triggers may turn it as they like.
 */
static int buffer_resize(struct ctl_instance *tr, uint32_t first, uint32_t last, uint32_t pages)
{
	struct buffer_resize r = {tr, first, last, pages, 0};

	for (uint32_t cpu = first; cpu <= last; cpu++)
		if (pages > fathom_ring_pages_max(fathom_ctl_ring(tr, cpu)))
			return -FATHOM_ENOMEM;
	if (fathom_core.config.stop_cpus) {
		fathom_core.config.stop_cpus(buffer_resize_stopped, &r);
		return r.err;
	}
	if (fathom_core.nr_cpus > 1 && !fathom_core.config.sync)
		return -FATHOM_ENOSYS;
	for (uint32_t cpu = first; cpu <= last; cpu++) {
		fathom_ring_hold(fathom_ctl_ring(tr, cpu), 1);
		if (buffer_spare(tr, cpu)) /* a record may still be on its way into it */
			fathom_ring_hold(buffer_spare(tr, cpu), 1);
	}
	buffer_settle();
	for (int i = 0; i < BUFFER_TRIES; i++) {
		buffer_resize_by(&r, buffer_seize);
		if (!r.err) {
			buffer_settle();
			buffer_resize_by(&r, fathom_ring_resize_seized);
		}
		if (r.err != -FATHOM_EBUSY)
			break;
		buffer_settle();
	}
	if (r.err) {
		int err = r.err;

		buffer_resize_by(&r, buffer_let_go);
		r.err = err;
	}
	buffer_settle();
	fathom_ctl_hold_update(tr);
	return r.err;
}

static int size_write(struct fathom_file *f, const char *buf, size_t bytes, uint32_t first,
		      uint32_t last)
{
	struct ctl_instance *tr = fathom_ctl_instance(&f->node);
	uint64_t kb, pages;
	int err = fathom_ctl_write_number(buf, bytes, &kb);

	if (err)
		return err;
	if (!kb)
		return -FATHOM_EINVAL;
	if (kb > 0xffffffffu || tr->trace_open)
		return -FATHOM_ENOMEM;
	pages = ctl_div((kb << 10) + WIRE_PAGE_DATA - 1, WIRE_PAGE_DATA);
	if (pages < FATHOM_RING_PAGES_MIN)
		pages = FATHOM_RING_PAGES_MIN;
	if (pages > FATHOM_RING_PAGES_MAX)
		return -FATHOM_ENOMEM;
	err = buffer_resize(tr, first, last, (uint32_t)pages);
	return err ? err : (int)bytes;
}

static int buffer_size_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	return size_write(f, buf, bytes, 0, fathom_core.nr_cpus - 1);
}

static int cpu_buffer_size_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	return size_write(f, buf, bytes, f->node.at, f->node.at);
}

const struct ctl_file_ops fathom_ctl_buffer_size = {.show = buffer_size_show,
						    .write = buffer_size_write};
const struct ctl_file_ops fathom_ctl_cpu_buffer_size = {.show = cpu_buffer_size_show,
							.write = cpu_buffer_size_write};
const struct ctl_file_ops fathom_ctl_buffer_total = {.show = buffer_total_show};

/* Writing does nothing; closing shrinks the rings to the least. */
static int free_buffer_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	(void)f;
	(void)buf;
	return (int)bytes;
}

static void free_buffer_close(struct fathom_file *f)
{
	struct ctl_instance *tr = fathom_ctl_instance(&f->node);

	if (fathom_ctl_option(tr, CTL_OPT_DISABLE_ON_FREE))
		fathom_ctl_recording(tr, 0);
	buffer_resize(tr, 0, fathom_core.nr_cpus - 1, FATHOM_RING_PAGES_MIN);
}

const struct ctl_file_ops fathom_ctl_free_buffer = {.write = free_buffer_write,
						    .close = free_buffer_close};

/* One hex digit per four CPUs, as `%*pb` prints it; a comma every 32. */
static int cpumask_show(struct fathom_file *f, struct fathom_text *t)
{
	uint64_t mask = fathom_ctl_instance(&f->node)->cpu_mask;
	int digits = (int)(fathom_core.nr_cpus + 3) / 4;

	for (int i = digits - 1; i >= 0; i--) {
		fathom_text_hex(t, mask >> i * 4 & 15, 0, ' ');
		if (i == 8)
			fathom_text_char(t, ',');
	}
	fathom_text_char(t, '\n');
	return 0;
}

static int cpumask_parse(const char *s, size_t n, uint64_t *mask)
{
	uint32_t nr = fathom_core.nr_cpus;

	*mask = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t digit;

		if (s[i] == ',')
			continue;
		if (fathom_ctl_number(s + i, 1, 16, &digit))
			return -FATHOM_EINVAL;
		if (*mask >> 60)
			return -FATHOM_EOVERFLOW;
		*mask = *mask << 4 | digit;
	}
	return nr < 64 && *mask >> nr ? -FATHOM_EOVERFLOW : 0;
}

static int cpumask_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	struct ctl_instance *tr = fathom_ctl_instance(&f->node);
	const char *s = buf;
	size_t n = bytes;
	uint64_t mask;
	int err;

	ctl_trim(&s, &n);
	err = cpumask_parse(s, n, &mask);
	if (err)
		return err;
	tr->cpu_mask = mask;
	fathom_ctl_hold_update(tr);
	return (int)bytes;
}

const struct ctl_file_ops fathom_ctl_cpumask = {.show = cpumask_show, .write = cpumask_write};

static void stats_number(struct fathom_text *t, const char *name, uint64_t v)
{
	fathom_text_str(t, name);
	fathom_text_str(t, ": ");
	fathom_text_u64(t, v, 0, ' ');
	fathom_text_char(t, '\n');
}

static void stats_time(struct fathom_text *t, const char *name, const struct fathom_clock *clock,
		       uint64_t ticks)
{
	uint64_t time = ticks ? fathom_clock_time(clock, ticks) : 0; /* 0: no record */

	if (clock->unit != FATHOM_CLOCK_NS) {
		stats_number(t, name, time);
		return;
	}
	fathom_text_str(t, name);
	fathom_text_str(t, ": ");
	fathom_text_time(t, time);
	fathom_text_char(t, '\n');
}

/* A page that was read or cleared in part begins earlier than the oldest record there is. */
static uint64_t stats_oldest(struct fathom_ring *r, uint64_t page_time)
{
	struct wire_page *scratch = page_time ? fathom_pool_get(sizeof(*scratch)) : 0;
	struct fathom_ring_iter it;
	struct fathom_record rec;

	if (!scratch)
		return page_time;
	fathom_ring_iter_init(&it, r, scratch);
	if (fathom_ring_iter_next(&it, &rec))
		page_time = rec.time;
	fathom_pool_put(scratch);
	return page_time;
}

static int stats_show(struct fathom_file *f, struct fathom_text *t)
{
	const struct ctl_instance *tr = fathom_ctl_instance(&f->node);
	struct fathom_ring *r = fathom_ctl_ring(tr, f->node.at);
	struct fathom_ring_stats st;

	fathom_ring_stats(r, &st);
	stats_number(t, "entries", st.entries);
	stats_number(t, "overrun", st.overwritten);
	stats_number(t, "commit overrun", st.nested);
	stats_number(t, "bytes", st.bytes);
	stats_time(t, "oldest event ts", &tr->clock, stats_oldest(r, st.oldest));
	stats_time(t, "now ts", &tr->clock, fathom_now());
	stats_number(t, "dropped events", st.full);
	stats_number(t, "read events", st.read);
	if (tr->last_boot)
		fathom_core.config.last_boot->stats(f->node.at, t);
	if (st.cleared) /* Fathom's alone: a recorder must know what went before it came */
		stats_number(t, "cleared events", st.cleared);
	return 0;
}

const struct ctl_file_ops fathom_ctl_stats = {.show = stats_show};
