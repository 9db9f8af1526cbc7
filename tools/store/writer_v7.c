/* SPDX-License-Identifier: MIT */
/* writer_v7.c -- trace.dat version 7: sections, compressed or not, found through one list of options at the end. */
#include "store/writer.h"
#include "wire/tracedat_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of options and sections: see `man trace-cmd.dat.v7`. */
enum {
	V7_HEADER_INFO = 16,
	V7_FTRACE_EVENTS = 17,
	V7_EVENT_FORMATS = 18,
	V7_KALLSYMS = 19,
	V7_PRINTK = 20,
	V7_CMDLINES = 21,
};

#define V7_COMPRESSED  1u
#define V7_CHUNK_PAGES 10u /* as trace-cmd does: a reader looks at one chunk to see one page */
#define V7_LEVEL       3

struct v7 {
	struct writer_meta *m;
	FILE *out;
	bool big, packed;
	int err;
	/* The options gathered for the last section. */
	FILE *options;
	char *options_text;
	size_t options_bytes;
	/* The chunk being filled. */
	uint8_t *chunk, *squeezed;
	size_t chunk_used, chunk_cap, squeezed_cap;
	uint32_t nr_chunks;
};

static void raw(struct v7 *w, FILE *to, const void *p, size_t n)
{
	if (n && fwrite(p, 1, n, to) != n && !w->err)
		w->err = -EIO;
}

static void number(struct v7 *w, FILE *to, uint64_t v, uint32_t n)
{
	uint8_t b[8];

	for (uint32_t i = 0; i < n; i++)
		b[w->big ? n - 1 - i : i] = (uint8_t)(v >> (8 * i));
	raw(w, to, b, n);
}

static uint64_t at(struct v7 *w)
{
	long n = ftell(w->out);

	if (n < 0 && !w->err)
		w->err = -errno;
	return n < 0 ? 0 : (uint64_t)n;
}

static void number_at(struct v7 *w, uint64_t where, uint64_t v, uint32_t n)
{
	uint64_t here = at(w);

	if (fseek(w->out, (long)where, SEEK_SET))
		w->err = -errno;
	number(w, w->out, v, n);
	if (fseek(w->out, (long)here, SEEK_SET))
		w->err = -errno;
}

static void option(struct v7 *w, uint16_t id, const void *data, uint32_t n)
{
	number(w, w->options, id, 2);
	number(w, w->options, n, 4);
	raw(w, w->options, data, n);
}

/* id, flags, name (none), size. */
static void section_head(struct v7 *w, uint16_t id, bool packed, uint64_t bytes)
{
	number(w, w->out, id, 2);
	number(w, w->out, packed ? V7_COMPRESSED : 0, 2);
	number(w, w->out, 0, 4);
	number(w, w->out, bytes, 8);
}

/* A section of metadata, and the option that says where it is. */
static void section(struct v7 *w, uint16_t id, const void *p, size_t n)
{
	uint64_t where = at(w);
	long got = -1;
	void *z = NULL;

	if (w->packed) {
		size_t cap = compress_bound(w->m->o->compression, n);

		z = malloc(cap ? cap : 1);
		got = z ? compress_bytes(w->m->o->compression, V7_LEVEL, p, n, z, cap) : -1;
		if (got < 0 && !w->err)
			w->err = -ENOMEM;
	}
	if (w->packed) {
		section_head(w, id, true, (uint64_t)(got > 0 ? got : 0) + 8);
		number(w, w->out, (uint64_t)(got > 0 ? got : 0), 4);
		number(w, w->out, n, 4);
		raw(w, w->out, z, got > 0 ? (size_t)got : 0);
	} else {
		section_head(w, id, false, n);
		raw(w, w->out, p, n);
	}
	free(z);
	number(w, w->options, id, 2);
	number(w, w->options, 8, 4);
	number(w, w->options, where, 8);
}

/* Assemble a section in memory, then write it. */
static void made_section(struct v7 *w, uint16_t id, void (*make)(struct v7 *w, FILE *f))
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	if (!f) {
		w->err = -ENOMEM;
		return;
	}
	make(w, f);
	if (fclose(f))
		w->err = -ENOMEM;
	else
		section(w, id, text, n);
	free(text);
}

static void sized(struct v7 *w, FILE *f, const struct writer_text *t, uint32_t size_bytes)
{
	number(w, f, t->bytes, size_bytes);
	raw(w, f, t->text, t->bytes);
}

static void make_header(struct v7 *w, FILE *f)
{
	raw(w, f, "header_page", 12);
	sized(w, f, &w->m->header_page, 8);
	raw(w, f, "header_event", 13);
	sized(w, f, &w->m->header_event, 8);
}

static void make_format(struct v7 *w, FILE *f, const struct schema *k)
{
	number(w, f, k->text_bytes, 8);
	raw(w, f, k->text, k->text_bytes);
}

static void make_ftrace(struct v7 *w, FILE *f)
{
	number(w, f, w->m->nr_ftrace, 4);
	for (size_t i = 0; i < w->m->nr_ftrace; i++)
		make_format(w, f, w->m->schemas[i]);
}

static void make_events(struct v7 *w, FILE *f)
{
	const struct schema **k = w->m->schemas;

	number(w, f, w->m->nr_systems, 4);
	for (size_t i = w->m->nr_ftrace; i < w->m->nr_schemas;) {
		size_t n = i;

		while (n < w->m->nr_schemas && !strcmp(k[n]->system, k[i]->system))
			n++;
		raw(w, f, k[i]->system, strlen(k[i]->system) + 1);
		number(w, f, n - i, 4);
		for (; i < n; i++)
			make_format(w, f, k[i]);
	}
}

static void make_kallsyms(struct v7 *w, FILE *f)
{
	sized(w, f, &w->m->kallsyms, 4);
}

static void make_printk(struct v7 *w, FILE *f)
{
	sized(w, f, &w->m->printk, 4);
}

static void make_cmdlines(struct v7 *w, FILE *f)
{
	sized(w, f, &w->m->cmdlines, 8);
}

/* ---- pages ---- */

static void flush_chunk(struct v7 *w)
{
	long n;

	if (!w->chunk_used)
		return;
	n = compress_bytes(w->m->o->compression, V7_LEVEL, w->chunk, w->chunk_used, w->squeezed,
			   w->squeezed_cap);
	if (n < 0)
		w->err = -EIO;
	number(w, w->out, (uint64_t)(n > 0 ? n : 0), 4);
	number(w, w->out, w->chunk_used, 4);
	raw(w, w->out, w->squeezed, n > 0 ? (size_t)n : 0);
	w->chunk_used = 0;
	w->nr_chunks++;
}

static int put_page(void *arg, const void *page, uint32_t bytes)
{
	struct v7 *w = arg;

	if (!w->packed) {
		raw(w, w->out, page, bytes);
		return w->err;
	}
	memcpy(w->chunk + w->chunk_used, page, bytes);
	w->chunk_used += bytes;
	if (w->chunk_used == w->chunk_cap)
		flush_chunk(w);
	return w->err;
}

static void pad_to_page(struct v7 *w)
{
	static const uint8_t zeros[512];
	uint64_t n = (0 - at(w)) & (w->m->page_bytes - 1);

	for (; n && !w->err; n -= n < sizeof(zeros) ? n : sizeof(zeros))
		raw(w, w->out, zeros, n < sizeof(zeros) ? n : sizeof(zeros));
}

static void one_cpu(struct v7 *w, const struct writer_buffer *b, uint32_t cpu, FILE *list)
{
	uint64_t start;
	int err;

	pad_to_page(w);
	start = at(w);
	w->nr_chunks = 0;
	if (w->packed)
		number(w, w->out, 0, 4);
	err = writer_pages(w->m, b, cpu, put_page, w);
	if (w->packed)
		flush_chunk(w);
	if (w->packed)
		number_at(w, start, w->nr_chunks, 4);
	if (err && !w->err)
		w->err = err;
	number(w, list, cpu, 4);
	number(w, list, start, 8);
	number(w, list, at(w) - start, 8);
}

/* The section of a buffer and the option that describes it. */
static void buffer(struct v7 *w, const struct writer_buffer *b)
{
	uint64_t where = at(w);
	char *text = NULL;
	size_t n = 0;
	uint32_t cpus = 0;
	FILE *list = open_memstream(&text, &n);

	if (!list) {
		w->err = -ENOMEM;
		return;
	}
	section_head(w, FATHOM_DAT_BUFFER, w->packed, 0);
	number(w, list, where, 8);
	raw(w, list, b->name, strlen(b->name) + 1);
	raw(w, list, b->clock, strlen(b->clock) + 1);
	number(w, list, w->m->page_bytes, 4);
	for (uint32_t c = 0; c < w->m->nr_cpus; c++)
		cpus += b->streams[c] != UINT32_MAX;
	number(w, list, cpus, 4);
	for (uint32_t c = 0; c < w->m->nr_cpus && !w->err; c++)
		if (b->streams[c] != UINT32_MAX)
			one_cpu(w, b, c, list);
	number_at(w, where + 8, at(w) - where - 16, 8);
	if (fclose(list))
		w->err = -ENOMEM;
	else
		option(w, FATHOM_DAT_BUFFER, text, (uint32_t)n);
	free(text);
}

/* ---- the file ---- */

static void options_of_source(struct v7 *w)
{
	const struct source *s = w->m->s;
	char clock[100];
	uint8_t cpus[4];

	snprintf(clock, sizeof(clock), "[%.90s]", w->m->buffers[0].clock);
	option(w, FATHOM_DAT_CLOCK, clock, (uint32_t)strlen(clock) + 1);
	for (size_t i = 0; i < s->nr_extras; i++)
		if (writer_keeps(w->m, s->extras[i].id))
			option(w, s->extras[i].id, s->extras[i].data, s->extras[i].bytes);
	if (w->m->stats)
		option(w, FATHOM_DAT_CPUSTAT, w->m->stats, (uint32_t)strlen(w->m->stats) + 1);
	for (uint32_t i = 0; i < 4; i++)
		cpus[w->big ? 3 - i : i] = (uint8_t)(w->m->nr_cpus >> (8 * i));
	option(w, FATHOM_DAT_CPUCOUNT, cpus, 4);
}

static void write_all(struct v7 *w)
{
	enum compression c = w->m->o->compression;
	const char *name = compress_name(c), *version = compress_version(c);
	uint64_t first;

	raw(w, w->out, "\x17\x08\x44tracing7", 12);
	number(w, w->out, w->big, 1);
	number(w, w->out, w->m->s->long_bytes, 1);
	number(w, w->out, w->m->page_bytes, 4);
	raw(w, w->out, name, strlen(name) + 1);
	raw(w, w->out, version, strlen(version) + 1);
	first = at(w);
	number(w, w->out, 0, 8);
	made_section(w, V7_HEADER_INFO, make_header);
	made_section(w, V7_FTRACE_EVENTS, make_ftrace);
	made_section(w, V7_EVENT_FORMATS, make_events);
	made_section(w, V7_KALLSYMS, make_kallsyms);
	made_section(w, V7_PRINTK, make_printk);
	made_section(w, V7_CMDLINES, make_cmdlines);
	options_of_source(w);
	for (size_t i = 0; i < w->m->nr_buffers && !w->err; i++)
		buffer(w, &w->m->buffers[i]);
	number(w, w->options, 0, 2);
	number(w, w->options, 8, 4);
	number(w, w->options, 0, 8);
	if (fflush(w->options))
		w->err = -ENOMEM;
	number_at(w, first, at(w), 8);
	section_head(w, 0, false, w->options_bytes);
	raw(w, w->out, w->options_text, w->options_bytes);
}

int writer_v7(struct writer_meta *m, FILE *out)
{
	struct v7 w = {.m = m, .out = out, .big = m->s->big_endian};

	w.packed = m->o->compression != COMPRESS_NONE;
	w.chunk_cap = (size_t)m->page_bytes * V7_CHUNK_PAGES;
	w.squeezed_cap = compress_bound(m->o->compression, w.chunk_cap);
	w.chunk = malloc(w.chunk_cap);
	w.squeezed = malloc(w.squeezed_cap);
	w.options = open_memstream(&w.options_text, &w.options_bytes);
	if (w.chunk && w.squeezed && w.options)
		write_all(&w);
	else
		w.err = -ENOMEM;
	if (w.options)
		fclose(w.options);
	free(w.options_text);
	free(w.chunk);
	free(w.squeezed);
	return w.err;
}
