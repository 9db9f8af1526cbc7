/* SPDX-License-Identifier: MIT */
/* report.c -- fathom report: a trace as text. */
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "base/colour.h"
#include "base/diag.h"
#include "view/report.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static struct report_options report;
static uint64_t threads;
static bool kernel_text, start_given, written_given;

static const struct option_spec own[] = {
	{"raw-fields", 'R', NULL, "print the fields of each event, not its print fmt", OPTION_FLAG,
	 &report.raw, NULL},
	{"no-plugins", 'N', NULL, "print fmts only, not trace-cmd's own forms", OPTION_FLAG,
	 &report.no_plugins, NULL},
	{"full-time", 't', NULL, "times in nanoseconds", OPTION_FLAG, &report.nanoseconds, NULL},
	{"latency", 'l', NULL, "the short task column and the flags", OPTION_FLAG, &report.latency,
	 NULL},
	{"threads", 'j', "N", "threads that make text (default: one per CPU, at most 8)",
	 OPTION_NUMBER, &threads, NULL},
	{"trace", 0, NULL, "print what the kernel's `trace` file shows", OPTION_FLAG, &kernel_text,
	 NULL},
	{"options", 'O', "LIST", "with --trace: trace options, as sym-offset,noirq-info",
	 OPTION_STRING, &report.trace_options, NULL},
	{"tracer", 0, "NAME", "with --trace: the tracer that wrote the buffer", OPTION_STRING,
	 &report.tracer, NULL},
	{"start", 0, "TIME", "with --trace: when the buffer was cleared, in the clock's unit",
	 OPTION_NUMBER, &report.start, &start_given},
	{"written", 0, "N", "with --trace: events ever written", OPTION_NUMBER, &report.written,
	 &written_given},
	{"banner", 0, "LIST",
	 "with --trace: values of the latency banner, as release=6.1,cpu=1,comm=bash",
	 OPTION_STRING, &report.banner, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "report",
	.args = "FILE",
	.about = "Print a trace as text, as `trace-cmd report` does, or as the kernel does with "
		 "--trace.",
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
	report.colour = colour_wanted(STDOUT_FILENO);
	if (!start_given)
		report.start = UINT64_MAX;
	if (!written_given)
		report.written = UINT64_MAX;
	rc = kernel_text ? report_kernel(s, &report) : report_trace_cmd(s, &report);
	filter_free(filter);
	options_close(&o);
	source_close(s);
	return rc && rc != -EPIPE ? EXIT_FAIL : EXIT_OK;
}
