/* SPDX-License-Identifier: MIT */
/* graphlines.c -- funcgraph_entry and funcgraph_exit as trace-cmd draws them. */
#include "view/lines.h"

/* A record may claim any depth; a line is bounded. */
#define INDENT_MAX 512

enum {
	GRAPH_FUNC,
	GRAPH_DEPTH,
	GRAPH_CALLTIME,
	GRAPH_RETTIME
};

static void put_indent(struct out *o, uint64_t depth)
{
	if ((int64_t)depth > 0)
		out_blanks(o, 2 * (depth < INDENT_MAX ? depth : INDENT_MAX));
}

/* Most calls: less than a millisecond, 16 characters whatever the number. */
static inline void put_short(struct out *o, unsigned ns)
{
	static const char tails[][12] = {" us   |  ", " us  |  ", " us |  "};
	unsigned us = ns / 1000, rest = ns % 1000, n = us < 10 ? 0 : us < 100 ? 1 : 2;
	char *at = o->at;

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
	o->at += 16;
}

/* It has no marks for 10 and 100 ms, and its numbers are not cut. */
static void put_duration(struct out *o, uint64_t ns)
{
	char *from;
	unsigned n, us;

	if (!out_room(o, 48))
		return;
	if (ns < 1000000) {
		put_short(o, (unsigned)ns);
		return;
	}
	*o->at++ = ns > 1000000000 ? '$'
		   : ns > 1000000  ? '#'
		   : ns > 100000   ? '!'
		   : ns > 10000	   ? '+'
				   : ' ';
	*o->at++ = ' ';
	from = o->at;
	o->at += out_digits(o->at, ns / 1000);
	us = (unsigned)(ns % 1000);
	if (o->at - from < 7) {
		*o->at++ = '.';
		*o->at++ = (char)('0' + us / 100);
		*o->at++ = (char)('0' + us / 10 % 10);
		*o->at++ = (char)('0' + us % 10);
	}
	n = (unsigned)(o->at - from);
	out_bytes(o, " us ", 4);
	if (n < 7)
		out_fill(o, ' ', 7 - n);
	out_bytes(o, "|  ", 3);
}

void print_graph_entry(struct writer *w, const struct printer *p, const struct item *i)
{
	const struct lookup_symbol *sym;
	uint64_t func;

	if (i->leaf)
		put_duration(w->out, i->value);
	else
		out_bytes(w->out, "             |  ", 16);
	put_indent(w->out, item_number(w, i, p->field[GRAPH_DEPTH]));
	func = item_number(w, i, p->field[GRAPH_FUNC]);
	sym = lookup_symbol(&w->lookup, func);
	if (sym->name)
		out_padded(w->out, sym->name, sym->len);
	else
		out_hex(w->out, func);
	if (i->leaf)
		out_bytes(w->out, "();", 3);
	else
		out_bytes(w->out, "() {", 4);
}

void print_graph_exit(struct writer *w, const struct printer *p, const struct item *i)
{
	uint64_t call = item_number(w, i, p->field[GRAPH_CALLTIME]);

	put_duration(w->out, item_number(w, i, p->field[GRAPH_RETTIME]) - call);
	put_indent(w->out, item_number(w, i, p->field[GRAPH_DEPTH]));
	out_char(w->out, '}');
}
