/* SPDX-License-Identifier: MIT */
/* flame_svg.c -- the flame graph as one self-contained, interactive SVG (or an HTML page around it). */
#include "view/flame.h"
#include "base/vec.h"
#include "view/embed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * The file has two layers. A plain drawing of rectangles, for viewers that run no scripts, for print, and for the moment
 * before the script runs; and the tree itself as numbers, from which the script (flame.js) draws again at any zoom and
 * any width. The numbers hold more than the drawing: frames down to DETAIL of what is drawn first, at most FRAMES_MAX.
 */
#define ROW	   17
#define TOP	   62
#define BOTTOM	   36
#define SIDE	   10
#define CHAR_PX	   7.23 /* of the monospaced font at 12 px */
#define DETAIL	   16
#define FRAMES_MAX 24000

EMBED(flame_js, "tools/view/flame.js");
EMBED(flame_css, "tools/view/flame.css");

struct box {
	uint32_t node, depth;
	uint64_t x;
};

struct boxes {
	struct box *v;
	size_t n, cap;
	uint32_t depth;
};

static uint32_t style_width(const struct flame_style *s)
{
	return s->width ? s->width : 1200;
}

uint64_t flame_least(const struct flame *f, const struct flame_style *s)
{
	uint64_t total = 0;
	double px = s->min_px > 0 ? s->min_px : 0.1;

	if (s->all)
		return 0;
	for (size_t i = 0; i < f->nr; i++)
		total += f->node[i].self;
	return (uint64_t)((double)total * px / (style_width(s) - 2 * SIDE)) / DETAIL;
}

static bool push(struct boxes *b, uint32_t node, uint32_t depth, uint64_t x)
{
	if (!VEC_ROOM(b->v, b->n, b->cap))
		return false;
	b->v[b->n++] = (struct box){node, depth, x};
	if (depth > b->depth)
		b->depth = depth;
	return true;
}

/* Breadth first from the root: boxes double as the queue. A child starts where its elder sibling ends. */
static void layout(const struct flame *f, uint64_t least, struct boxes *b)
{
	b->n = 0;
	b->depth = 0;
	push(b, 0, 0, 0);
	for (size_t i = 0; i < b->n; i++) {
		uint64_t x = b->v[i].x;

		for (uint32_t c = f->node[b->v[i].node].child; c; c = f->node[c].sibling) {
			if (f->node[c].total && f->node[c].total >= least) {
				if (!push(b, c, b->v[i].depth + 1, x))
					return;
			}
			x += f->node[c].total;
		}
	}
}

static void put_xml(const char *p, size_t n, FILE *out)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		switch (c) {
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '&': fputs("&amp;", out); break;
		case '"': fputs("&quot;", out); break;
		default: fputc_unlocked(c < 32 || c == 127 ? '?' : c, out);
		}
	}
}

/* A JS string inside CDATA: no quote, backslash or control character as they are, and no `]]>`. */
static void put_js(const char *p, size_t n, FILE *out)
{
	fputc('"', out);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c < 32 || c == '"' || c == '\\' || c == '>' || c == '<' || c == 127)
			fprintf(out, "\\x%02x", c);
		else
			fputc_unlocked(c, out);
	}
	fputc('"', out);
}

#define FLAME_EQUAL 0.001 /* shares that differ by less of themselves are the same: grey */

/*
 * Colours: kernel blue, user orange, told apart by all kinds of colour vision and in print by their lightness; inlined
 * frames paler, unknown grey. Neighbours differ a little by their name, so that edges are seen.
 */
static void put_colour(const struct flame *f, const struct flame_node *k, FILE *out)
{
	const struct flame_name *name = &f->name[k->name];
	static const struct {
		int h, s, l;
	} base[] = {
		[FLAME_AUTO] = {33, 85, 66},  [FLAME_ROOT] = {0, 0, 88},
		[FLAME_GROUP] = {0, 0, 82},   [FLAME_KERNEL] = {205, 62, 70},
		[FLAME_USER] = {33, 88, 68},  [FLAME_INLINED] = {48, 70, 78},
		[FLAME_UNKNOWN] = {0, 0, 74},
	};
	uint32_t h = 2166136261u;

	if (f->compared) {
		double now = f->node[0].total ? (double)k->total / (double)f->node[0].total : 0;
		double was = f->node[0].other ? (double)k->other / (double)f->node[0].other : 0;
		double d = now + was > 0 ? (now - was) / (now > was ? now : was) : 0;

		if (d > -FLAME_EQUAL && d < FLAME_EQUAL)
			fputs("hsl(0,0%,86%)", out);
		else
			fprintf(out, "hsl(%d,75%%,%d%%)", d > 0 ? 25 : 215,
				(int)(94 - 34 * (d < 0 ? -d : d)));
		return;
	}
	for (uint32_t i = 0; i < name->bytes; i++)
		h = (h ^ (unsigned char)name->text[i]) * 16777619u;
	fprintf(out, "hsl(%d,%d%%,%d%%)",
		base[name->kind].h + (base[name->kind].s ? (int)(h >> 8 & 15) - 7 : 0),
		base[name->kind].s, base[name->kind].l + (int)(h >> 16 & 7) - 3);
}

/* Of BINARY`function the function first, where there is no room for both. */
static void put_label(const struct flame_name *name, size_t chars, FILE *out)
{
	const char *text = name->text, *tick;
	size_t bytes = name->bytes;

	if (bytes > chars && (tick = memrchr(text, '`', bytes))) {
		bytes -= (size_t)(tick + 1 - text);
		text = tick + 1;
	}
	put_xml(text, bytes > chars ? chars - 2 : bytes, out);
	if (bytes > chars)
		fputs("..", out);
}

static void put_static(const struct flame *f, const struct flame_style *s, const struct boxes *b,
		       uint32_t height, FILE *out)
{
	double scale = (double)(style_width(s) - 2 * SIDE) /
		       (double)(f->node[0].total ? f->node[0].total : 1);
	double least = s->all ? 0 : s->min_px > 0 ? s->min_px : 0.1;

	fputs("<g id=\"static\">\n", out);
	for (size_t i = 0; i < b->n; i++) {
		const struct flame_node *k = &f->node[b->v[i].node];
		double x = SIDE + (double)b->v[i].x * scale, w = (double)k->total * scale;
		uint32_t y = s->icicle ? TOP + b->v[i].depth * ROW
				       : height - BOTTOM - (b->v[i].depth + 1) * ROW;
		int chars = (int)((w - 4) / CHAR_PX);

		if (w < least)
			continue;
		fprintf(out, "<rect x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%d\" fill=\"", x, y,
			w, ROW - 1);
		put_colour(f, k, out);
		fputs("\"/>", out);
		if (chars >= 3) {
			fprintf(out, "<text x=\"%.1f\" y=\"%u\">", x + 2, y + 12);
			put_label(&f->name[k->name], (size_t)chars, out);
			fputs("</text>", out);
		}
		fputc('\n', out);
	}
	fputs("</g>\n", out);
}

/* The tree as numbers: per frame depth, x, width, name, kind (and the other trace's total). Only names that occur. */
static void put_data(const struct flame *f, const struct flame_style *s, const struct boxes *b,
		     FILE *out)
{
	uint32_t *id = calloc(f->nr_names, sizeof(*id)), nr = 0;

	if (!id)
		return;
	fputs("const names=[\"\"", out);
	for (size_t i = 0; i < b->n; i++) {
		uint32_t name = f->node[b->v[i].node].name;

		if (id[name])
			continue;
		id[name] = ++nr;
		fputc(',', out);
		put_js(f->name[name].text, f->name[name].bytes, out);
	}
	fputs("];\nconst data=[", out);
	for (size_t i = 0; i < b->n; i++) {
		const struct flame_node *k = &f->node[b->v[i].node];

		fprintf(out, "%s%u,%" PRIu64 ",%" PRIu64 ",%u,%u,%" PRIu64, i ? "," : "",
			b->v[i].depth, b->v[i].x, k->total, id[k->name], f->name[k->name].kind,
			k->other);
	}
	fprintf(out,
		"];\nconst meta={compared:%s,icicle:%s,leftOut:%zu,otherTotal:%" PRIu64 ",unit:",
		f->compared ? "true" : "false", s->icicle ? "true" : "false",
		(size_t)(f->nr - b->n + f->pruned), f->node[0].other);
	put_js(s->unit, strlen(s->unit), out);
	fputs("};\n", out);
	free(id);
}

/* As many frames as the file should hold: the detail gives way, by powers of two, before the file grows without bound. */
static void choose(const struct flame *f, const struct flame_style *s, struct boxes *b)
{
	uint64_t least = flame_least(f, s), count[65] = {0}, sum = 0;
	int bits = 64;

	for (size_t i = 0; i < f->nr; i++)
		count[f->node[i].total ? 64 - __builtin_clzll(f->node[i].total) : 0]++;
	while (bits > 0 && sum + count[bits] <= FRAMES_MAX)
		sum += count[bits--];
	if (!s->all && bits > 0 && (uint64_t)1 << (bits - 1) >= least)
		least = bits < 64 ? (uint64_t)1 << bits : UINT64_MAX;
	layout(f, least, b);
}

void flame_svg(const struct flame *f, const struct flame_style *s, FILE *out)
{
	struct boxes b = {0};
	uint32_t height, width = style_width(s);

	choose(f, s, &b);
	height = TOP + (b.depth + 1) * ROW + BOTTOM;
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" id=\"flame\" "
		"width=\"%u\" height=\"%u\" "
		"viewBox=\"0 0 %u %u\">\n<style><![CDATA[\n%s]]></style>\n"
		"<rect id=\"paper\" width=\"100%%\" height=\"100%%\"/>\n<text id=\"title\" "
		"x=\"%u\" y=\"24\">",
		width, height, width, height, flame_css, width / 2);
	put_xml(s->title, strlen(s->title), out);
	fprintf(out, "</text>\n<text id=\"subtitle\" x=\"%u\" y=\"42\">", width / 2);
	put_xml(s->subtitle, strlen(s->subtitle), out);
	fprintf(out, "</text>\n<text id=\"details\" x=\"%d\" y=\"%u\"></text>\n", SIDE,
		height - 12);
	put_static(f, s, &b, height, out);
	fputs("<script><![CDATA[\n", out);
	put_data(f, s, &b, out);
	fputs(flame_js, out);
	fputs("]]></script>\n</svg>\n", out);
	free(b.v);
}

/* A page with the picture in it, for places that serve or mail HTML. */
void flame_html(const struct flame *f, const struct flame_style *s, FILE *out)
{
	fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", out);
	put_xml(s->title, strlen(s->title), out);
	fputs("</title><style>body{margin:0}</style></head><body>\n", out);
	/* In HTML a CDATA mark is text to the script: comment it out in both languages. */
	char *text = NULL, *p;
	size_t bytes;
	FILE *svg = open_memstream(&text, &bytes);

	if (!svg)
		return;
	flame_svg(f, s, svg);
	fclose(svg);
	p = text;
	for (char *mark; (mark = strstr(p, "<![CDATA[")); p = strstr(mark, "]]>") + 3) {
		char *end = strstr(mark, "]]>");

		fwrite(p, 1, (size_t)(mark - p), out);
		fwrite(mark + 9, 1, (size_t)(end - mark - 9), out);
	}
	fputs(p, out);
	free(text);
	fputs("</body></html>\n", out);
}
