/* SPDX-License-Identifier: MIT */
/* profile.c -- fathom profile: where the time went. */
#include "base/colour.h"
#include "base/diag.h"
#include "cmd/answer_options.h"
#include "view/profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct answer_options args;
static const char *sort_by, *function;
static uint64_t top = 20;
static bool as_json;

static const struct option_spec own[] = {
	{"sort", 0, "WHAT", "functions by self, total, calls, mean, p99, max or name",
	 OPTION_STRING, &sort_by, NULL},
	{"function", 0, "NAME", "its callers and what it calls, too", OPTION_STRING, &function,
	 NULL},
	{"top", 'n', "N", "lines per table (default: 20; 0: all)", OPTION_NUMBER, &top, NULL},
	{"json", 'j', NULL, "print JSON", OPTION_FLAG, &as_json, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "profile",
	.args = "FILE",
	.about = "Where the time went: functions with calls, total and own time; each task's time "
		 "running, "
		 "ready and\nblocked, its switches and migrations; the load of each CPU; "
		 "interrupts.",
	.more = "examples:\n"
		"  fathom profile trace.dat --sort total --top 50\n"
		"  fathom profile trace.dat --function vfs_read --from +1s --to +2s",
	.own = own,
	.shared = OPTIONS_EVENTS,
	.min_args = 1,
	.max_args = 1,
};

static bool parse_sort(enum profile_sort *out)
{
	static const char *const names[] = {"self", "total", "calls", "mean", "p99", "max", "name"};

	*out = PROFILE_SELF;
	for (size_t i = 0; sort_by && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(sort_by, names[i])) {
			*out = (enum profile_sort)i;
			return true;
		}
	if (sort_by)
		diag_error("profile: --sort takes self, total, calls, mean, p99, max or name, not "
			   "'%s'",
			   sort_by);
	return !sort_by;
}

int cmd_profile(int argc, char **argv)
{
	struct profile_options o = {.bold = "", .plain = ""};
	struct progress bar;
	struct source *s;
	int rc = options_parse(&spec, argc, argv, &args.o), err;

	if (rc != OPTIONS_GO)
		return rc;
	if (!parse_sort(&o.sort)) {
		answer_close(&args);
		return EXIT_USAGE;
	}
	s = options_open(&args.o);
	if (!s) {
		answer_close(&args);
		return EXIT_FAIL;
	}
	answer_walk(&args, &o.walk, &bar);
	o.walk.without = 1u << SPAN_WAKEUP | 1u << SPAN_SYSCALL | 1u << SPAN_FAULT |
			 1u << SPAN_IPC | 1u << SPAN_PAIR;
	o.function = function;
	o.top = top;
	o.json = as_json;
	if (colour_wanted(STDOUT_FILENO)) {
		o.bold = COLOUR_BOLD;
		o.plain = COLOUR_OFF;
	}
	progress_start(&bar, "", 1);
	err = profile_print(s, &o, stdout);
	progress_end(&bar);
	if (err == -ENODATA)
		diag_error("%s: nothing in it takes time: no switches, no interrupts, no calls",
			   s->path);
	else if (err && err != -EINVAL)
		diag_error("%s: %s", s->path, strerror(-err));
	source_close(s);
	answer_close(&args);
	return err ? EXIT_FAIL : EXIT_OK;
}
