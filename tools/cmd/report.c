/* SPDX-License-Identifier: MIT */
/* report.c -- fathom report: a trace as text. */
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "base/diag.h"
#include "view/report.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static struct report_options report;
static uint64_t threads;

static const struct option_spec own[] = {
	{"raw-fields", 'R', NULL, "print the fields of each event, not its print fmt", OPTION_FLAG,
	 &report.raw, NULL},
	{"no-plugins", 'N', NULL, "print fmts only, not trace-cmd's own forms", OPTION_FLAG,
	 &report.no_plugins, NULL},
	{"full-time", 't', NULL, "times in nanoseconds", OPTION_FLAG, &report.nanoseconds, NULL},
	{"threads", 'j', "N", "threads that make text (default: one per CPU, at most 8)",
	 OPTION_NUMBER, &threads, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "report",
	.args = "FILE",
	.about = "Print a trace as text, as `trace-cmd report` does.",
	.own = own,
	.trace = true,
	.min_args = 1,
	.max_args = 1,
};

int cmd_report(int argc, char **argv)
{
	struct options o;
	struct expr_error err;
	struct filter *filter = NULL;
	struct source *s;
	int rc = options_parse(&spec, argc, argv, &o);

	if (rc != OPTIONS_GO)
		return rc;
	if (o.filter) {
		filter = filter_new(o.filter, &err);
		if (!filter) {
			diag_error("filter: %s\n        %s\n        %*s^", err.what, o.filter,
				   (int)err.offset, "");
			return EXIT_USAGE;
		}
	}
	s = options_open(&o);
	if (!s)
		return EXIT_FAIL;
	signal(SIGPIPE, SIG_IGN);
	report.from = o.from;
	report.to = o.to;
	report.keep = options_keep;
	report.keep_arg = &o;
	report.filter = filter;
	report.threads = (unsigned)(threads > 64 ? 64 : threads);
	report.fd = STDOUT_FILENO;
	rc = report_trace_cmd(s, &report);
	filter_free(filter);
	options_close(&o);
	source_close(s);
	return rc && rc != -EPIPE ? EXIT_FAIL : EXIT_OK;
}
