/* SPDX-License-Identifier: MIT */
/* stat.c -- fathom stat: what is in a trace. */
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "view/summary.h"

static bool as_json, as_summary;
static uint64_t top = 20;

static const struct option_spec own[] = {
	{"json", 'j', NULL, "print JSON", OPTION_FLAG, &as_json, NULL},
	{"summary", 0, NULL, "only the number of records and of each type", OPTION_FLAG,
	 &as_summary, NULL},
	{"top", 'n', "N", "lines per table (default: 20; 0: all)", OPTION_NUMBER, &top, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "stat",
	.args = "FILE",
	.about = "What is in a trace: events by type, CPU and task, span, rates, and where events "
		 "were\n"
		 "lost, with the part of the window that was observed.",
	.own = own,
	.shared = OPTIONS_EVENTS,
	.min_args = 1,
	.max_args = 1,
	.text_too = true,
	.says_missing = true,
};

static int stat_trace(struct source *s, struct options *o)
{
	struct summary_options so = {.choice = &o->choice,
				     .no_index = o->no_index,
				     .names = as_summary	? 0
					      : as_json || !top ? SIZE_MAX
								: top,
				     .progress = progress_show,
				     .arg = &o->bar};
	struct summary m;
	int err;

	options_only_text(s);
	err = summary_make(s, &so, &m);

	progress_end(&o->bar);
	if (err)
		return EXIT_FAIL;
	if (as_json)
		summary_json(s, &m);
	else if (as_summary)
		summary_short(s, &m);
	else
		summary_text(s, &m, top);
	summary_free(&m);
	return EXIT_OK;
}

int cmd_stat(int argc, char **argv)
{
	return options_run(&spec, argc, argv, NULL, stat_trace);
}
