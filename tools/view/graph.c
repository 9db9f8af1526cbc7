/* SPDX-License-Identifier: MIT */
/* graph.c -- the call tree with times, as text or JSON. */
#include "base/diag.h"
#include "base/json.h"
#include "view/graph.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct graph {
	const struct flame *f;
	const char *unit;
	const struct graph_options *o;
	uint64_t small; /* trees that o->min skips */
};

/* 1234567 ns for people: 1.235 ms. */
static void put_amount(uint64_t v, const char *unit)
{
	if (strcmp(unit, "ns")) /* samples, or ticks of unknown length */
		printf("%12" PRIu64, v);
	else if (v >= 1000000000)
		printf("%9.3f s ", (double)v / 1e9);
	else if (v >= 1000000)
		printf("%9.3f ms", (double)v / 1e6);
	else
		printf("%9.3f us", (double)v / 1e3);
}

static void put_node(const struct graph *g, uint32_t at, size_t depth)
{
	const struct flame *f = g->f;
	const struct flame_node *k = &f->node[at];
	const struct flame_name *n = &f->name[k->name];

	if (g->o->json) {
		printf("{\"depth\":%zu,\"name\":\"", depth);
		json_escape(stdout, n->text, n->bytes);
		printf("\",\"total\":%" PRIu64 ",\"self\":%" PRIu64 ",\"calls\":%" PRIu64
		       ",\"unit\":\"%s\"}\n",
		       k->total, k->self, k->calls, g->unit);
		return;
	}
	put_amount(k->total, g->unit);
	putchar(' ');
	put_amount(k->self, g->unit);
	printf(" %9" PRIu64 " %5.1f %%  %*s%.*s\n", k->calls,
	       100.0 * (double)k->total / (double)(f->node[0].total ? f->node[0].total : 1),
	       (int)(2 * depth), "", (int)n->bytes, n->text);
}

/* The next node of a walk from `root`, which descends only if `down` is set. 0 at the end. */
static uint32_t next(const struct flame *f, uint32_t at, uint32_t root, bool down, size_t *depth)
{
	if (down && f->node[at].child) {
		++*depth;
		return f->node[at].child;
	}
	while (at != root && !f->node[at].sibling) {
		at = f->node[at].parent;
		--*depth;
	}
	return at == root ? 0 : f->node[at].sibling;
}

static void put_tree(struct graph *g, uint32_t root)
{
	const struct flame *f = g->f;
	uint64_t least = (uint64_t)((double)f->node[0].total * g->o->min / 100);
	size_t depth = 0;

	for (uint32_t at = root; at;) {
		bool wide = f->node[at].total >= least && (f->node[at].total || !g->o->min);

		if (wide)
			put_node(g, at, depth);
		else
			g->small++;
		at = next(f, at, root, wide && (!g->o->depth || depth + 1 < g->o->depth), &depth);
	}
}

static bool is_named(const struct flame *f, uint32_t at, const char *name)
{
	const struct flame_name *n = &f->name[f->node[at].name];

	return n->bytes == strlen(name) && !memcmp(n->text, name, n->bytes);
}

/* The trees of every call of a function, the inner ones within the outer. */
static int put_function(struct graph *g, const char *name)
{
	const struct flame *f = g->f;
	size_t depth = 0, found = 0;

	for (uint32_t at = f->node[0].child; at;) {
		bool here = is_named(f, at, name);

		if (here)
			put_tree(g, at);
		found += here;
		at = next(f, at, 0, !here, &depth);
	}
	if (!found)
		diag_error("graph: no call of '%s' in the trace", name);
	return found ? 0 : -ENOENT;
}

int graph_print(const struct flame *f, const struct stacks *s, const struct graph_options *o)
{
	struct graph g = {.f = f, .unit = s->unit, .o = o};

	if (!f->stacks)
		diag_warn("no stack matches; nothing to print");
	if (!o->json)
		printf("%12s %12s %9s %7s  function\n", !strcmp(s->unit, "ns") ? "total" : s->unit,
		       "self", "calls", "share");
	if (o->function)
		return put_function(&g, o->function);
	for (uint32_t c = f->node[0].child; c; c = f->node[c].sibling)
		put_tree(&g, c);
	if (g.small)
		fprintf(stderr, "%s more trees take less than %g %% each (--min 0 shows them)\n",
			thousands(g.small), o->min);
	return 0;
}

/* Report what the figures lack. */
void graph_missing(const struct stacks *s)
{
	char text[512];

	account_text(&s->account, text, sizeof(text));
	if (account_lost(&s->account))
		diag_warn("the trace lost %s: times and calls are too low", text);
	if (s->open)
		diag_warn("%s calls have no end in the trace; their time is not counted",
			  thousands(s->open));
}
