/* SPDX-License-Identifier: MIT */
/* tracedat.c -- Linux's trace.dat: magic, header, streams of pages, names. */
#include "decode/tracedat/tracedat.h"
#include "base/vec.h"
#include "base/diag.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char magic[10] = "\x17\x08\x44tracing";

/* How many of the first bytes are not what they must be. */
static unsigned magic_wrong(const uint8_t *p, uint64_t bytes)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < sizeof(magic); i++)
		wrong += i >= bytes || p[i] != (uint8_t)magic[i];
	return wrong;
}

/* This many bytes may be damaged: the rest is unmistakable. */
#define MAGIC_DAMAGE 3

static int tracedat_probe(const struct source_probe *p)
{
	if (!p->head)
		return 0;
	if (magic_wrong(p->head, p->head_bytes) <= MAGIC_DAMAGE)
		return 100;
	/* A file cut or overwritten at its start is refused by open() with a better message. */
	return !strcmp(source_suffix(p->path), "dat") ? 2 : 0;
}

static void tracedat_close(struct source *s)
{
	struct tracedat *t = s->priv;

	if (!t)
		return;
	ring_set_free(&t->ring);
	for (size_t i = 0; i < t->nr_owned; i++)
		free(t->owned[i]);
	free(t->owned);
	free(t->pending);
	idmap_free(&t->seen);
	tracedat_claims_free(t);
	free(t->clock);
	free(t->walk);
	free(t);
	s->priv = NULL;
}

static int bad_magic(const struct source *s)
{
	size_t n = s->map_bytes < 512 ? (size_t)s->map_bytes : 512, text = 0;

	while (text < n && (s->map[text] >= ' ' || (s->map[text] >= '\t' && s->map[text] <= '\r')))
		text++;
	if (text == n)
		diag_error("%s: this is text, not a trace.dat; the text of `trace` or trace_pipe "
			   "is read when its lines look like events",
			   s->path);
	else
		diag_at(s->path, 0, "not a trace.dat: it must begin with 17 08 44 'tracing'");
	return -EINVAL;
}

/* The first size or offset of the file, after its head, does not fit into it, but does the other way round. */
static bool order_is_wrong(const struct source *s, struct reader r, bool seven)
{
	const uint8_t *p;
	uint64_t told, other;

	if (seven) {
		reader_str(&r);
		reader_str(&r);
	} else {
		reader_bytes(&r, sizeof("header_page"));
	}
	p = reader_bytes(&r, 8);
	if (!p)
		return false;
	told = get_u64(p, r.big);
	other = get_u64(p, !r.big);
	return told > s->map_bytes && other && other < s->map_bytes;
}

/* The file says another version, but what follows the head is version 6's alone. */
static bool version_is_6(const struct source *s, const char *version)
{
	static const char first[] = "header_page";
	uint64_t at = sizeof(magic) + 8;

	return strlen(version) == 1 && *version != '6' && s->map_bytes > at + sizeof(first) &&
	       !memcmp(s->map + at, first, sizeof(first));
}

/* Version, byte order, long size, page size. */
static int read_head(struct source *s, struct reader *r)
{
	struct tracedat *t = s->priv;
	const char *version;
	uint8_t endian, longs;

	reader_bytes(r, sizeof(magic));
	version = reader_str(r);
	endian = reader_u8(r);
	longs = reader_u8(r);
	r->big = endian == 1;
	t->page_bytes = reader_u32(r);
	if (r->failed || !version) {
		diag_at(s->path, r->at, "the file ends inside its header");
		return -EINVAL;
	}
	if (version_is_6(s, version)) {
		source_damage(s, sizeof(magic), 1, "version '%.8s', but the layout is that of 6",
			      version);
		version = "6";
	}
	if (strcmp(version, "6") != 0 && strcmp(version, "7") != 0) {
		diag_at(s->path, sizeof(magic), "trace.dat version '%.8s'; 6 and 7 are known",
			version);
		return -EINVAL;
	}
	if (order_is_wrong(s, *r, version[0] == '7')) {
		source_damage(s, r->at - 6, 1, "byte order %u, but numbers have the other", endian);
		r->big = !r->big;
		t->page_bytes = get_u32(s->map + r->at - 4, r->big);
	}
	if (endian > 1 || (longs != 4 && longs != 8))
		source_damage(s, r->at - 6, 2, "byte order %u, long of %u bytes", endian, longs);
	if (t->page_bytes < 256 || t->page_bytes > (64u << 20)) {
		source_damage(s, r->at - 4, 4, "a page of %u bytes; taken as 4096", t->page_bytes);
		t->page_bytes = 4096;
	}
	s->big_endian = t->ring.big = r->big;
	s->long_bytes = longs == 4 ? 4 : 8;
	s->info.file_version = (uint32_t)(version[0] - '0');
	return 0;
}

static void default_page(struct tracedat *t)
{
	t->ring.page = (struct format_page){.time_offset = 0,
					    .time_size = 8,
					    .commit_offset = 8,
					    .commit_size = 8,
					    .data_offset = 16,
					    .data_size = t->page_bytes - 16};
}

static void settle_clock(struct source *s)
{
	struct tracedat *t = s->priv;
	struct ring_clock *k = &t->ring.clock;
	const char *name = s->nr_buffers ? s->buffers[0].clock : "";

	k->any = k->scaled || k->offset || k->nr_shifts;
	s->unit = k->scaled || tracedat_clock_is_ns(name) ? CLOCK_NS : CLOCK_TICKS;
}

static int tracedat_open(struct source *s, const struct source_options *o)
{
	struct tracedat *t = calloc(1, sizeof(*t));
	struct reader r;
	int err;

	(void)o;
	s->priv = t;
	if (!t || !(t->clock = strdup("")))
		return -ENOMEM;
	if (magic_wrong(s->map, s->map_bytes) > MAGIC_DAMAGE)
		return bad_magic(s);
	if (magic_wrong(s->map, s->map_bytes))
		source_damage(s, 0, sizeof(magic), "17 08 44 'tracing' was expected");
	reader_init(&r, s->map, s->map_bytes, false);
	err = read_head(s, &r);
	if (err)
		return err;
	default_page(t);
	err = s->info.file_version == 6 ? tracedat_open_v6(s, &r) : tracedat_open_v7(s, &r);
	if (err)
		return err;
	ring_find_common(s, &t->ring);
	settle_clock(s);
	if (!s->info.nr_cpus)
		for (size_t i = 0; i < s->nr_streams; i++)
			if (s->streams[i].cpu >= s->info.nr_cpus)
				s->info.nr_cpus = s->streams[i].cpu + 1;
	return 0;
}

struct ring_stream *tracedat_new_stream(struct source *s, uint32_t cpu)
{
	struct tracedat *t = s->priv;
	struct ring_stream *n;

	if (!VEC_MORE(t->ring.streams, t->ring.nr_streams) || !source_add_stream(s, cpu))
		return NULL;
	n = &t->ring.streams[t->ring.nr_streams++];
	memset(n, 0, sizeof(*n));
	return n;
}

int tracedat_add_pages(struct source *s, uint32_t cpu, uint64_t offset, uint64_t bytes,
		       uint32_t page_bytes)
{
	struct ring_stream *n = tracedat_new_stream(s, cpu);
	struct stream *st;

	if (!n)
		return -ENOMEM;
	if (bytes && offset >= s->map_bytes) {
		source_damage(s, s->map_bytes, bytes,
			      "cpu %u: its pages at 0x%llx lie beyond the end of the file", cpu,
			      (unsigned long long)offset);
		bytes = 0;
	} else if (bytes > s->map_bytes - offset) {
		source_damage(s, s->map_bytes, bytes - (s->map_bytes - offset),
			      "cpu %u: the file ends inside its pages", cpu);
		bytes = s->map_bytes - offset;
	}
	n->page_bytes = page_bytes;
	n->pages = s->map + (bytes ? offset : 0);
	n->bytes = bytes;
	n->offset = offset;
	st = &s->streams[s->nr_streams - 1];
	st->nr_blocks = (bytes + page_bytes - 1) / page_bytes;
	st->bytes = bytes;
	st->offset = offset;
	s->buffers[st->buffer].page_bytes = page_bytes;
	return 0;
}

/* ---- names: on first use ---- */

static bool blob_text(struct source *s, struct blob *b, uint16_t id, bool wide)
{
	struct reader r;
	uint64_t n;

	if (b->text || !b->section)
		return b->text != NULL;
	if (!tracedat_section(s, b->section, id, &r))
		return false;
	n = wide ? reader_u64(&r) : reader_u32(&r);
	if (n > reader_left(&r)) {
		source_damage(s, b->section, n, "section %u: its text extends past its end", id);
		n = reader_left(&r);
	}
	b->bytes = n;
	b->text = reader_bytes(&r, n);
	return b->text != NULL;
}

static void tracedat_tasks(struct source *s)
{
	struct tracedat *t = s->priv;

	if (!s->given_cmdlines && blob_text(s, &t->cmdlines, OPT_CMDLINES, true))
		tasks_add_cmdlines(s->tasks, t->cmdlines.text, t->cmdlines.bytes);
	if (blob_text(s, &t->printk, OPT_PRINTK, false))
		printks_add_text(s->printks, t->printk.text, t->printk.bytes);
}

/* The table of symbols takes a text over that was unpacked for it; if the text is asked for, it is unpacked again. */
static void tracedat_symbols(struct source *s)
{
	struct tracedat *t = s->priv;
	struct blob *b = &t->kallsyms;
	size_t owned = t->nr_owned;
	char *memory;

	if (!blob_text(s, b, OPT_KALLSYMS, false))
		return;
	if (t->nr_owned == owned) {
		symbols_add_kallsyms(s->symbols, b->text, b->bytes);
		return;
	}
	memory = t->owned[--t->nr_owned];
	symbols_take_kallsyms(s->symbols, memory, (size_t)(b->text - memory), b->bytes);
	b->text = NULL;
}

static void tracedat_texts(struct source *s)
{
	struct tracedat *t = s->priv;
	const struct blob *all[SOURCE_NR_TEXTS] = {
		[SOURCE_KALLSYMS] = &t->kallsyms,	  [SOURCE_PRINTK] = &t->printk,
		[SOURCE_CMDLINES] = &t->cmdlines,	  [SOURCE_HEADER_PAGE] = &t->header_page,
		[SOURCE_HEADER_EVENT] = &t->header_event,
	};

	blob_text(s, &t->kallsyms, OPT_KALLSYMS, false);
	blob_text(s, &t->printk, OPT_PRINTK, false);
	blob_text(s, &t->cmdlines, OPT_CMDLINES, true);
	for (unsigned i = 0; i < SOURCE_NR_TEXTS; i++) {
		s->texts[i].text = all[i]->text;
		s->texts[i].bytes = all[i]->bytes;
	}
	/* What was given by option is in the tables alone. */
	if (s->given_symbols)
		s->texts[SOURCE_KALLSYMS].text = NULL;
	if (s->given_cmdlines)
		s->texts[SOURCE_CMDLINES].text = NULL;
}

static void tracedat_protos(struct source *s)
{
	struct tracedat *t = s->priv;
	struct reader r;

	if (!t->btf.section || !tracedat_section(s, t->btf.section, OPT_BTF, &r))
		return;
	if (protos_add_btf(s->protos, r.base, r.size, s->long_bytes))
		source_damage(s, t->btf.section, r.size, "section %u: it is not BTF", OPT_BTF);
}

static void tracedat_names(struct source *s, enum source_names what)
{
	switch (what) {
	case SOURCE_TASKS: tracedat_tasks(s); break;
	case SOURCE_SYMBOLS: tracedat_symbols(s); break;
	case SOURCE_TEXTS: tracedat_texts(s); break;
	case SOURCE_PROTOS: tracedat_protos(s); break;
	}
}

const struct source_ops source_tracedat = {
	.name = "trace.dat",
	.what = "Linux trace.dat, versions 6 and 7",
	.takes = SOURCE_TAKES_SYMBOLS | SOURCE_TAKES_CMDLINES,
	.probe = tracedat_probe,
	.open = tracedat_open,
	.close = tracedat_close,
	RING_OPS,
	.names = tracedat_names,
	.grow = tracedat_grow,
};
