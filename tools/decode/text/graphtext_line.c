/* SPDX-License-Identifier: MIT */
/* graphtext_line.c -- one line of the text of function_graph: its columns, and the call. */
#include "decode/text/graphtext.h"

#include <ctype.h>
#include <string.h>

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct words trim(const char *p, const char *end)
{
	while (p < end && *p == ' ')
		p++;
	while (end > p && end[-1] == ' ')
		end--;
	return (struct words){p, (uint32_t)(end - p)};
}

/* "12.345" in units of which there are 10^places in one; what stands after it, or NULL. */
static const char *decimal(const char *p, const char *end, unsigned places, uint64_t *out)
{
	const char *start = p;
	bool point = false;

	for (*out = 0; p < end && p - start < 18 && (digit(*p) || (*p == '.' && !point)); p++) {
		if (*p == '.') {
			point = true;
			continue;
		}
		if (point && !places)
			continue;
		places -= point;
		*out = *out * 10 + (uint64_t)(*p - '0');
	}
	while (places--)
		*out *= 10;
	return p == start ? NULL : p;
}

/* "14.757020" (seconds) or "11774 us"; the column ends at `end`. */
static bool parse_time(const char *p, const char *end, struct graph_line *out)
{
	struct words s = trim(p, end);
	const char *stop = s.p + s.n, *q;
	bool point = memchr(s.p, '.', s.n) != NULL;

	q = decimal(s.p, stop, point ? 9 : 3, &out->event.time);
	out->has_time = q && (point ? q == stop : stop - q == 3 && !memcmp(q, " us", 3));
	return out->has_time;
}

/* "335.896 us", with a mark of its length before it; nothing; or the arrows around interrupts. */
static bool parse_duration(struct words s, struct graph_line *out)
{
	const char *p = s.p, *end = s.p + s.n, *q;

	if (!s.n || (s.n > 6 && memmem(p, s.n, "=====", 5)))
		return true;
	if (strchr("+!#*$@", *p))
		p = trim(p + 1, end).p;
	q = decimal(p, end, 3, &out->duration_ns);
	out->has_duration = q && trim(q, end).n == 2 && !memcmp(trim(q, end).p, "us", 2);
	return out->has_duration;
}

static bool parse_flags(struct words s, struct graph_line *out)
{
	if (s.n < 4 || s.n > 8)
		return false;
	for (uint32_t i = 0; i < s.n; i++)
		if (!isalnum((unsigned char)s.p[i]) && s.p[i] != '.')
			return false;
	text_parse_flags(s.p, s.p + s.n, &out->event);
	return true;
}

/* A column between two bars. False: it is none, the call begins here. */
static bool parse_column(const char *p, const char *end, struct graph_line *out)
{
	struct words s = trim(p, end);

	if (parse_duration(s, out) || parse_flags(s, out))
		return true;
	out->has_task = text_parse_task(p, end, &out->event);
	return out->has_task;
}

static bool starts(const char *p, const char *end, const char *with)
{
	size_t n = strlen(with);

	return (size_t)(end - p) >= n && !memcmp(p, with, n);
}

static void parse_comment(const char *p, const char *end, struct graph_line *out)
{
	const char *close = memmem(p, (size_t)(end - p), " */", 3);

	out->kind = GRAPH_COMMENT;
	text_parse_info(p, close ? close : end, &out->event);
}

/* "} / * vfs_read * /": the name is printed with option funcgraph-tail. */
static void parse_exit(const char *p, const char *end, struct graph_line *out)
{
	const char *name;

	out->kind = GRAPH_EXIT;
	p = trim(p, end).p;
	if (!starts(p, end, "/* "))
		return;
	name = p + 3;
	for (p = name; p < end && *p != ' ';)
		p++;
	out->name = (struct words){name, (uint32_t)(p - name)};
}

static void parse_call(const char *p, const char *end, bool bar, struct graph_line *out)
{
	const char *start = p, *open;
	struct words rest;

	while (p < end && *p == ' ')
		p++;
	out->depth = (uint32_t)(p - start);
	out->depth = (out->depth >= 2 && bar ? out->depth - 2 : out->depth) / 2;
	if (starts(p, end, "/* ")) {
		parse_comment(p + 3, end, out);
		return;
	}
	if (p < end && *p == '}') {
		parse_exit(p + 1, end, out);
		return;
	}
	open = memchr(p, '(', (size_t)(end - p));
	if (!open || open == p || !(isalpha((unsigned char)*p) || *p == '_' || *p == '0'))
		return;
	out->name = trim(p, open);
	/* What comes after may be the values returned or passed, as newer kernels print them. */
	rest = trim(open, end);
	if (rest.p[rest.n - 1] == '{')
		out->kind = GRAPH_ENTRY;
	else if (memmem(rest.p, rest.n, ");", 2))
		out->kind = GRAPH_LEAF;
}

/* " 0)    bash-56    =>     sh-57": the CPU goes to another task. */
static bool parse_switch(const char *p, const char *end, struct graph_line *out)
{
	const char *arrow = memmem(p, (size_t)(end - p), "=>", 2);

	if (!arrow || memchr(p, '|', (size_t)(end - p)) ||
	    !text_parse_task(p, arrow, &out->before) ||
	    !text_parse_task(arrow + 2, end, &out->event))
		return false;
	out->has_task = true;
	out->kind = GRAPH_SWITCH;
	return true;
}

/* "  1)"; what stands after it, or p if there is none. */
static const char *parse_cpu(const char *p, const char *end, struct graph_line *out)
{
	struct words s = trim(p, end);
	uint64_t cpu;
	const char *q = decimal(s.p, s.p + s.n, 0, &cpu);

	if (!q || q == end || *q != ')' || cpu >= TEXT_CPU_MAX ||
	    memchr(s.p, '.', (size_t)(q - s.p)))
		return p;
	out->event.cpu = (uint32_t)cpu;
	out->has_cpu = true;
	return q + 1;
}

void graph_parse_line(const char *p, const char *end, struct graph_line *out)
{
	const char *bar, *q;
	bool any = false;

	memset(out, 0, sizeof(*out));
	out->event.tgid = -1;
	if (end > p && end[-1] == '\r')
		end--;
	if (p == end || *p == '#')
		return;
	if (starts(p, end, "CPU:")) {
		text_parse_line(p, end, &out->event);
		out->kind = out->event.kind == LINE_LOST ? GRAPH_LOST : GRAPH_OTHER;
		return;
	}
	bar = memchr(p, '|', (size_t)(end - p));
	if (bar && parse_time(p, bar, out))
		p = bar + 1;
	q = parse_cpu(p, end, out);
	if (q != p && parse_switch(q, end, out))
		return;
	while ((bar = memchr(q, '|', (size_t)(end - q))) && parse_column(q, bar, out)) {
		q = bar + 1;
		any = true;
	}
	/* Without a bar one blank stands between the CPU and the call. */
	if (!any && out->has_cpu && q < end)
		q++;
	if (any || out->has_cpu || out->has_time || bar == NULL)
		parse_call(q, end, any, out);
}
