/* SPDX-License-Identifier: MIT */
/* v7.c -- trace.dat version 7: sections found through options, compressed or not. */
#include "decode/tracedat/tracedat.h"
#include "base/vec.h"
#include "base/diag.h"
#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void *keep(struct tracedat *t, void *p)
{
	if (!VEC_MORE(t->owned, t->nr_owned)) {
		free(p);
		return NULL;
	}
	t->owned[t->nr_owned++] = p;
	return p;
}

/* May this many more bytes be unpacked? A hostile file can claim any size. */
static bool afford(struct source *s, uint64_t offset, uint64_t bytes)
{
	struct tracedat *t = s->priv;

	if (bytes > TRACEDAT_META_MAX - t->unpacked) {
		source_damage(s, offset, bytes, "the metadata unpacks to more than %u MiB in total",
			      TRACEDAT_META_MAX >> 20);
		return false;
	}
	t->unpacked += bytes;
	return true;
}

/* A compressed section: u32 compressed size, u32 size, data. There is a byte after what is unpacked, to end a text. */
static bool unpack(struct source *s, struct reader *r, uint64_t offset, uint16_t id)
{
	struct tracedat *t = s->priv;
	uint32_t in = reader_u32(r), out = reader_u32(r);
	const void *data = reader_bytes(r, in);
	void *p;

	if (data && !afford(s, offset, out))
		return false;
	p = data ? memory_large((size_t)out + 1) : NULL;
	if (!p || decompress(t->ring.compression, data, in, p, out)) {
		source_damage(s, offset, out, "section %u does not decompress: %u to %u bytes", id,
			      in, out);
		t->unpacked -= p ? out : 0;
		free(p);
		return false;
	}
	p = keep(t, p);
	reader_init(r, p, out, s->big_endian);
	return p != NULL;
}

/* u32 chunks; each u32 compressed size, u32 size, data. With `to`, they are unpacked there. The size of all, 0 if one is bad. */
static uint64_t chunks_of(struct source *s, struct reader r, uint8_t *to)
{
	struct tracedat *t = s->priv;
	uint32_t count = reader_u32(&r);
	uint64_t all = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t in = reader_u32(&r), out = reader_u32(&r);
		const void *data = reader_bytes(&r, in);

		if (!data || all + out > TRACEDAT_META_MAX ||
		    (to && decompress(t->ring.compression, data, in, to + all, out)))
			return 0;
		all += out;
	}
	return all;
}

/* The text of a buffer is packed as pages are. */
static bool unpack_text(struct source *s, struct reader *r, uint64_t offset)
{
	struct tracedat *t = s->priv;
	uint64_t bytes = chunks_of(s, *r, NULL);
	uint8_t *p;

	if (bytes && !afford(s, offset, bytes))
		return false;
	p = bytes ? memory_large(bytes + 1) : NULL;
	if (!p || !chunks_of(s, *r, p)) {
		source_damage(s, offset, r->size, "the text of a buffer does not decompress");
		t->unpacked -= p ? bytes : 0;
		free(p);
		return false;
	}
	p = keep(t, p);
	reader_init(r, p, bytes, s->big_endian);
	return p != NULL;
}

/* What a section holds, as written in the file; whether that is compressed. */
static bool find_section(struct source *s, uint64_t offset, uint16_t id, struct reader *out,
			 bool *packed)
{
	struct reader r;
	uint16_t got, flags;
	uint64_t bytes;

	reader_init(&r, s->map, s->map_bytes, s->big_endian);
	reader_seek(&r, offset);
	got = reader_u16(&r);
	flags = reader_u16(&r);
	reader_u32(&r); /* the name, for people */
	bytes = reader_u64(&r);
	if (r.failed || got != id) {
		source_damage(s, offset, TRACEDAT_SECTION_HEADER,
			      "section %u was expected here, not %u", id, got);
		return false;
	}
	if (bytes > reader_left(&r)) {
		source_damage(s, offset, bytes,
			      "section %u: %" PRIu64 " bytes, the file has %" PRIu64, id, bytes,
			      reader_left(&r));
		bytes = reader_left(&r);
	}
	reader_init(out, r.base + r.at, bytes, s->big_endian);
	*packed = flags & TRACEDAT_SECTION_COMPRESSED;
	return true;
}

bool tracedat_section(struct source *s, uint64_t offset, uint16_t id, struct reader *out)
{
	bool packed;

	return find_section(s, offset, id, out, &packed) && (!packed || unpack(s, out, offset, id));
}

/* ---- the pages of a buffer ---- */

/* Up to this many entries of u32 cpu, u64 offset, u64 bytes, as far as they are complete; *nr of them. To be freed. */
static struct cpu_range *read_cpus(struct source *s, struct reader *r, uint32_t cpus, uint64_t at,
				   size_t *nr)
{
	uint64_t whole = reader_left(r) / 20;
	struct cpu_range *v = malloc(((whole < cpus ? whole : cpus) + 1) * sizeof(*v));

	*nr = 0;
	if (!v)
		return NULL;
	if (whole < cpus) {
		source_damage(s, at, r->size, "option BUFFER is cut: %u CPUs", cpus);
		cpus = (uint32_t)whole;
	}
	for (uint32_t i = 0; i < cpus; i++) {
		struct cpu_range *c = &v[*nr];

		c->cpu = reader_u32(r);
		c->offset = reader_u64(r);
		c->bytes = reader_u64(r);
		if (c->cpu < TRACEDAT_CPUS_MAX)
			++*nr;
		else
			source_damage(s, at, c->bytes, "option BUFFER: there is no CPU %u", c->cpu);
	}
	return v;
}

static int add_cpus(struct source *s, struct reader *r, uint32_t cpus, uint32_t page, bool packed,
		    uint64_t at)
{
	size_t nr;
	struct cpu_range *v = read_cpus(s, r, cpus, at, &nr);
	int err = v ? tracedat_settle_ranges(s, v, nr) : -ENOMEM;

	for (size_t i = 0; i < nr && !err; i++)
		err = (packed ? tracedat_add_chunks : tracedat_add_pages)(s, v[i].cpu, v[i].offset,
									  v[i].bytes, page);
	free(v);
	return err;
}

/* u64 section, name, clock, u32 page size, u32 CPUs; each u32 cpu, u64 offset, u64 bytes. */
static int buffer_option(struct source *s, const uint8_t *data, uint32_t bytes, uint64_t at)
{
	struct tracedat *t = s->priv;
	struct reader r, head;
	uint64_t section;
	uint32_t page, cpus;
	const char *name, *clock;
	bool packed;

	reader_init(&r, data, bytes, s->big_endian);
	section = reader_u64(&r);
	name = reader_str(&r);
	clock = reader_str(&r);
	page = reader_u32(&r);
	cpus = reader_u32(&r);
	if (r.failed || s->nr_buffers >= TRACEDAT_BUFFERS_MAX) {
		source_damage(s, at, bytes, "option BUFFER is cut");
		return 0;
	}
	if (page < 256 || page > (64u << 20))
		page = t->page_bytes;
	if (!source_add_buffer(s, name, clock))
		return -ENOMEM;
	tracedat_first_seen(t, section);
	reader_init(&head, s->map, s->map_bytes, s->big_endian);
	reader_seek(&head, section);
	reader_u16(&head);
	packed = reader_u16(&head) & TRACEDAT_SECTION_COMPRESSED;
	if (head.failed)
		source_damage(s, section, 0, "buffer '%s': its section is not in the file", name);
	return add_cpus(s, &r, cpus, page, packed, at);
}

/* A buffer saved as text: u64 section, name, clock. */
static void text_option(struct source *s, const uint8_t *data, uint32_t bytes, uint64_t at)
{
	struct trace_buffer *b;
	struct reader r, text;
	uint64_t section;
	const char *name, *clock;
	bool packed;

	reader_init(&r, data, bytes, s->big_endian);
	section = reader_u64(&r);
	name = reader_str(&r);
	clock = reader_str(&r);
	if (r.failed || s->nr_buffers >= TRACEDAT_BUFFERS_MAX) {
		source_damage(s, at, bytes, "option BUFFER_TEXT is cut");
		return;
	}
	b = source_add_buffer(s, name, clock);
	if (b && tracedat_first_seen(s->priv, section) &&
	    find_section(s, section, OPT_BUFFER_TEXT, &text, &packed) &&
	    (!packed || unpack_text(s, &text, section))) {
		b->text_bytes = text.size;
		b->text = (const char *)text.base;
	}
}

/* ---- options ---- */

void tracedat_meta_section(struct source *s, uint16_t id, uint64_t section)
{
	struct tracedat *t = s->priv;
	struct reader r;

	if (!tracedat_first_seen(t, section)) {
		source_damage(s, section, 0, "section %u: more than one option leads to it", id);
		return;
	}
	switch (id) {
	case OPT_KALLSYMS: t->kallsyms.section = section; return;
	case OPT_PRINTK: t->printk.section = section; return;
	case OPT_CMDLINES: t->cmdlines.section = section; return;
	case OPT_BTF: t->btf.section = section; return;
	default: break;
	}
	if (!tracedat_section(s, section, id, &r))
		return;
	if (id == OPT_HEADER_INFO)
		tracedat_header_info(s, &r, section);
	else if (id == OPT_FTRACE_EVENTS)
		tracedat_ftrace_formats(s, &r, section);
	else
		tracedat_event_formats(s, &r, section);
}

static void meta_option(struct source *s, uint16_t id, const uint8_t *data, uint32_t bytes,
			uint64_t at)
{
	if (bytes < 8)
		source_damage(s, at, bytes, "option %u of %u bytes", id, bytes);
	else
		tracedat_meta_section(s, id, get_u64(data, s->big_endian));
}

int tracedat_option_section(struct source *s, uint64_t offset, uint64_t *next)
{
	struct reader r;

	*next = 0;
	if (!tracedat_first_seen(s->priv, offset)) {
		source_damage(s, offset, 0, "the option sections form a loop");
		return 0;
	}
	if (!tracedat_section(s, offset, OPT_DONE, &r))
		return 0;
	while (reader_left(&r)) {
		uint64_t at = offset + TRACEDAT_SECTION_HEADER + r.at;
		uint16_t id = reader_u16(&r);
		uint32_t bytes = reader_u32(&r);
		const uint8_t *data = reader_bytes(&r, bytes);
		int err = 0;

		if (!data) {
			source_damage(s, at, bytes, "option %u of %u bytes does not fit", id,
				      bytes);
			return 0;
		}
		if (id == OPT_DONE) {
			*next = bytes >= 8 ? get_u64(data, s->big_endian) : 0;
			return 0;
		}
		if (id == OPT_BUFFER)
			err = buffer_option(s, data, bytes, at);
		else if (id == OPT_BUFFER_TEXT)
			text_option(s, data, bytes, at);
		else if ((id >= OPT_HEADER_INFO && id <= OPT_CMDLINES) || id == OPT_BTF)
			meta_option(s, id, data, bytes, at);
		else
			tracedat_option(s, id, data, bytes, at);
		if (err)
			return err;
	}
	return 0;
}

int tracedat_open_v7(struct source *s, struct reader *r)
{
	struct tracedat *t = s->priv;
	const char *name = reader_str(r), *version = reader_str(r);
	uint64_t next = reader_u64(r), sections;
	int err;

	if (r->failed || !version) {
		diag_at(s->path, r->at, "the file ends inside its header");
		return -EINVAL;
	}
	t->ring.compression = compress_named(name);
	if (t->ring.compression == COMPRESS_UNKNOWN)
		source_damage(s, r->at, 0, "compression '%.16s' is not known", name);
	free(s->info.compression);
	s->info.compression = strndup(name, 16);
	sections = r->at;
	while (next) {
		err = tracedat_option_section(s, next, &next);
		if (err)
			return err;
	}
	err = !s->nr_buffers || s->damage_total ? tracedat_salvage(s, sections) : 0;
	if (err)
		return err;
	if (!s->nr_buffers) {
		diag_at(s->path, r->at, "no trace buffer is in the file");
		return -EINVAL;
	}
	return 0;
}
