/* SPDX-License-Identifier: MIT */
/* graph.c -- fathom graph: the call tree with times, per task or over all. */
#include "cmd/cmd.h"
#include "cmd/stack_options.h"
#include "view/graph.h"

static struct stack_options args = STACK_ARGS;
static struct graph_options request = {.min = 0.5};

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
		rc = graph_print(f, &s, &request) ? EXIT_FAIL : EXIT_OK;
		graph_missing(&s);
	}
	flame_free(f);
	stacks_release(&s);
	stack_options_close(&args);
	return rc;
}
