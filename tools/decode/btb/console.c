/* SPDX-License-Identifier: MIT */
/* console.c -- find the backtracer's lines in a console log, and put broken ones together again. */
#include "decode/btb/blocks.h"
#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * What a log does to a line:
 *
 *	ESC[33mbacktrac| >=< [00000000.00] 0000000000000000 ... ESC[0m CR LF
 *
 * colours, a tag of 8 characters, CR. If another client prints meanwhile, the line is broken and continued later after
 * `tag: ` instead of `tag| `. So a `>=<` line that ends early is kept by its tag and the next `tag: ` is appended.
 */
#define MARK	   ">=<"
#define TAG_BYTES  8
#define PENDING	   16  /* tags with an open line at a time; the oldest gives way */
#define LINE_BYTES 256 /* a line of ours has 86 characters after the tag */

struct pending {
	char tag[TAG_BYTES];
	char text[LINE_BYTES];
	size_t len; /* 0: free */
	uint64_t age;
};

struct console {
	struct btb_blocks blocks;
	struct btb_loss *loss;
	struct pending pending[PENDING];
	uint32_t nr_pending;
	uint64_t age;
};

static const uint8_t hex_value[256] = {
	['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

/* Exactly `digits` hex digits at p. */
static bool hex_fixed(const char *p, int digits, uint64_t *out)
{
	uint64_t v = 0;
	uint32_t bad = 0;

	for (int i = 0; i < digits; i++) {
		uint32_t d = hex_value[(uint8_t)p[i]];

		bad |= d == 0;
		v = v << 4 | ((d - 1) & 15);
	}
	*out = v;
	return !bad;
}

/* A run of hex digits up to `stop`, 1..16 of them; NULL if it is not one. */
static const char *hex_until(const char *p, const char *end, char stop, uint64_t *out)
{
	const char *s = p;
	uint64_t v = 0;

	while (p < end && p - s < 16 && hex_value[(uint8_t)*p])
		v = v << 4 | (uint64_t)(hex_value[(uint8_t)*p++] - 1);
	if (p == s || p == end || *p != stop)
		return NULL;
	*out = v;
	return p + 1;
}

/*
 * The four words after `]`, each `digits blank`. A word with a bad digit is omitted from the mask; its neighbours stand
 * at fixed columns, so they survive it. If characters are missing or too many, only words that still stand between
 * blanks at their place are believed.
 */
static uint32_t parse_words(const char *p, const char *end, uint64_t w[4])
{
	uint32_t mask = 0;

	for (int i = 0; i < 4; i++) {
		const char *at = p + 17 * i;

		if (at + 17 > end || *at != ' ')
			break;
		if (hex_fixed(at + 1, 16, &w[i]) && (at + 17 == end || at[17] == ' '))
			mask |= 1u << i;
	}
	return mask;
}

/* A line from its mark on. Returns false if it ends early and might be continued. */
static bool parse_line(struct console *c, const char *p, const char *end, bool last)
{
	uint64_t id = 0, offset = 0, w[4] = {0};
	const char *q;

	q = p + 3;
	if (q + 1 < end && q[0] == ' ' && q[1] == '[') {
		q = hex_until(q + 2, end, '.', &id);
		if (q)
			q = hex_until(q, end, ']', &offset);
	} else {
		q = NULL;
	}
	if (!q || offset >= WIRE_BTB_BLOCK_WORDS || offset % WIRE_BTB_LINE_WORDS) {
		if (!last && end - p < 20)
			return false;
		c->loss->lines++;
		c->loss->bad_lines++;
		return true;
	}
	if (!last && end - q < 4 * 17)
		return false;
	uint32_t mask = parse_words(q, end, w);

	c->loss->lines++;
	if (mask != 15)
		c->loss->bad_lines++;
	btb_blocks_line(&c->blocks, id, (uint32_t)offset, w, mask);
	return true;
}

/* `>#< [S.N.G.g.j] W W W W` */
static void parse_parity(struct console *c, const char *p, const char *end)
{
	struct btb_parity l;
	uint64_t v[5];
	const char *q = p + 3;

	if (q + 2 > end || q[0] != ' ' || q[1] != '[')
		return;
	q += 2;
	for (int i = 0; i < 5; i++) {
		q = hex_until(q, end, i == 4 ? ']' : '.', &v[i]);
		if (!q)
			return;
	}
	if (v[1] > UINT32_MAX || v[2] == 0 || v[2] > UINT32_MAX || v[3] >= v[2] ||
	    v[4] >= WIRE_BTB_GROUP_PARITY)
		return;
	l.start = v[0];
	l.lines = (uint32_t)v[1];
	l.groups = (uint32_t)v[2];
	l.group = (uint32_t)v[3];
	l.row = (uint32_t)v[4];
	if (parse_words(q, end, l.w) == 15)
		btb_blocks_parity(&c->blocks, &l);
}

/* Drop `ESC[...m` and CR; also their `cat -v` forms `^[[..m` and `^M`, for captures that went through the original. */
static size_t strip(const char *p, const char *end, char *out, size_t size)
{
	size_t n = 0;

	while (p < end && n < size) {
		size_t esc = p[0] == '\033'				   ? 1
			     : (end - p > 1 && p[0] == '^' && p[1] == '[') ? 2
									   : 0;

		if (esc && p + esc < end && p[esc] == '[') {
			const char *q = p + esc + 1;

			while (q < end && ((*q >= '0' && *q <= '9') || *q == ';'))
				q++;
			if (q < end && *q == 'm') {
				p = q + 1;
				continue;
			}
		}
		if (*p == '\r') {
			p++;
			continue;
		}
		if (end - p >= 2 && p[0] == '^' && p[1] == 'M') {
			p += 2;
			continue;
		}
		out[n++] = *p++;
	}
	return n;
}

static struct pending *pending_of(struct console *c, const char *tag)
{
	for (int i = 0; i < PENDING; i++)
		if (c->pending[i].len && !memcmp(c->pending[i].tag, tag, TAG_BYTES))
			return &c->pending[i];
	return NULL;
}

/* What is known of an open line is still worth having. */
static void pending_finish(struct console *c, struct pending *p)
{
	if (p->len >= 3 && !memcmp(p->text, MARK, 3))
		parse_line(c, p->text, p->text + p->len, true);
	if (p->len)
		c->nr_pending--;
	p->len = 0;
}

static void pending_keep(struct console *c, const char *tag, const char *text, size_t len)
{
	struct pending *p = pending_of(c, tag);

	if (len > LINE_BYTES)
		return;
	if (p) {
		pending_finish(c, p);
	} else {
		p = &c->pending[0];
		for (int i = 0; i < PENDING; i++) {
			if (!c->pending[i].len) {
				p = &c->pending[i];
				break;
			}
			if (c->pending[i].age < p->age)
				p = &c->pending[i];
		}
		if (p->len)
			pending_finish(c, p);
	}
	memcpy(p->tag, tag, TAG_BYTES);
	memcpy(p->text, text, len);
	p->len = len;
	p->age = ++c->age;
	c->nr_pending++;
}

/* `tag: ` continues an open line of that tag. */
static bool continue_line(struct console *c, const char *s, size_t n)
{
	struct pending *p;

	if (n < TAG_BYTES + 2 || s[TAG_BYTES] != ':' || s[TAG_BYTES + 1] != ' ')
		return false;
	p = pending_of(c, s);
	if (!p)
		return false;
	s += TAG_BYTES + 2;
	n -= TAG_BYTES + 2;
	if (n > LINE_BYTES - p->len)
		n = LINE_BYTES - p->len;
	memcpy(p->text + p->len, s, n);
	p->len += n;
	if (p->len < 3)
		return true;
	if (memcmp(p->text, MARK, 3)) {
		pending_finish(c, p);
	} else if (parse_line(c, p->text, p->text + p->len, false)) {
		c->loss->joined_lines++;
		p->len = 0;
		c->nr_pending--;
	}
	return true;
}

/* `--> btbs: 1312 bytes, 164 words, 1 full blocks`, and `, parity` if its lines will come: a section begins. */
static void section_head(struct console *c, const char *p, const char *end)
{
	static const char words[] = " bytes, ";
	const char *q = memmem(p, (size_t)(end - p), words, sizeof(words) - 1);
	uint64_t n = 0;

	if (!q)
		return;
	for (q += sizeof(words) - 1; q < end && *q >= '0' && *q <= '9' && n < 1u << 24; q++)
		n = n * 10 + (uint64_t)(*q - '0');
	if (n && end - q >= 6 && !memcmp(q, " words", 6))
		btb_blocks_section(&c->blocks, (uint32_t)n,
				   memmem(q, (size_t)(end - q), ", parity", 8) != NULL);
}

/* The slow way: any line that is not a whole one. */
static void odd_line(struct console *c, const char *p, const char *end)
{
	static const char btbs[] = "--> btbs: ", parity[] = WIRE_BTB_PARITY_MARK;
	char buf[LINE_BYTES + 64];
	size_t n = strip(p, end, buf, sizeof(buf));
	const char *m = memmem(buf, n, MARK, 3);

	if (continue_line(c, buf, n))
		return;
	/* A new line of a client whose previous one is open: what was to come of that is lost. */
	if (c->nr_pending && n > TAG_BYTES && buf[TAG_BYTES] == '|') {
		struct pending *open = pending_of(c, buf);

		if (open)
			pending_finish(c, open);
	}
	if (m) {
		if (!parse_line(c, m, buf + n, false)) {
			if (m - buf == TAG_BYTES + 2 && buf[TAG_BYTES] == '|')
				pending_keep(c, buf, m, (size_t)(buf + n - m));
			else
				parse_line(c, m, buf + n, true);
		}
		return;
	}
	m = memmem(buf, n, parity, 3);
	if (m) {
		parse_parity(c, m, buf + n);
		return;
	}
	m = memmem(buf, n, btbs, sizeof(btbs) - 1);
	if (m) {
		section_head(c, m, buf + n);
		return;
	}
	/* A line that was broken inside its mark. */
	if (n > TAG_BYTES + 2 && n < TAG_BYTES + 5 && buf[TAG_BYTES] == '|' &&
	    !memcmp(buf + TAG_BYTES + 2, MARK, n - TAG_BYTES - 2))
		pending_keep(c, buf, buf + TAG_BYTES + 2, n - TAG_BYTES - 2);
}

/* A whole line `>=< [8.2] w w w w ` with nothing odd in it: the case that must be fast. */
static bool whole_line(struct console *c, const char *m, const char *end)
{
	uint64_t id, offset, w[4];

	if (end - m < 17 + 4 * 17 || memcmp(m, ">=< [", 5) || m[13] != '.' || m[16] != ']')
		return false;
	if (!hex_fixed(m + 5, 8, &id) || !hex_fixed(m + 14, 2, &offset) ||
	    offset >= WIRE_BTB_BLOCK_WORDS || offset % WIRE_BTB_LINE_WORDS)
		return false;
	if (parse_words(m + 17, end, w) != 15)
		return false;
	c->loss->lines++;
	btb_blocks_line(&c->blocks, id, (uint32_t)offset, w, 15);
	return true;
}

int btb_console_read(const char *text, size_t bytes, bool mapped, btb_section_fn fn, void *arg,
		     struct btb_loss *loss)
{
	struct console *c = calloc(1, sizeof(*c));
	const char *p = text, *stop = text + bytes;
	size_t walked = 0;
	int err;

	if (!c)
		return -ENOMEM;
	c->loss = loss;
	btb_blocks_init(&c->blocks, fn, arg, loss);
	while (p < stop) {
		const char *nl = memchr(p, '\n', (size_t)(stop - p));
		const char *end = nl ? nl : stop;
		size_t n = (size_t)(end - p);
		/* The mark stands after colour and tag, near the front; look further only in odd_line(). */
		const char *m = n > 3 ? memmem(p, n < 40 ? n : 40, MARK, 3) : NULL;

		if (!m || c->nr_pending || !whole_line(c, m, end))
			odd_line(c, p, end);
		p = end + 1;
		if (mapped)
			file_map_walked(text, bytes, n, &walked);
	}
	for (int i = 0; i < PENDING; i++)
		pending_finish(c, &c->pending[i]);
	err = btb_blocks_finish(&c->blocks);
	free(c);
	return err;
}
