/* SPDX-License-Identifier: MIT */
/* view.c -- fathom view: a trace over time in a browser, at any zoom, served by this program. */
#include "capture/target.h"
#include "cmd/cmd.h"
#include "cmd/live_options.h"

#include <inttypes.h>
#include <string.h>

static struct show_options show;
static uint64_t port;

static const struct option_spec own[] = {
	{"title", 0, "TEXT", "above the drawing", OPTION_STRING, &show.title, NULL},
	{"port", 0, "N", "port to listen on (default: any free one)", OPTION_NUMBER, &port, NULL},
	{"no-browser", 0, NULL, "only print the address", OPTION_FLAG, &show.no_browser, NULL},
	LIVE_OPTIONS,
	{0},
};

static const struct command_spec spec = {
	.name = "view",
	.args = "FILE|TARGET",
	.about = "Show a trace over time in a browser, at any zoom and of any size: the page of "
		 "`fathom timeline`,\nwith every span, all events, searches over the whole trace, "
		 "and the chain behind a wait. It is served\nto this machine only, until Ctrl-C.\n"
		 "A TARGET, as `fathom record --target` takes them, is recorded meanwhile, and the "
		 "page grows with it.",
	.more = "examples:\n"
		"  fathom view trace.dat\n"
		"  fathom view trace.dat --no-browser --port 8000\n"
		"  fathom view 4711 -o trace.dat          a process with the user port, live\n"
		"  fathom view /sys/kernel/tracing -e sched",
	.own = own,
	.shared = OPTIONS_EVENTS,
	.min_args = 1,
	.max_args = 1,
	.text_too = true,
	.says_missing = true,
};

static int view_trace(struct source *s, struct options *o)
{
	struct lanes_options lo = {.choice = &o->choice,
				   .no_file = o->no_index || options_name_source(o),
				   .progress = progress_show,
				   .progress_arg = &o->bar};

	show.no_index = o->no_index;
	if (!show.title)
		show.title = basename(s->path);
	options_tell_missing(s); /* now: the page is shown for long */
	diag_flush();
	return show_trace(s, &lo, &show) ? EXIT_FAIL : EXIT_OK;
}

static bool is_wrong(const struct options *o, const char *target)
{
	if (port > 65535)
		diag_error("view: --port takes 0 to 65535, not %" PRIu64, port);
	else if (target && options_choose(o))
		diag_error("view: --cpu, --from, --to, --filter and --buffer apply to a trace; for "
			   "a target, --event selects what is recorded");
	return port > 65535 || (target && options_choose(o));
}

int cmd_view(int argc, char **argv)
{
	const char *target = NULL;
	struct options o;
	int rc = options_parse(&spec, argc, argv, &o);

	if (rc != OPTIONS_GO)
		return rc;
	if (target_is_live(o.args[0]))
		target = o.args[0];
	if (is_wrong(&o, target)) {
		options_close(&o);
		return EXIT_USAGE;
	}
	show.port = (uint16_t)port;
	if (!target)
		return options_work(&spec, &o, view_trace);
	show.title = show.title ? show.title : target;
	rc = live_view(target, &live_asked, &show) ? EXIT_FAIL : EXIT_OK;
	options_close(&o);
	return rc;
}
