/* SPDX-License-Identifier: MIT */
/* v6.c -- trace.dat version 6: one header after another, then the pages of each CPU. */
#include "decode/tracedat/tracedat.h"
#include "base/vec.h"
#include "base/diag.h"
#include "wire/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int cut(struct source *s, const struct reader *r, const char *what)
{
	diag_at(s->path, r->at, "%s", what);
	return -EINVAL;
}

static int text_part(struct source *s, struct reader *r, struct blob *b, bool wide,
		     const char *what)
{
	uint64_t at = r->at, n = wide ? reader_u64(r) : reader_u32(r);

	b->text = reader_bytes(r, n);
	b->bytes = b->text ? n : 0;
	if (!b->text) {
		source_damage(s, at, n, "%s: %" PRIu64 " bytes do not fit into the file", what, n);
		return -EINVAL;
	}
	return 0;
}

/* The metadata up to the number of CPUs. */
static int read_meta(struct source *s, struct reader *r)
{
	struct tracedat *t = s->priv;

	if (tracedat_header_info(s, r, 0) || tracedat_ftrace_formats(s, r, 0) ||
	    tracedat_event_formats(s, r, 0) || text_part(s, r, &t->kallsyms, false, "kallsyms") ||
	    text_part(s, r, &t->printk, false, "printk formats") ||
	    text_part(s, r, &t->cmdlines, true, "saved command lines"))
		return -EINVAL;
	return 0;
}

/* Damage in the metadata hides where the next part begins; its mark can be looked for. The CPUs stand before it. */
static int find_mark(struct source *s, struct reader *r)
{
	static const char options[10] = "options  ", fly[10] = "flyrecord";
	const uint8_t *p = memmem(s->map, s->map_bytes, options, 10);

	if (!p)
		p = memmem(s->map, s->map_bytes, fly, 10);
	if (!p || p - s->map < 4)
		return -EINVAL;
	r->failed = false;
	r->at = (uint64_t)(p - s->map) - 4;
	return 0;
}

static void v6_buffer_option(struct source *s, const uint8_t *data, uint32_t bytes)
{
	struct tracedat *t = s->priv;
	if (bytes < 9 || !memchr(data + 8, 0, bytes - 8) || t->nr_pending >= TRACEDAT_BUFFERS_MAX)
		return;
	if (!VEC_MORE(t->pending, t->nr_pending))
		return;
	t->pending[t->nr_pending++] =
		(struct pending_buffer){get_u64(data, s->big_endian), (const char *)data + 8};
}

static int read_options(struct source *s, struct reader *r)
{
	for (;;) {
		uint64_t at = r->at;
		uint16_t id = reader_u16(r);
		uint32_t bytes;
		const uint8_t *data;

		if (r->failed)
			return -EINVAL;
		if (id == OPT_DONE)
			return 0;
		bytes = reader_u32(r);
		data = reader_bytes(r, bytes);
		if (!data) {
			source_damage(s, at, bytes, "option %u: %u bytes do not fit into the file",
				      id, bytes);
			return -EINVAL;
		}
		if (id == OPT_BUFFER)
			v6_buffer_option(s, data, bytes);
		else
			tracedat_option(s, id, data, bytes, at);
	}
}

/* (offset, size) of each CPU's pages. */
static int read_cpus(struct source *s, struct reader *r, uint32_t cpus)
{
	struct tracedat *t = s->priv;
	struct cpu_range *v = reader_left(r) / 16 < cpus ? NULL : calloc(cpus + 1, sizeof(*v));
	int err;

	if (!v)
		return -EINVAL;
	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		v[cpu].cpu = cpu;
		v[cpu].offset = reader_u64(r);
		v[cpu].bytes = reader_u64(r);
	}
	err = tracedat_settle_ranges(s, v, cpus);
	for (uint32_t cpu = 0; cpu < cpus && !err; cpu++)
		err = tracedat_add_pages(s, cpu, v[cpu].offset, v[cpu].bytes, t->page_bytes);
	free(v);
	return err;
}

/* Files with option TRACECLOCK name the clock of each buffer after its list: u64 size, text. */
static void read_clock(struct source *s, struct reader *r)
{
	struct trace_buffer *b = &s->buffers[s->nr_buffers - 1];
	struct tracedat *t = s->priv;
	uint64_t n;
	const char *text;
	char *name;

	if (!t->clock[0])
		return;
	n = reader_u64(r);
	text = n && n < 4096 ? reader_bytes(r, n) : NULL;
	if (!text)
		return; /* the option's clock stays */
	name = tracedat_clock_name(text, n);
	if (!name)
		return;
	free(b->clock);
	b->clock = name;
}

static int read_instances(struct source *s, uint32_t cpus)
{
	struct tracedat *t = s->priv;

	for (size_t i = 0; i < t->nr_pending; i++) {
		struct reader r;

		reader_init(&r, s->map, s->map_bytes, s->big_endian);
		if (!source_add_buffer(s, t->pending[i].name, t->clock))
			return -ENOMEM;
		reader_seek(&r, t->pending[i].offset);
		if (reader_left(&r) >= 10 && !memcmp(r.base + r.at, "flyrecord", 10))
			reader_bytes(&r, 10);
		if (read_cpus(s, &r, cpus))
			source_damage(s, t->pending[i].offset, 0,
				      "instance '%s': its list of CPUs is cut", t->pending[i].name);
		else
			read_clock(s, &r);
	}
	return 0;
}

static int read_data(struct source *s, struct reader *r, const char *kind, uint32_t cpus)
{
	struct tracedat *t = s->priv;
	struct trace_buffer *b = source_add_buffer(s, "", t->clock);

	if (!b)
		return -ENOMEM;
	if (!memcmp(kind, "latency", 7)) {
		b->text_bytes = reader_left(r);
		b->text = reader_bytes(r, b->text_bytes);
		t->header_end = s->map_bytes;
		return 0;
	}
	if (!memcmp(kind, WIRE_RECORDING_MARK, 10)) {
		read_clock(s, r);
		t->header_end = r->at;
		return tracedat_open_recording(s, r->at, cpus);
	}
	if (memcmp(kind, "flyrecord", 10) != 0)
		return cut(s, r, "'flyrecord' was expected: where the pages lie is not known");
	if (read_cpus(s, r, cpus))
		return cut(s, r, "the file ends inside its list of CPUs");
	read_clock(s, r);
	t->header_end = r->at;
	return read_instances(s, cpus);
}

int tracedat_open_v6(struct source *s, struct reader *r)
{
	uint32_t cpus;
	const char *kind;

	if (read_meta(s, r) && find_mark(s, r))
		return cut(s, r, "the metadata is damaged, and where the pages lie is not known");
	cpus = reader_u32(r);
	if (cpus > TRACEDAT_CPUS_MAX) {
		source_damage(s, r->at - 4, 4, "%u CPUs", cpus);
		return cut(s, r, "the number of CPUs is damaged");
	}
	s->info.nr_cpus = cpus;
	kind = reader_bytes(r, 10);
	if (kind && !memcmp(kind, "options  ", 10)) {
		if (read_options(s, r)) {
			static const char fly[10] = "flyrecord";
			const uint8_t *p = memmem(s->map, s->map_bytes, fly, 10);

			if (!p)
				return cut(s, r, "the options are damaged");
			r->failed = false;
			r->at = (uint64_t)(p - s->map);
		}
		kind = reader_bytes(r, 10);
	}
	if (!kind)
		return cut(s, r, "the file ends inside its header");
	if (s->info.nr_cpus < cpus)
		s->info.nr_cpus = cpus;
	return read_data(s, r, kind, cpus);
}
