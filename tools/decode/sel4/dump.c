/* SPDX-License-Identifier: MIT */
/* dump.c -- find seL4 trace dumps in a console log and decode their blocks. */
#include "decode/sel4/dump.h"
#include "base/vec.h"
#include "decode/sel4/line.h"
#include "wire/sel4.h"

#include <errno.h>
#include <inttypes.h>
#include <lz4.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/*
 * A log is what a terminal program saved: lines may carry a prefix (a time, a board's name), end in CR, and be mixed
 * with other output. A dump is read by a machine with one state per part; lines that mean nothing in a state are other
 * output. Every decision to drop something is reported with its place.
 */
/* An LZ4 byte stands for at most 255 bytes: a larger claim is damage, and nothing is allocated for it. */
#define LZ4_RATIO_MAX 255u

enum part {
	PART_HEADER,
	PART_DICT,
	PART_BODY,
	PART_TRAILER,
	PART_FOREIGN, /* another TYPE: skip to END */
};

struct block {
	bool open, raw; /* raw: TAIL_RAW_ENTRIES, or version 1 */
	bool sized;
	uint64_t number, packed, unpacked, offset;
};

struct dump_parser {
	const char *log;
	size_t bytes;
	const struct sel4_report *report;
	struct sel4_dump *dumps;
	size_t nr_dumps;
	struct sel4_dump *d; /* the open one */
	enum part part;
	bool base91;
	struct sel4_prefix prefix; /* of the lines of the open dump */
	struct block block;
	struct sel4_body body;
	uint64_t next_block;
	size_t raw_room;
	int error;
};

static void problem(struct dump_parser *p, uint64_t offset, uint64_t bytes, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void problem(struct dump_parser *p, uint64_t offset, uint64_t bytes, const char *fmt, ...)
{
	char what[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (p->d)
		p->d->nr_problems++;
	if (p->report && p->report->problem)
		p->report->problem(p->report->arg, offset, bytes, what);
}

/* ---- the stream that comes out ---- */

static bool raw_append(struct dump_parser *p, const uint8_t *data, size_t n)
{
	struct sel4_meta *m = &p->d->meta;

	if (!n)
		return true;
	if (!VEC_ROOM(p->d->raw, m->raw_bytes + n - 1, p->raw_room)) {
		p->error = -ENOMEM;
		return false;
	}
	memcpy(p->d->raw + m->raw_bytes, data, n);
	m->raw_bytes += n;
	return true;
}

static void add_gap(struct dump_parser *p, uint64_t missing_bytes)
{
	struct sel4_meta *m = &p->d->meta;
	uint64_t word = m->raw_bytes / 2;

	if (m->nr_gaps && m->gaps[m->nr_gaps - 1].word == word) {
		m->gaps[m->nr_gaps - 1].missing += missing_bytes / 2;
		return;
	}
	if (!VEC_MORE(m->gaps, m->nr_gaps)) {
		p->error = -ENOMEM;
		return;
	}
	m->gaps[m->nr_gaps++] = (struct sel4_gap){.word = word, .missing = missing_bytes / 2};
}

/* ---- blocks ---- */

static const char *unpack(struct dump_parser *p, const uint8_t *data, size_t n, uint64_t unpacked)
{
	uint8_t *out;
	int got;

	if (unpacked > (uint64_t)n * LZ4_RATIO_MAX + 64 || unpacked > INT32_MAX || n > INT32_MAX)
		return "its size is not possible";
	out = malloc(unpacked + 1);
	if (!out)
		return "out of memory";
	got = LZ4_decompress_safe((const char *)data, (char *)out, (int)n, (int)unpacked);
	if (got == (int)unpacked)
		raw_append(p, out, (size_t)got);
	free(out);
	return got == (int)unpacked ? NULL : "it is not LZ4 data of the size announced";
}

static void close_block(struct dump_parser *p)
{
	struct block *b = &p->block;
	const char *why = NULL;
	uint8_t *data;
	int64_t n;

	if (!b->open)
		return;
	b->open = false;
	n = sel4_body_decode(&p->body, p->base91, b->sized ? b->packed : 0, &data, &why);
	if (n >= 0) {
		if (b->raw)
			why = raw_append(p, data, (size_t)n) ? NULL : "out of memory";
		else
			why = unpack(p, data, (size_t)n, b->unpacked);
		free(data);
	}
	p->body.nr_lines = 0;
	if (!why)
		return;
	if (b->raw)
		problem(p, b->offset, b->unpacked, "tail of %" PRIu64 " words skipped: %s",
			b->unpacked / 2, why);
	else
		problem(p, b->offset, b->unpacked,
			"block %" PRIu64 " (%" PRIu64 " words) skipped: %s", b->number,
			b->unpacked / 2, why);
	add_gap(p, b->unpacked);
}

static void open_block(struct dump_parser *p, const struct block *b)
{
	close_block(p);
	p->block = *b;
	p->block.open = true;
	p->body.nr_lines = 0;
}

static bool block_line(struct dump_parser *p, const struct sel4_log_line *l)
{
	struct block b = {.sized = true, .offset = l->offset};
	const char *s = l->text + 6, *end = l->text + l->len;

	if (!sel4_line_starts(l, "BLOCK:") || !sel4_number(&s, end, 10, &b.number) || s >= end ||
	    *s++ != ':' || !sel4_number(&s, end, 10, &b.packed) || s >= end || *s++ != ':' ||
	    !sel4_number(&s, end, 10, &b.unpacked) || s != end)
		return false;
	close_block(p);
	if (b.number > p->next_block && b.number - p->next_block < 1u << 24) {
		problem(p, l->offset, 0,
			"expected block %" PRIu64 ", found block %" PRIu64
			": the ones between are missing",
			p->next_block, b.number);
		add_gap(p, 0);
	}
	p->next_block = b.number + 1;
	open_block(p, &b);
	return true;
}

static bool tail_line(struct dump_parser *p, const struct sel4_log_line *l)
{
	struct block b = {.raw = true, .sized = true, .offset = l->offset};
	const char *s = l->text + 17, *end = l->text + l->len;
	uint64_t words;

	if (!sel4_line_starts(l, "TAIL_RAW_ENTRIES:"))
		return false;
	while (s < end && sel4_is_blank(*s))
		s++;
	if (!sel4_number(&s, end, 10, &words) || s != end || words > p->bytes)
		return false;
	close_block(p);
	if (p->d->meta.header[SEL4_KEY_BLOCKS].given &&
	    (uint64_t)p->d->meta.header[SEL4_KEY_BLOCKS].number > p->next_block) {
		problem(p, l->offset, 0, "%" PRId64 " blocks announced, %" PRIu64 " found",
			p->d->meta.header[SEL4_KEY_BLOCKS].number, p->next_block);
		add_gap(p, 0);
	}
	b.packed = b.unpacked = words * 2;
	open_block(p, &b);
	if (!words)
		p->block.open = false;
	return true;
}

static bool is_body_text(const struct dump_parser *p, const struct sel4_log_line *l)
{
	for (size_t i = 0; i < l->len; i++) {
		unsigned char c = (unsigned char)l->text[i];
		bool alnum = sel4_is_digit((char)c) || ((c | 32) >= 'a' && (c | 32) <= 'z');

		if (alnum)
			continue;
		if (p->base91 ? !strchr(WIRE_SEL4_BASE91_DIGITS, c) || !c
			      : c != '+' && c != '/' && c != '=')
			return false;
	}
	return l->len > 0;
}

static void body_line(struct dump_parser *p, const struct sel4_log_line *l)
{
	struct sel4_body *b = &p->body;

	if (!p->block.open || !is_body_text(p, l))
		return;
	if (!VEC_ROOM(b->lines, b->nr_lines, b->room)) {
		p->error = -ENOMEM;
		return;
	}
	b->lines[b->nr_lines++] = (struct sel4_line){l->text, l->len};
}

/* ---- header, dictionary, trailer ---- */

static void set_checksum(struct dump_parser *p, const char *s, const char *end)
{
	uint64_t v;

	if (end - s > 6 && !memcmp(s, "crc32:", 6))
		s += 6;
	if (sel4_number(&s, end, 16, &v) && v <= UINT32_MAX) {
		p->d->meta.checksum = (uint32_t)v;
		p->d->meta.has_checksum = true;
	}
}

/* At the end of a dump it is no header key: ftrace.meta calls it expected_checksum. */
static void checksum_line(struct dump_parser *p, const struct sel4_log_line *l)
{
	const char *s = l->text + strlen("CHECKSUM:"), *end = l->text + l->len;

	while (s < end && sel4_is_blank(*s))
		s++;
	set_checksum(p, s, end);
}

static bool header_line(struct dump_parser *p, const struct sel4_log_line *l)
{
	const char *colon = memchr(l->text, ':', l->len), *end = l->text + l->len, *s;
	struct sel4_meta *m = &p->d->meta;

	for (int k = 0; colon && k < SEL4_NR_KEYS; k++) {
		enum sel4_key_kind kind;
		const char *name = sel4_key_name((enum sel4_key)k, &kind);
		struct sel4_value *v = &m->header[k];
		uint64_t n = 0;

		if (strlen(name) != (size_t)(colon - l->text) ||
		    memcmp(name, l->text, strlen(name)) != 0)
			continue;
		for (s = colon + 1; s < end && sel4_is_blank(*s); s++)
			;
		if (kind == SEL4_KIND_INT &&
		    (!sel4_number(&s, end, 10, &n) || s != end || n > INT64_MAX)) {
			problem(p, l->offset, l->len, "expected a number after %s:", name);
			return true;
		}
		if (!v->given)
			v->order = (uint8_t)m->nr_header++;
		v->given = true;
		v->number =
			kind == SEL4_KIND_BOOL ? end - s == 3 && !memcmp(s, "YES", 3) : (int64_t)n;
		snprintf(v->text, sizeof(v->text), "%.*s",
			 kind == SEL4_KIND_TEXT ? (int)(end - s) : 0, s);
		if (k == SEL4_KEY_CHECKSUM)
			set_checksum(p, s, end);
		return true;
	}
	return false;
}

static bool dict_line(struct dump_parser *p, const struct sel4_log_line *l)
{
	const char *s = l->text, *end = l->text + l->len;
	struct sel4_meta *m = &p->d->meta;
	uint64_t index, addr;

	if (!sel4_number(&s, end, 10, &index) || s >= end || *s++ != ':' ||
	    !sel4_number(&s, end, 16, &addr) || s != end)
		return false;
	if (index > WIRE_SEL4_FUNC_LAST) {
		problem(p, l->offset, l->len, "function index %" PRIu64 " is not possible", index);
		return true;
	}
	for (size_t i = 0; i < m->nr_functions; i++) {
		if (m->functions[i].index == index) {
			m->functions[i].addr = addr;
			return true;
		}
	}
	if (!VEC_MORE(m->functions, m->nr_functions)) {
		p->error = -ENOMEM;
		return true;
	}
	m->functions[m->nr_functions++] = (struct sel4_function){(uint32_t)index, addr};
	return true;
}

static bool is_stream(const struct dump_parser *p)
{
	const struct sel4_value *h = p->d->meta.header;

	return h[SEL4_KEY_TYPE].given || h[SEL4_KEY_VERSION].number >= 3;
}

/* Versions 1 and 2 have one body without a BLOCK line. */
static void enter_body(struct dump_parser *p, uint64_t offset)
{
	const struct sel4_value *h = p->d->meta.header;
	struct block b = {.offset = offset};

	p->part = PART_BODY;
	if (is_stream(p))
		return;
	b.raw = !h[SEL4_KEY_RAW_SIZE].given;
	b.unpacked = (uint64_t)h[SEL4_KEY_RAW_SIZE].number;
	b.sized = h[SEL4_KEY_COMPRESSED_SIZE].given && !b.raw;
	b.packed = (uint64_t)h[SEL4_KEY_COMPRESSED_SIZE].number;
	open_block(p, &b);
}

static void enter_dict(struct dump_parser *p)
{
	const struct sel4_value *type = &p->d->meta.header[SEL4_KEY_TYPE];

	p->part = PART_DICT;
	if (type->given && strcmp(type->text, "FTRACE_STREAM") != 0) {
		problem(p, p->d->offset, 0, "a dump of type %s is not a function trace",
			type->text);
		p->part = PART_FOREIGN;
	}
}

static void check_dump(struct dump_parser *p)
{
	struct sel4_meta *m = &p->d->meta;
	const struct sel4_value *total = &m->header[SEL4_KEY_TOTAL_ENTRIES];
	const struct sel4_value *dict = &m->header[SEL4_KEY_DICT_SIZE];
	uint32_t crc;

	if (m->raw_bytes % 2)
		problem(p, p->d->offset, 1, "the stream has an odd number of bytes");
	if (dict->given && (uint64_t)dict->number != m->nr_functions)
		problem(p, p->d->offset, 0,
			"DICT_SIZE is %" PRId64 ", the dictionary has %zu lines", dict->number,
			m->nr_functions);
	if (m->nr_gaps || p->d->cut)
		return; /* reported already: nothing to compare with */
	if (total->given && (uint64_t)total->number != m->raw_bytes / 2)
		problem(p, p->d->offset, 0,
			"TOTAL_ENTRIES is %" PRId64 ", the blocks hold %" PRIu64, total->number,
			m->raw_bytes / 2);
	crc = (uint32_t)crc32_z(0, p->d->raw, m->raw_bytes);
	if (m->has_checksum && crc != m->checksum)
		problem(p, p->d->offset, 0, "CHECKSUM is %08x, the data has %08x", m->checksum,
			crc);
}

static void close_dump(struct dump_parser *p, bool cut, uint64_t offset)
{
	if (!p->d)
		return;
	p->d->cut = cut;
	if (cut)
		problem(p, offset, 0, "the dump that starts at 0x%" PRIx64 " has no END line",
			p->d->offset);
	close_block(p);
	if (p->part == PART_FOREIGN || (p->part == PART_HEADER && !p->d->meta.raw_bytes)) {
		if (p->part == PART_HEADER)
			enter_dict(p);
		sel4_meta_free(&p->d->meta);
		free(p->d->raw);
		p->nr_dumps--;
	} else {
		check_dump(p);
	}
	p->d = NULL;
}

/* One per CPU and boot. Each may buy a dictionary of 256 KB with a few lines. */
#define DUMPS_MAX 512u

static void open_dump(struct dump_parser *p, const struct sel4_log_line *l, const char *at)
{
	if (p->nr_dumps == DUMPS_MAX) {
		problem(p, l->offset, 0, "more than %u dumps: this one is skipped", DUMPS_MAX);
		return;
	}
	if (!VEC_MORE(p->dumps, p->nr_dumps)) {
		p->error = -ENOMEM;
		return;
	}
	p->d = &p->dumps[p->nr_dumps++];
	*p->d = (struct sel4_dump){.offset = l->offset};
	p->part = PART_HEADER;
	p->next_block = 0;
	p->raw_room = 0;
	p->block.open = false;
	p->prefix.len = (size_t)(at - l->text);
	if (p->prefix.len > SEL4_PREFIX_MAX)
		p->prefix.len = 0;
	memcpy(p->prefix.text, l->text, p->prefix.len);
}

static void in_header(struct dump_parser *p, const struct sel4_log_line *l)
{
	if (sel4_line_is(l, WIRE_SEL4_DUMP_RULE))
		enter_dict(p);
	else if (dict_line(p, l))
		p->part = PART_DICT;
	else if (!header_line(p, l) && p->base91 && !p->d->meta.nr_header && is_body_text(p, l)) {
		enter_body(p, l->offset);
		body_line(p, l);
	}
}

static void in_body(struct dump_parser *p, const struct sel4_log_line *l)
{
	if (sel4_line_is(l, WIRE_SEL4_DUMP_RULE)) {
		close_block(p);
		p->part = PART_TRAILER;
	} else if (sel4_line_starts(l, "CHECKSUM:")) {
		close_block(p);
		p->part = PART_TRAILER;
		checksum_line(p, l);
	} else if (!block_line(p, l) && !tail_line(p, l)) {
		body_line(p, l);
	}
}

static void dump_line(struct dump_parser *p, struct sel4_log_line *l)
{
	sel4_line_strip(l, &p->prefix);
	switch (p->part) {
	case PART_HEADER: in_header(p, l); break;
	case PART_DICT:
		if (sel4_line_is(l, WIRE_SEL4_DUMP_RULE))
			enter_body(p, l->offset);
		else if (!dict_line(p, l) && (block_line(p, l) || tail_line(p, l)))
			p->part = PART_BODY;
		break;
	case PART_BODY: in_body(p, l); break;
	case PART_TRAILER:
		if (sel4_line_starts(l, "CHECKSUM:"))
			checksum_line(p, l);
		break;
	case PART_FOREIGN: break;
	}
}

static void one_line(struct dump_parser *p, struct sel4_log_line *l)
{
	const char *at = sel4_line_find(l, WIRE_SEL4_DUMP_START), *at91 = NULL;

	if (!at)
		at91 = sel4_line_find(l, WIRE_SEL4_DUMP91_START);
	if (at || at91) {
		close_dump(p, true, l->offset);
		p->base91 = !at;
		open_dump(p, l, at ? at : at91);
	} else if (p->d &&
		   sel4_line_find(l, p->base91 ? WIRE_SEL4_DUMP91_END : WIRE_SEL4_DUMP_END)) {
		close_dump(p, false, l->offset);
	} else if (p->d) {
		dump_line(p, l);
	}
}

bool sel4_dump_start(const char *text, size_t bytes)
{
	const struct sel4_log_line all = {.text = text, .len = bytes};

	return sel4_line_find(&all, WIRE_SEL4_DUMP_START) ||
	       sel4_line_find(&all, WIRE_SEL4_DUMP91_START);
}

int sel4_dumps_read(const char *text, size_t bytes, const struct sel4_report *report,
		    struct sel4_dump **out, size_t *nr)
{
	struct dump_parser p = {.log = text, .bytes = bytes, .report = report};
	size_t at = 0;

	while (at < bytes && !p.error) {
		const char *end = memchr(text + at, '\n', bytes - at);
		size_t len = end ? (size_t)(end - text) - at : bytes - at;
		struct sel4_log_line l = {.text = text + at, .len = len, .offset = at};

		one_line(&p, &l);
		at += len + 1;
	}
	close_dump(&p, true, bytes);
	free(p.body.lines);
	*out = p.dumps;
	*nr = p.nr_dumps;
	if (p.error || !p.nr_dumps) {
		sel4_dumps_free(p.dumps, p.nr_dumps);
		*out = NULL;
		*nr = 0;
	}
	return p.error;
}

void sel4_dumps_free(struct sel4_dump *d, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		sel4_meta_free(&d[i].meta);
		free(d[i].raw);
	}
	free(d);
}
