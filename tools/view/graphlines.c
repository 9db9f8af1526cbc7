/* SPDX-License-Identifier: MIT */
/* graphlines.c -- funcgraph_entry and funcgraph_exit as trace-cmd draws them. */
#include "view/lines.h"

/* Everything in a line but the indentation and the name, with room for moves of a fixed size. */
#define GRAPH_ROOM (64u + 2 * OUT_PAD)

static inline char *put_indent(char *at, uint32_t depth)
{
	for (uint32_t k = 0; k < 2 * depth; k += OUT_PAD)
		memset(at + k, ' ', OUT_PAD);
	return at + 2 * depth;
}

/* Most calls: less than a millisecond, 16 characters whatever the number. */
static inline char *put_short(char *at, unsigned ns)
{
	static const char tails[][12] = {" us   |  ", " us  |  ", " us |  "};
	unsigned us = ns / 1000, rest = ns % 1000, n = us < 10 ? 0 : us < 100 ? 1 : 2;

	at[0] = ns > 100000 ? '!' : ns > 10000 ? '+' : ' ';
	at[1] = ' ';
	if (n == 0) {
		at[2] = (char)('0' + us);
	} else {
		at[2] = (char)('0' + us / 100); /* overwritten if there are two digits */
		memcpy(at + 1 + n, out_pairs + 2 * (us % 100), 2);
	}
	at[3 + n] = '.';
	at[4 + n] = (char)('0' + rest / 100);
	memcpy(at + 5 + n, out_pairs + 2 * (rest % 100), 2);
	memcpy(at + 7 + n, tails[n], 12);
	return at + 16;
}

/* It has no marks for 10 and 100 ms, and its numbers are not cut. */
static __attribute__((noinline)) char *put_long(char *at, uint64_t ns)
{
	char *from;
	unsigned n, us = (unsigned)(ns % 1000);

	*at++ = ns > 1000000000 ? '$' : ns > 1000000 ? '#' : '!';
	*at++ = ' ';
	from = at;
	at += out_digits(at, ns / 1000);
	if (at - from < 7) {
		*at++ = '.';
		*at++ = (char)('0' + us / 100);
		*at++ = (char)('0' + us / 10 % 10);
		*at++ = (char)('0' + us % 10);
	}
	n = (unsigned)(at - from);
	memcpy(at, " us        ", 4 + 7);
	at += n < 7 ? 4 + 7 - n : 4;
	memcpy(at, "|  ", 3);
	return at + 3;
}

/* What is not known, or ticks of a length that is not: no unit. */
static __attribute__((noinline)) char *put_odd(char *at, uint64_t ticks)
{
	char digits[24];
	unsigned n = ticks == ITEM_NO_TIME ? 0 : out_digits(digits, ticks);

	memset(at, ' ', 12);
	at += n < 11 ? 11 - n : 0;
	memcpy(at, digits, n);
	at += n;
	memcpy(at, "  |  ", 5);
	return at + 5;
}

static inline char *put_duration(const struct line_writer *w, char *at, uint64_t ns)
{
	if (ns == ITEM_NO_TIME || w->source->unit != CLOCK_NS)
		return put_odd(at, ns);
	return ns < 1000000 ? put_short(at, (unsigned)ns) : put_long(at, ns);
}

static void put_from(struct line_writer *w, uint64_t from)
{
	const struct lookup_symbol *s = lookup_symbol(&w->lookup, from);

	out_str(w->out, " <-");
	if (s->name)
		out_printf(w->out, "%s+0x%llx", s->name, (unsigned long long)s->offset);
	else
		out_printf(w->out, "0x%llx", (unsigned long long)from);
}

static void put_returned(struct line_writer *w, uint64_t func, uint64_t value)
{
	out_str(w->out, " ret=");
	args_value(&w->lookup, func, value, w->out);
}

/* A call of which more is known than its time. */
static void put_call(struct line_writer *w, const struct printer *p, const struct item *i)
{
	bool value = i->leaf && i->has_value && !args_is_void(&w->lookup, i->func);
	struct args a = {.nr = 0};

	if (item_has_more(p, i))
		args_read(&p->more, &w->lookup.env, w->data, i->size, &a);
	out_char(w->out, '(');
	if (a.nr)
		args_text(&w->lookup, i->func, &a, w->out);
	out_str(w->out, i->leaf ? ");" : ") {");
	if (!value && !a.has_from)
		return;
	out_str(w->out, " /*");
	if (a.has_from)
		put_from(w, a.from);
	if (value)
		put_returned(w, i->func, i->returned);
	out_str(w->out, " */");
}

void print_graph_entry(struct line_writer *w, const struct printer *p, const struct item *i)
{
	const struct lookup_symbol *sym = lookup_symbol(&w->lookup, i->func);
	char *at;

	if (!out_room(w->out, GRAPH_ROOM + 2u * i->depth + sym->len))
		return;
	at = w->out->at;
	if (i->leaf)
		at = put_duration(w, at, i->value);
	else
		at = (char *)memcpy(at, "             |  ", 16) + 16;
	at = put_indent(at, i->depth);
	if (sym->name) {
		memcpy(at, sym->name, OUT_PAD);
		if (sym->len > OUT_PAD)
			memcpy(at + OUT_PAD, sym->name + OUT_PAD, sym->len - OUT_PAD);
		at += sym->len;
	} else {
		w->out->at = at;
		out_hex(w->out, i->func);
		at = w->out->at;
	}
	if (item_has_more(p, i) || (i->leaf && i->has_value)) {
		w->out->at = at;
		put_call(w, p, i);
		return;
	}
	memcpy(at, i->leaf ? "();" : "() {", 4);
	w->out->at = at + (i->leaf ? 3 : 4);
}

static void put_return(struct line_writer *w, const struct printer *p, const struct item *i)
{
	uint64_t func = item_number(w, i, p->field[0]);
	const struct lookup_symbol *s = lookup_symbol(&w->lookup, func);
	struct args a;

	args_read(&p->more, &w->lookup.env, w->data, i->size, &a);
	if (!a.has_value || args_is_void(&w->lookup, func))
		return;
	out_printf(w->out, " /* %s", s->name ? s->name : "");
	put_returned(w, func, a.value);
	out_str(w->out, " */");
}

void print_graph_exit(struct line_writer *w, const struct printer *p, const struct item *i)
{
	char *at;

	if (!out_room(w->out, GRAPH_ROOM + 2u * i->depth))
		return;
	at = put_indent(put_duration(w, w->out->at, i->value), i->depth);
	*at++ = '}';
	w->out->at = at;
	if (item_has_more(p, i))
		put_return(w, p, i);
}
