/* SPDX-License-Identifier: MIT */
/* window.c -- times as people write them: absolute, from the start of the trace, from its end. */
#include "store/scan.h"

#include <ctype.h>
#include <string.h>

/* The digits before the point; NULL: none, or too many. */
static const char *parse_whole(const char *p, uint64_t *out)
{
	const char *start = p;

	for (*out = 0; isdigit((unsigned char)*p); p++) {
		if (*out > (UINT64_MAX - 9) / 10)
			return NULL;
		*out = *out * 10 + (uint64_t)(*p - '0');
	}
	return p == start ? NULL : p;
}

bool scan_time_parse(const char *text, enum clock_unit unit, uint64_t *out)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	uint64_t scale = unit == CLOCK_NS ? 1000000000 : 1, whole, rest = 0, part;
	const char *p = parse_whole(text, &whole), *fraction, *fraction_end;

	if (!p)
		return false;
	fraction = *p == '.' ? ++p : NULL;
	while (fraction && isdigit((unsigned char)*p))
		p++;
	fraction_end = p;
	for (size_t i = 0; *p && i < 4; i++)
		if (!strcmp(p, units[i].name)) {
			scale = units[i].ns;
			p += strlen(p);
		}
	if (*p || __builtin_mul_overflow(whole, scale, &whole))
		return false;
	part = scale;
	for (; fraction && fraction < fraction_end && part > 1; fraction++) {
		part /= 10;
		rest += (uint64_t)(*fraction - '0') * part;
	}
	return !__builtin_add_overflow(whole, rest, out);
}

static bool is_relative(const char *text)
{
	return *text == '+' || *text == '-';
}

bool scan_time_is(const char *text)
{
	uint64_t t;

	return scan_time_parse(text + is_relative(text), CLOCK_NS, &t);
}

/* 12.345678: copied from a line of a trace, where it was rounded. */
static bool as_shown(const char *text)
{
	const char *point = strchr(text, '.');

	return point && strlen(point + 1) == 6 && strspn(point + 1, "0123456789") == 6;
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t subtract(uint64_t a, uint64_t b)
{
	return a < b ? 0 : a - b;
}

/* The last time in a stream: in its last block that has events. */
static bool last_time(struct source *s, uint32_t stream, uint64_t *out)
{
	struct cursor *c = cursor_open(s, stream);
	bool any = false;
	struct event e;

	for (uint64_t block = s->streams[stream].nr_blocks; c && block-- > 0 && !any;) {
		s->ops->seek(c, block);
		while (cursor_next(c, &e)) {
			*out = !any || e.time > *out ? e.time : *out;
			any = true;
		}
	}
	cursor_close(c);
	return any;
}

static bool first_time(struct source *s, uint32_t stream, uint64_t *out)
{
	struct cursor *c = cursor_open(s, stream);
	struct event e;
	bool any = c && cursor_next(c, &e);

	if (any)
		*out = e.time;
	cursor_close(c);
	return any;
}

bool scan_span(struct source *s, uint64_t *first, uint64_t *last)
{
	uint64_t a, b;

	*first = UINT64_MAX;
	*last = 0;
	if (!s->ops)
		return false;
	for (uint32_t i = 0; i < s->nr_streams; i++) {
		if (first_time(s, i, &a) && a < *first)
			*first = a;
		if (last_time(s, i, &b) && b > *last)
			*last = b;
	}
	return *first <= *last;
}

/* One end of the window. An end that was copied from a line includes the line. */
static uint64_t settle(struct source *s, const char *text, bool is_end)
{
	uint64_t t = 0, first = 0, last = 0;

	scan_time_parse(text + is_relative(text), s->unit, &t);
	if (is_relative(text)) {
		scan_span(s, &first, &last);
		return *text == '+' ? add(first, t) : subtract(last, t);
	}
	if (s->unit != CLOCK_NS || !as_shown(text))
		return t;
	return is_end ? add(t, 499) : subtract(t, 500);
}

void scan_window(struct source *s, const char *from, const char *to, struct scan_choice *c)
{
	c->from = from ? settle(s, from, false) : 0;
	c->to = to ? settle(s, to, true) : UINT64_MAX;
}
