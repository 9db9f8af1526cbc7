/* SPDX-License-Identifier: MIT */
/* page.c -- the page that draws a trace over time, and what it asks for first; with all answers in it, a file for itself. */
#include "view/page/page.h"
#include "base/json.h"
#include "base/vec.h"
#include "view/embed.h"
#include "view/eventline.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define EVENTS_MAX   20000u /* that a page for itself lists */
#define COUNT_LEVELS 5u	    /* of marks: sums of 8,192 parts */
#define FIRST_LEVELS \
	5u /* that the first picture needs: 4,096 parts are as many as pixels of a wide screen */

EMBED(page_css, "tools/view/page/page.css");
EMBED(page_body, "tools/view/page/page.html");
EMBED(js_format, "tools/view/page/format.js");
EMBED(js_data, "tools/view/page/data.js");
EMBED(js_rows, "tools/view/page/rows.js");
EMBED(js_draw, "tools/view/page/draw.js");
EMBED(js_range, "tools/view/page/range.js");
EMBED(js_list, "tools/view/page/list.js");
EMBED(js_search, "tools/view/page/search.js");
EMBED(js_stacks, "tools/view/page/stacks.js");
EMBED(js_why, "tools/view/page/why.js");
EMBED(js_live, "tools/view/page/live.js");
EMBED(js_input, "tools/view/page/input.js");

/* ---- the first answer ---- */

void page_lane(struct json *j, const struct lane *k, uint64_t number)
{
	json_open(j, NULL, '[');
	json_u64(j, NULL, number);
	json_u64(j, NULL, k->kind);
	json_u64(j, NULL, k->id);
	json_u64(j, NULL, k->depth);
	json_u64(j, NULL, k->cpu);
	json_u64(j, NULL, k->nr);
	for (uint32_t i = 0; i < LANE_CLASSES; i++)
		json_u64(j, NULL, k->sum[i]);
	json_close(j, ']');
}

char *page_meta(struct source *s, const struct lanes *l, const char *title, size_t *bytes)
{
	char start[32], *text = NULL;
	FILE *f = open_memstream(&text, bytes);
	struct json j;

	if (!f)
		return NULL;
	snprintf(start, sizeof(start), "%" PRIu64, l->start);
	json_init(&j, f, false);
	json_open(&j, NULL, '{');
	json_str(&j, "title", title);
	json_str(&j, "start", start);
	json_u64(&j, "span", l->span);
	json_u64(&j, "scale", l->scale);
	json_bool(&j, "ns", s->unit == CLOCK_NS);
	json_bool(&j, "live", l->put_meta);
	json_u64(&j, "events", l->nr_events);
	json_open(&j, "lanes", '[');
	for (uint64_t i = 0; i < l->nr_lanes; i++)
		page_lane(&j, &l->lane[i], i);
	json_close(&j, ']');
	fputc(',', f);
	if (l->put_meta)
		l->put_meta(l, f);
	else
		fwrite(l->meta, 1, l->meta_bytes, f);
	fputc('}', f);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}

/* ---- the page ---- */

static void put_html(FILE *out, const char *s)
{
	for (; *s; s++)
		if (*s == '<' || *s == '&')
			fprintf(out, "&#%d;", *s);
		else
			fputc(*s, out);
}

static void put_head(const char *title, FILE *out)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'\">\n"
	      "<title>",
	      out);
	put_html(out, title);
	fprintf(out, "</title>\n<style>\n%s</style></head>\n<body>\n%s", page_css, page_body);
}

static void put_scripts(FILE *out)
{
	fprintf(out, "<script>\n\"use strict\";\n%s%s%s%s%s%s%s%s%s%s%s</script>\n", js_format,
		js_data, js_rows, js_draw, js_range, js_list, js_search, js_stacks, js_why, js_live,
		js_input);
}

/* JSON inside a page: a name may hold what would end the script. */
static void put_json(const char *text, size_t n, FILE *out)
{
	fputs("<script id=\"asked\" type=\"application/json\">", out);
	for (size_t i = 0; i < n; i++)
		if (text[i] == '<')
			fputs("\\u003c", out);
		else
			fputc(text[i], out);
	fputs("</script>\n", out);
}

void page_shell(const char *title, const char *meta, size_t n, FILE *out)
{
	put_head(title, out);
	put_json(meta, n, out);
	put_scripts(out);
	fputs("</body></html>\n", out);
}

/* ---- answers inside ---- */

static void put_base64(FILE *out, const uint8_t *p, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? p[i + 1] : 0u) << 8 |
			     (i + 2 < n ? p[i + 2] : 0u);
		char text[4] = {digits[v >> 18], digits[v >> 12 & 63], digits[v >> 6 & 63],
				digits[v & 63]};

		if (i + 1 >= n)
			text[2] = '=';
		if (i + 2 >= n)
			text[3] = '=';
		fwrite(text, 1, 4, out);
	}
}

/* Bytes that are packed as they come. */
struct packer {
	z_stream z;
	struct tile_bytes out;
};

static bool pack(struct packer *p, const void *bytes, size_t n, int flush)
{
	p->z.next_in = (Bytef *)(uintptr_t)bytes;
	p->z.avail_in = (uInt)n;
	do {
		if (!VEC_ROOM(p->out.v, p->out.n + 4096, p->out.cap))
			return false;
		p->z.next_out = p->out.v + p->out.n;
		p->z.avail_out = (uInt)(p->out.cap - p->out.n);
		if (deflate(&p->z, flush) == Z_STREAM_ERROR)
			return false;
		p->out.n = p->out.cap - p->z.avail_out;
	} while (!p->z.avail_out);
	return true;
}

static bool pack_begin(struct packer *p)
{
	memset(p, 0, sizeof(*p));
	return deflateInit2(&p->z, 6, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) == Z_OK;
}

static void pack_free(struct packer *p)
{
	deflateEnd(&p->z);
	free(p->out.v);
}

static void put_packed(const char *id, const struct tile_bytes *b, FILE *out)
{
	fprintf(out, "<script id=\"%s\" type=\"text/plain\">", id);
	put_base64(out, b->v, b->n);
	fputs("</script>\n", out);
}

static int put_text(const char *id, const char *text, size_t n, uint64_t *room, FILE *out)
{
	struct packer p;
	int err = -ENOMEM;

	if (!pack_begin(&p))
		return -ENOMEM;
	if (pack(&p, text, n, Z_FINISH)) {
		err = p.out.n / 3 * 4 > *room ? -ENOSPC : 0;
		if (!err)
			put_packed(id, &p.out, out);
		*room -= err ? 0 : p.out.n / 3 * 4;
	}
	pack_free(&p);
	return err;
}

/* Levels of tiles; lanes of which a level has every span need no finer one. */
struct tiling {
	const struct lanes *l;
	bool *done, *coarse; /* by lane: needs no finer level; this level has sums of it */
	uint32_t level;	     /* the next one */
	uint64_t open;	     /* lanes that need it */
	uint32_t groups;     /* of levels that are on the page */
};

static bool put_tiles_at(struct tiling *t, struct packer *p, uint64_t index)
{
	struct tile_bytes b = {0};
	uint32_t head[4] = {htole32(t->level), htole32((uint32_t)index), 0, 0};
	bool ok;

	for (uint64_t k = 0; k < t->l->nr_lanes; k++) {
		size_t at = b.n;

		if (!t->done[k] && tile_put(t->l, k, t->level, index, &b) && b.n > at)
			t->coarse[k] |= b.v[at + 4] != TILE_SPANS;
	}
	head[2] = htole32((uint32_t)b.n);
	ok = !b.failed && pack(p, head, sizeof(head), Z_NO_FLUSH) && pack(p, b.v, b.n, Z_NO_FLUSH);
	free(b.v);
	return ok;
}

/* How many lanes need finer levels after this one. Of lanes that count, a few levels are enough. */
static uint64_t note_done(struct tiling *t)
{
	uint64_t open = 0;

	for (uint64_t k = 0; k < t->l->nr_lanes; k++) {
		t->done[k] |= !t->coarse[k] ||
			      (lane_counts(t->l->lane[k].kind) && t->level >= COUNT_LEVELS);
		t->coarse[k] = false;
		open += !t->done[k];
	}
	return open;
}

/* These levels together; -ENOSPC if they do not fit completely: then none is written. */
static int put_levels(struct tiling *t, uint32_t levels, uint64_t *room, FILE *out)
{
	uint32_t end = t->level + levels;
	char id[32];
	struct packer p;
	int err = pack_begin(&p) ? 0 : -ENOMEM;

	if (err)
		return err;
	snprintf(id, sizeof(id), "tiles-%u", t->groups);
	for (; !err && t->open && t->level < end && t->level <= tile_levels(t->l); t->level++) {
		for (uint64_t i = 0; !err && !(i >> t->level); i++)
			err = !put_tiles_at(t, &p, i)	? -ENOMEM
			      : p.out.n / 3 * 4 > *room ? -ENOSPC
							: 0;
		if (!err)
			t->open = note_done(t);
	}
	if (!err && !pack(&p, NULL, 0, Z_FINISH))
		err = -ENOMEM;
	if (!err) {
		put_packed(id, &p.out, out);
		*room -= p.out.n / 3 * 4;
		t->groups++;
	} else {
		t->level = end - levels;
	}
	pack_free(&p);
	return err;
}

/* Those of the first picture, as many as fit. */
static int put_first_levels(struct tiling *t, uint64_t *room, FILE *out)
{
	int err = -ENOSPC;

	for (uint32_t n = FIRST_LEVELS; n && err == -ENOSPC; n--) {
		memset(t->done, 0, t->l->nr_lanes);
		memset(t->coarse, 0, t->l->nr_lanes);
		t->open = 1;
		err = put_levels(t, n, room, out);
	}
	return err;
}

/* Finer ones until all spans are there or the room is used. */
static int put_more_levels(struct tiling *t, uint64_t *room, FILE *out)
{
	int err = 0;

	while (!err && t->open && t->level <= tile_levels(t->l))
		err = put_levels(t, 1, room, out);
	return err == -ENOSPC ? 0 : err;
}

int page_events(struct source *s, const struct page_events *o, FILE *out, uint64_t *nr)
{
	struct scan *sc = scan_open(s, o->choice, NULL);
	struct eventline *line = sc ? eventline_new(s) : NULL;
	const struct event *e = NULL;
	struct json j;

	*nr = 0;
	if (!line) {
		scan_close(sc);
		return -ENOMEM;
	}
	if (o->skip)
		scan_skip(sc, o->skip);
	json_init(&j, out, false);
	json_open(&j, NULL, '{');
	json_open(&j, "events", '[');
	while (*nr < o->max && (e = scan_next(sc))) {
		json_open(&j, NULL, '{');
		json_u64(&j, "t", e->time > o->start ? e->time - o->start : 0);
		eventline_json(line, e, scan_number(sc), &j);
		json_close(&j, '}');
		++*nr;
	}
	json_close(&j, ']');
	json_bool(&j, "more", e && scan_next(sc));
	json_close(&j, '}');
	eventline_free(line);
	scan_close(sc);
	return 0;
}

static int put_events(struct source *s, uint64_t start, const struct page_options *o,
		      uint64_t *room, FILE *out)
{
	char *text = NULL;
	size_t n = 0;
	uint64_t nr;
	FILE *f = open_memstream(&text, &n);
	int err = f ? page_events(s,
				  &(struct page_events){
					  .choice = o->choice, .start = start, .max = EVENTS_MAX},
				  f, &nr)
		    : -ENOMEM;

	if (f && fclose(f))
		err = -ENOMEM;
	if (!err)
		err = put_text("events", text, n, room, out);
	free(text);
	return err;
}

/* What the first picture needs stands before the scripts: they draw it while the browser reads the rest. */
static int put_answers(struct source *s, struct tiling *t, const struct page_options *o,
		       uint64_t room, FILE *out, struct page_result *r)
{
	int err = put_first_levels(t, &room, out);

	put_scripts(out);
	if (!err)
		err = put_more_levels(t, &room, out);
	r->parts = TILE_PARTS << (t->level ? t->level - 1 : 0);
	r->all = !t->open;
	if (!err && t->l->nr_events <= EVENTS_MAX) {
		err = put_events(s, t->l->start, o, &room, out);
		r->listed = !err;
		err = err == -ENOSPC ? 0 : err;
	}
	fputs("</body></html>\n", out);
	return err;
}

int page_write(struct source *s, const struct lanes *l, const struct page_options *o, FILE *out,
	       struct page_result *r)
{
	uint64_t room = o->max_bytes > (200u << 10) ? o->max_bytes - (200u << 10) : 0;
	struct tiling t = {.l = l,
			   .done = calloc(l->nr_lanes + 1, sizeof(bool)),
			   .coarse = calloc(l->nr_lanes + 1, sizeof(bool)),
			   .open = 1};
	size_t n;
	char *meta = page_meta(s, l, o->title, &n);
	int err = -ENOMEM;

	*r = (struct page_result){.events = l->nr_events};
	if (meta && t.done && t.coarse) {
		put_head(o->title, out);
		err = put_text("meta", meta, n, &room, out);
		if (!err)
			err = put_answers(s, &t, o, room, out, r);
	}
	free(meta);
	free(t.done);
	free(t.coarse);
	return err;
}
