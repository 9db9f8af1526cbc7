/* SPDX-License-Identifier: MIT */
/* flame_text.c -- stacks out of folded text, `a;b;c 12` a line, into the tree. */
#include "view/flame_tree.h"
#include "base/vec.h"
#include "base/diag.h"

#include <stdlib.h>
#include <string.h>

#define LINE_FRAMES 4096

static bool digits(const char *p, const char *end, uint64_t *out)
{
	uint64_t v = 0;

	if (p == end)
		return false;
	for (; p < end; p++) {
		if (*p < '0' || *p > '9') {
			/* Some tools write fractions; the whole part is what is drawn. */
			if (*p == '.' && end - p > 1)
				break;
			return false;
		}
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return false;
	}
	*out = v;
	return true;
}

/* Where the frames of the line before end, and the node of each. */
struct path {
	const char *line;
	uint32_t *end, *node;
	size_t n, cap;
};

static bool path_push(struct path *p, uint32_t end, uint32_t node)
{
	size_t cap = p->cap;

	if (!VEC_ROOM(p->end, p->n, cap) || !VEC_ROOM(p->node, p->n, p->cap))
		return false;
	p->end[p->n] = end;
	p->node[p->n++] = node;
	return true;
}

/* Keep the frames that this line shares with the one before; returns where the rest begins. */
static uint32_t path_share(struct path *p, const char *line, uint32_t bytes)
{
	uint32_t last = p->n ? p->end[p->n - 1] : 0, same = 0, most = bytes < last ? bytes : last;
	size_t keep = 0;

	while (same + 8 <= most && !memcmp(line + same, p->line + same, 8))
		same += 8;
	while (same < most && line[same] == p->line[same])
		same++;
	while (keep < p->n && p->end[keep] <= same &&
	       (p->end[keep] == bytes || line[p->end[keep]] == ';'))
		keep++;
	p->n = keep;
	p->line = line;
	return keep ? p->end[keep - 1] + 1 : 0;
}

static uint32_t add_line(struct flame *f, struct path *p, const char *line, uint32_t bytes)
{
	uint32_t at = path_share(p, line, bytes);

	while (at <= bytes && !f->failed && bytes) {
		const char *semi = memchr(line + at, ';', bytes - at);
		uint32_t end = semi ? (uint32_t)(semi - line) : bytes;
		uint32_t parent = p->n ? p->node[p->n - 1] : 0;
		uint32_t node = flame_child(f, parent, line + at, end - at, FLAME_AUTO);

		if (!path_push(p, end, node)) {
			f->failed = true;
			break;
		}
		at = end + 1;
	}
	if (p->n > f->depth)
		f->depth = p->n;
	return p->n ? p->node[p->n - 1] : 0;
}

/* Reverse order: leaf first, for --reverse. Nothing is shared between lines then. */
static uint32_t add_line_reversed(struct flame *f, const char *line, uint32_t bytes)
{
	uint32_t at = 0, end = bytes, node = 0;
	size_t n = 0;

	while (end + 1 > at && bytes) {
		const char *semi = end ? memrchr(line, ';', end) : NULL;
		uint32_t from = semi ? (uint32_t)(semi - line) + 1 : 0;

		node = flame_child(f, node, line + from, end - from, FLAME_AUTO);
		n++;
		if (!semi || f->failed)
			break;
		end = from - 1;
	}
	if (n > f->depth)
		f->depth = n;
	return node;
}

/* The frames of a line, for flame_wanted(); of a line with too many the innermost do not count. */
static bool line_wanted(struct flame *f, const char *line, uint32_t bytes)
{
	static struct flame_frame v[LINE_FRAMES];
	size_t n = 0;

	for (uint32_t at = 0; at <= bytes && n < LINE_FRAMES;) {
		const char *semi = memchr(line + at, ';', bytes - at);
		uint32_t end = semi ? (uint32_t)(semi - line) : bytes;

		v[n++] = (struct flame_frame){line + at, end - at, FLAME_AUTO};
		at = end + 1;
	}
	return flame_wanted(f, v, n, 1);
}

size_t flame_add_folded(struct flame *f, const char *text, size_t bytes, const char *file,
			bool reverse, bool other)
{
	const char *p = text, *stop = text + bytes;
	struct path path = {0};
	size_t skipped = 0;

	while (p < stop && !f->failed) {
		const char *nl = memchr(p, '\n', (size_t)(stop - p));
		const char *end = nl ? nl : stop, *next = end + 1, *blank;
		uint64_t weight;

		if (flame_prune(f))
			path.n = 0;
		while (end > p && (end[-1] == '\r' || end[-1] == ' '))
			end--;
		blank = memrchr(p, ' ', (size_t)(end - p));
		if (end == p || *p == '#') {
			p = next;
			continue;
		}
		if (!blank || blank - p > UINT32_MAX - 1 || !digits(blank + 1, end, &weight)) {
			diag_at(file, (uint64_t)(p - text), "expected `frame;frame;frame NUMBER`");
			skipped++;
			p = next;
			continue;
		}
		uint32_t len = (uint32_t)(blank - p);

		if (weight && (!(f->only || f->without) || line_wanted(f, p, len))) {
			uint32_t node =
				reverse ? add_line_reversed(f, p, len) : add_line(f, &path, p, len);

			if (!f->failed)
				flame_weigh(f, node, weight, 1, other);
		}
		p = next;
	}
	free(path.end);
	free(path.node);
	return skipped;
}
