/* SPDX-License-Identifier: MIT */
/* flame_forms.c -- the flame tree in other tools' forms: folded text, speedscope, pprof. */
#include "view/flame.h"
#include "base/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Depth first without recursion: a child stands after its parent, siblings are linked. */
struct visit {
	const struct flame *f;
	uint32_t at;
	size_t depth;
	uint32_t *path; /* nodes from the root's child down to `at` */
};

static bool visit_next(struct visit *v)
{
	const struct flame_node *node = v->f->node;

	if (node[v->at].child) {
		v->at = node[v->at].child;
		v->path[v->depth++] = v->at;
		return true;
	}
	while (v->at && !node[v->at].sibling) {
		v->at = node[v->at].parent;
		if (v->depth)
			v->depth--;
	}
	if (!v->at)
		return false;
	v->at = node[v->at].sibling;
	v->path[v->depth - 1] = v->at;
	return true;
}

static void put_name(const struct flame *f, uint32_t node, FILE *out)
{
	const struct flame_name *name = &f->name[f->node[node].name];

	fwrite_unlocked(name->text, 1, name->bytes, out);
}

/* One line per stack that has weight of its own, equal stacks summed. */
void flame_folded(const struct flame *f, FILE *out)
{
	struct visit v = {f, 0, 0, calloc(f->depth + 1, sizeof(uint32_t))};

	while (v.path && visit_next(&v)) {
		if (!f->node[v.at].self && !f->node[v.at].other_self)
			continue;
		for (size_t i = 0; i < v.depth; i++) {
			if (i)
				fputc_unlocked(';', out);
			put_name(f, v.path[i], out);
		}
		if (f->compared)
			fprintf(out, " %" PRIu64, f->node[v.at].other_self);
		fprintf(out, " %" PRIu64 "\n", f->node[v.at].self);
	}
	free(v.path);
}

static void put_json(const char *p, size_t n, FILE *out)
{
	fputc('"', out);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c < 32 || c == '"' || c == '\\')
			fprintf(out, "\\u%04x", c);
		else
			fputc_unlocked(c, out);
	}
	fputc('"', out);
}

/* speedscope's file format: shared frames, one sampled profile. */
void flame_speedscope(const struct flame *f, const struct flame_style *s, FILE *out)
{
	struct visit v = {f, 0, 0, calloc(f->depth + 1, sizeof(uint32_t))};
	const char *comma = "";

	if (!v.path)
		return;
	fputs("{\"$schema\":\"https://www.speedscope.app/"
	      "file-format-schema.json\",\"exporter\":\"fathom\",\"name\":",
	      out);
	put_json(s->title, strlen(s->title), out);
	fputs(",\"shared\":{\"frames\":[", out);
	for (uint32_t i = 0; i < f->nr_names; i++) {
		fputs(i ? ",\n{\"name\":" : "{\"name\":", out);
		put_json(f->name[i].text, f->name[i].bytes, out);
		fputc('}', out);
	}
	fprintf(out,
		"]},\"profiles\":[{\"type\":\"sampled\",\"name\":\"all\",\"unit\":\"%s\","
		"\"startValue\":0,"
		"\"endValue\":%" PRIu64 ",\"samples\":[",
		!strcmp(s->unit, "ns") ? "nanoseconds" : "none", f->node[0].total);
	while (visit_next(&v)) {
		if (!f->node[v.at].self)
			continue;
		fprintf(out, "%s[", comma);
		for (size_t i = 0; i < v.depth; i++)
			fprintf(out, "%s%u", i ? "," : "", f->node[v.path[i]].name);
		fputc(']', out);
		comma = ",\n";
	}
	fputs("],\"weights\":[", out);
	v.at = 0;
	v.depth = 0;
	for (comma = ""; visit_next(&v);) {
		if (!f->node[v.at].self)
			continue;
		fprintf(out, "%s%" PRIu64, comma, f->node[v.at].self);
		comma = ",";
	}
	fputs("]}]}\n", out);
	free(v.path);
}

/* ---- pprof: profile.proto, gzipped ---- */

struct pprof_text {
	uint8_t *p;
	size_t n, cap;
	bool failed;
};

static void put_bytes(struct pprof_text *b, const void *p, size_t n)
{
	b->failed = b->failed || !VEC_ROOM(b->p, b->n + n, b->cap);
	if (b->failed)
		return;
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
}

static void put_varint(struct pprof_text *b, uint64_t v)
{
	uint8_t buf[10];
	size_t n = 0;

	do {
		buf[n++] = (uint8_t)(v & 127) | (v > 127 ? 128 : 0);
		v >>= 7;
	} while (v);
	put_bytes(b, buf, n);
}

static void put_number(struct pprof_text *b, uint32_t field, uint64_t v)
{
	put_varint(b, field << 3);
	put_varint(b, v);
}

static void put_message(struct pprof_text *b, uint32_t field, const void *p, size_t n)
{
	put_varint(b, field << 3 | 2);
	put_varint(b, n);
	put_bytes(b, p, n);
}

/* Profile: 1 sample_type, 2 sample, 4 location, 5 function, 6 string_table. Ids count from 1, strings from "". */
static void put_profile(const struct flame *f, const struct flame_style *s, struct visit *v,
			struct pprof_text *b)
{
	struct pprof_text m = {0}, line = {0};

	put_number(&m, 1, 1);
	put_number(&m, 2, 2);
	put_message(b, 1, m.p, m.n);
	while (visit_next(v)) {
		if (!f->node[v->at].self)
			continue;
		m.n = line.n = 0;
		for (size_t i = v->depth; i-- > 0;)
			put_varint(&line, f->node[v->path[i]].name + 1); /* leaf first */
		put_message(&m, 1, line.p, line.n);
		line.n = 0;
		put_varint(&line, f->node[v->at].self);
		put_message(&m, 2, line.p, line.n);
		put_message(b, 2, m.p, m.n);
	}
	for (uint32_t i = 0; i < f->nr_names; i++) {
		m.n = line.n = 0;
		put_number(&line, 1, i + 1); /* line.function_id */
		put_number(&m, 1, i + 1);
		put_message(&m, 4, line.p, line.n);
		put_message(b, 4, m.p, m.n);
		m.n = 0;
		put_number(&m, 1, i + 1);
		put_number(&m, 2, i + 3); /* name: after "", the type and the unit */
		put_message(b, 5, m.p, m.n);
	}
	const char *type = !strcmp(s->unit, "ns") ? "time" : "samples";
	const char *unit = !strcmp(s->unit, "ns") ? "nanoseconds" : "count";

	put_message(b, 6, "", 0);
	put_message(b, 6, type, strlen(type));
	put_message(b, 6, unit, strlen(unit));
	for (uint32_t i = 0; i < f->nr_names; i++)
		put_message(b, 6, f->name[i].text, f->name[i].bytes);
	b->failed |= m.failed || line.failed;
	free(m.p);
	free(line.p);
}

static int put_gzip(const struct pprof_text *b, FILE *out)
{
	z_stream z = {.next_in = b->p, .avail_in = (uInt)b->n};
	uint8_t buf[65536] = {0};
	int rc;

	if (b->n > UINT32_MAX ||
	    deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	do {
		z.next_out = buf;
		z.avail_out = sizeof(buf);
		rc = deflate(&z, Z_FINISH);
		fwrite(buf, 1, sizeof(buf) - z.avail_out, out);
	} while (rc == Z_OK);
	deflateEnd(&z);
	return rc == Z_STREAM_END ? 0 : -EIO;
}

int flame_pprof(const struct flame *f, const struct flame_style *s, FILE *out)
{
	struct pprof_text b = {0};
	struct visit v = {f, 0, 0, calloc(f->depth + 1, sizeof(uint32_t))};
	int err = -ENOMEM;

	if (v.path) {
		put_profile(f, s, &v, &b);
		if (!b.failed)
			err = put_gzip(&b, out);
	}
	free(b.p);
	free(v.path);
	return err;
}
