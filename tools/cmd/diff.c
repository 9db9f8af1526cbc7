/* SPDX-License-Identifier: MIT */
/* diff.c -- fathom diff: what changed from one trace to another. */
#include "base/diag.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "view/compare.h"

#include <errno.h>
#include <string.h>

static struct compare_options compare = {.chance = 0.001};
static double least = 2;

static const struct option_spec own[] = {
	{"least", 0, "PERCENT", "skip what changed by less (default: 2)", OPTION_PERCENT, &least,
	 NULL},
	{"all", 'a', NULL, "also print what did not change", OPTION_FLAG, &compare.all, NULL},
	{"json", 0, NULL, "print JSON", OPTION_FLAG, &compare.json, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "diff",
	.args = "A B",
	.about = "What takes longer or happens more often in trace B than in A: spans and "
		 "functions by their\n"
		 "distributions, events by their rates. Random variation is allowed for. Exit code "
		 "1: the traces differ.",
	.more = "examples:\n"
		"  fathom diff before.dat after.dat\n"
		"  fathom diff --json --least 5 before.dat after.dat",
	.own = own,
	.shared = OPTIONS_EVENTS,
	.min_args = 2,
	.max_args = 2,
};

int cmd_diff(int argc, char **argv)
{
	struct source *s[2] = {NULL, NULL};
	struct scan_choice choice[2];
	struct options o;
	int rc = options_parse(&spec, argc, argv, &o), n = -EINVAL, i;

	if (rc != OPTIONS_GO)
		return rc;
	compare.least = least / 100;
	for (i = 0; i < 2; i++) {
		o.args[0] = o.args[i];
		s[i] = options_open(&o);
		if (!s[i] || options_only_text(s[i]))
			break;
		choice[i] = o.choice;
		compare.walk[i] = (struct model_walk){.choice = &choice[i], .no_index = o.no_index};
	}
	if (i == 2)
		n = compare_print(s, &compare, stdout);
	if (n < 0 && i == 2)
		diag_error("%s: %s", s[1]->path, strerror(-n));
	fflush(stdout);
	for (i = 0; i < 2; i++)
		source_close(s[i]);
	options_close(&o);
	return n ? EXIT_FAIL : EXIT_OK;
}
