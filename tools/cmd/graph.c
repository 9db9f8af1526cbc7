/* SPDX-License-Identifier: MIT */
/* graph.c -- fathom graph: the call tree with times, per task or over all. */
#include "cmd/cmd.h"
#include "cmd/stack_options.h"
#include "base/diag.h"
#include "base/json.h"

#include <inttypes.h>
#include <string.h>

static struct stack_options args = STACK_ARGS;
static struct {
	const char *function;
	uint64_t depth;
	double min;
	bool json;
} request = {.min = 0.5};

static const struct option_spec own[] = {
	{"depth", 0, "N", "show at most N levels of calls", OPTION_NUMBER, &request.depth, NULL},
	{"min", 0, "PERCENT", "skip what takes less than this share (0.5)", OPTION_PERCENT,
	 &request.min, NULL},
	{"function", 0, "NAME", "show only the trees below this function", OPTION_STRING,
	 &request.function, NULL},
	{"json", 'j', NULL, "one JSON object per function of the tree", OPTION_FLAG, &request.json,
	 NULL},
	STACK_OPTIONS(args),
	{0},
};

static const struct command_spec spec = {
	.name = "graph",
	.args = "FILE",
	.about = "Print the tree of calls in FILE, with the time of each function, its own time "
		 "and how "
		 "often it was\ncalled; one tree for each task unless --by says otherwise. FILE is "
		 "a "
		 "function_graph trace, or\nanything else with stacks in it (see `fathom help "
		 "flame`).",
	.own = own,
	.shared = OPTIONS_EVENTS,
	.min_args = 1,
	.max_args = 1,
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

static void put_node(const struct flame *f, const char *unit, uint32_t at, size_t depth)
{
	const struct flame_node *k = &f->node[at];
	const struct flame_name *n = &f->name[k->name];

	if (request.json) {
		printf("{\"depth\":%zu,\"name\":\"", depth);
		json_escape(stdout, n->text, n->bytes);
		printf("\",\"total\":%" PRIu64 ",\"self\":%" PRIu64 ",\"calls\":%" PRIu64
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

/* Functions that --min skips. */
static uint64_t small;

static void put_tree(const struct flame *f, const char *unit, uint32_t root)
{
	uint64_t least = (uint64_t)((double)f->node[0].total * request.min / 100);
	size_t depth = 0;

	for (uint32_t at = root; at;) {
		bool wide = f->node[at].total >= least && (f->node[at].total || !request.min);

		if (wide)
			put_node(f, unit, at, depth);
		else
			small++;
		at = next(f, at, root, wide && (!request.depth || depth + 1 < request.depth),
			  &depth);
	}
}

static bool is_named(const struct flame *f, uint32_t at, const char *name)
{
	const struct flame_name *n = &f->name[f->node[at].name];

	return n->bytes == strlen(name) && !memcmp(n->text, name, n->bytes);
}

static int put_graph(const struct flame *f, const struct stacks *s)
{
	size_t depth = 0, found = 0;

	if (!f->stacks)
		diag_warn("no stack matches; nothing to print");
	if (!request.json)
		printf("%12s %12s %9s %7s  function\n", !strcmp(s->unit, "ns") ? "total" : s->unit,
		       "self", "calls", "share");
	if (!request.function) {
		for (uint32_t c = f->node[0].child; c; c = f->node[c].sibling)
			put_tree(f, s->unit, c);
		if (small)
			fprintf(stderr,
				"%s more trees take less than %g %% each (--min 0 shows them)\n",
				thousands(small), request.min);
		return EXIT_OK;
	}
	for (uint32_t at = f->node[0].child; at;) {
		bool here = is_named(f, at, request.function);

		if (here) {
			put_tree(f, s->unit, at);
			found++;
		}
		at = next(f, at, 0, !here, &depth);
	}
	if (!found)
		diag_error("graph: no call of '%s' in the trace", request.function);
	return found ? EXIT_OK : EXIT_FAIL;
}

/* Report what the figures lack. */
static void tell_missing(const struct stacks *s)
{
	char text[512];

	account_text(&s->account, text, sizeof(text));
	if (account_lost(&s->account))
		diag_warn("the trace lost %s: times and calls are too low", text);
	if (s->open)
		diag_warn("%s calls have no end in the trace; their time is not counted",
			  thousands(s->open));
}

int cmd_graph(int argc, char **argv)
{
	struct stacks s = {0};
	struct flame *f;
	int rc = options_parse(&spec, argc, argv, &args.o);

	if (rc != OPTIONS_GO)
		return rc;
	if (!args.by_given)
		args.by.at = request.function ? STACKS_BY_NONE : STACKS_BY_TASK;
	stack_options_settle(&args);
	f = flame_new();
	rc = EXIT_FAIL;
	if (f && flame_choose(f, args.only, args.without) &&
	    !stacks_read(args.o.args[0], &args.stacks, f, false, &s)) {
		flame_finish(f, 0);
		flame_by_total(f);
		if (args.stacks.reverse)
			flame_turn(f);
		rc = put_graph(f, &s);
		tell_missing(&s);
	}
	flame_free(f);
	stacks_release(&s);
	stack_options_close(&args);
	return rc;
}
