/* SPDX-License-Identifier: MIT */
/* graph.c -- fathom graph: the call tree with times, per task or over all. */
#include "cmd/cmd.h"
#include "view/stacks.h"
#include "base/diag.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"usage: fathom graph [OPTIONS] FILE\n"
	"\n"
	"Print the tree of calls in FILE, with the time of each function, its own time and how "
	"often it was\n"
	"called. FILE is a function_graph trace, or anything else with stacks in it (see `fathom "
	"help flame`).\n"
	"\n"
	"      --by task|cpu|none  one tree for each (default: task)\n"
	"      --depth N           no deeper than N calls\n"
	"      --min PERCENT       leave out what takes less of the whole (default 0.5)\n"
	"      --reverse           from each function to its callers\n"
	"      --function NAME     only the trees below this function\n"
	"      --symbols FILE      symbols, if the trace has none\n"
	"      --json              as JSON\n";

enum {
	OPT_BY = 256,
	OPT_DEPTH,
	OPT_MIN,
	OPT_REVERSE,
	OPT_FUNCTION,
	OPT_SYMBOLS,
	OPT_JSON
};

static const struct option options[] = {
	{"by", required_argument, NULL, OPT_BY},
	{"depth", required_argument, NULL, OPT_DEPTH},
	{"min", required_argument, NULL, OPT_MIN},
	{"reverse", no_argument, NULL, OPT_REVERSE},
	{"function", required_argument, NULL, OPT_FUNCTION},
	{"symbols", required_argument, NULL, OPT_SYMBOLS},
	{"json", no_argument, NULL, OPT_JSON},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

struct request {
	struct stacks_options stacks;
	const char *function;
	size_t depth;
	double min;
	bool json;
};

static int usage(const char *what)
{
	diag_error("graph: %s", what);
	fputs("        `fathom help graph` tells more\n", stderr);
	return EXIT_USAGE;
}

static int set(struct request *r, int opt, const char *arg)
{
	char *end;

	switch (opt) {
	case OPT_BY:
		if (strcmp(arg, "task") && strcmp(arg, "cpu") && strcmp(arg, "none"))
			return usage("--by takes task, cpu or none");
		r->stacks.by = *arg == 't'   ? STACKS_BY_TASK
			       : *arg == 'c' ? STACKS_BY_CPU
					     : STACKS_BY_NONE;
		break;
	case OPT_DEPTH:
		r->depth = strtoul(arg, &end, 10);
		if (*end || !r->depth)
			return usage("--depth takes a number from 1");
		break;
	case OPT_MIN:
		r->min = strtod(arg, &end);
		if (*end || r->min < 0 || r->min > 100)
			return usage("--min takes a percentage");
		break;
	case OPT_REVERSE: r->stacks.reverse = true; break;
	case OPT_FUNCTION: r->function = arg; break;
	case OPT_SYMBOLS: r->stacks.symbols = r->stacks.names.tables = arg; break;
	case OPT_JSON: r->json = true; break;
	default: return EXIT_USAGE;
	}
	return EXIT_OK;
}

/* 1234567 ns as a person reads it: 1.235 ms. */
static void put_amount(uint64_t v, const char *unit)
{
	if (strcmp(unit, "ns"))
		printf("%12" PRIu64, v);
	else if (v >= 1000000000)
		printf("%9.3f s ", (double)v / 1e9);
	else if (v >= 1000000)
		printf("%9.3f ms", (double)v / 1e6);
	else
		printf("%9.3f us", (double)v / 1e3);
}

static void put_json_name(const struct flame_name *n)
{
	putchar('"');
	for (uint32_t i = 0; i < n->bytes; i++) {
		unsigned char c = (unsigned char)n->text[i];

		if (c < 32 || c == '"' || c == '\\')
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void put_node(const struct flame *f, const struct request *r, const char *unit, uint32_t at,
		     size_t depth)
{
	const struct flame_node *k = &f->node[at];
	const struct flame_name *n = &f->name[k->name];

	if (r->json) {
		printf("{\"depth\":%zu,\"name\":", depth);
		put_json_name(n);
		printf(",\"total\":%" PRIu64 ",\"self\":%" PRIu64 ",\"calls\":%" PRIu64
		       ",\"unit\":\"%s\"}\n",
		       k->total, k->self, k->calls, unit);
		return;
	}
	put_amount(k->total, unit);
	putchar(' ');
	put_amount(k->self, unit);
	printf(" %9" PRIu64 " %5.1f %%  %*s%.*s\n", k->calls,
	       100.0 * (double)k->total / (double)(f->node[0].total ? f->node[0].total : 1),
	       (int)(2 * depth), "", (int)n->bytes, n->text);
}

/* The next of a walk from `root` down; `down` may be refused. 0 at the end. */
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

static void put_tree(const struct flame *f, const struct request *r, const char *unit,
		     uint32_t root)
{
	uint64_t least = (uint64_t)((double)f->node[0].total * r->min / 100);
	size_t depth = 0;

	for (uint32_t at = root; at;) {
		bool wide = f->node[at].total >= least && f->node[at].total;

		if (wide)
			put_node(f, r, unit, at, depth);
		at = next(f, at, root, wide && (!r->depth || depth + 1 < r->depth), &depth);
	}
}

static bool is_named(const struct flame *f, uint32_t at, const char *name)
{
	const struct flame_name *n = &f->name[f->node[at].name];

	return n->bytes == strlen(name) && !memcmp(n->text, name, n->bytes);
}

static int put_graph(const struct flame *f, const struct request *r, const struct stacks *s)
{
	size_t depth = 0, found = 0;

	if (!r->json)
		printf("%12s %12s %9s %7s  function\n", !strcmp(s->unit, "ns") ? "total" : s->unit,
		       "self", "calls", "share");
	if (!r->function) {
		for (uint32_t c = f->node[0].child; c; c = f->node[c].sibling)
			put_tree(f, r, s->unit, c);
		return EXIT_OK;
	}
	for (uint32_t at = f->node[0].child; at;) {
		bool here = is_named(f, at, r->function);

		if (here) {
			put_tree(f, r, s->unit, at);
			found++;
		}
		at = next(f, at, 0, !here, &depth);
	}
	if (!found)
		diag_error("graph: no call of '%s' in the trace", r->function);
	return found ? EXIT_OK : EXIT_FAIL;
}

int cmd_graph(int argc, char **argv)
{
	struct request r = {.stacks = {.run = -1, .by = STACKS_BY_TASK}, .min = 0.5};
	struct stacks s = {0};
	struct flame *f;
	int opt, rc;

	optind = 1;
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		}
		rc = set(&r, opt, optarg);
		if (rc)
			return rc;
	}
	if (argc - optind != 1)
		return usage("it takes one file");
	f = flame_new();
	rc = EXIT_FAIL;
	if (f && !stacks_read(argv[optind], &r.stacks, f, false, &s)) {
		flame_finish(f, 0);
		rc = put_graph(f, &r, &s);
		if (s.lost || s.open)
			fprintf(stderr,
				"%" PRIu64 " events lost, %" PRIu64 " calls without an end\n",
				s.lost, s.open);
	}
	flame_free(f);
	stacks_release(&s);
	return rc;
}
