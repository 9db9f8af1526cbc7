/* SPDX-License-Identifier: MIT */
/* report.c -- fathom report: a trace as text. */
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "base/colour.h"
#include "view/export.h"
#include "view/report.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static struct report_options report = {
	.fd = STDOUT_FILENO, .start = UINT64_MAX, .written = UINT64_MAX};
static struct option_choice like = {.names = "3.4 or 3.1"};
static uint64_t threads;
static bool kernel_text, as_json;

static const struct option_spec own[] = {
	{"like", 0, "VERSION", "print as trace-cmd 3.4 (default) or 3.1, which has no flags",
	 OPTION_CHOICE, &like, NULL},
	{"raw-fields", 'R', NULL, "print the fields of each event, not its print fmt", OPTION_FLAG,
	 &report.raw, NULL},
	{"no-plugins", 'N', NULL, "use only print fmts, not trace-cmd's plugins", OPTION_FLAG,
	 &report.no_plugins, NULL},
	{"full-time", 't', NULL, "times in nanoseconds", OPTION_FLAG, &report.nanoseconds, NULL},
	{"latency", 'l', NULL, "the short task column and the flags", OPTION_FLAG, &report.latency,
	 NULL},
	{"threads", 0, "N", "number of threads (default: one per CPU, at most 8)", OPTION_NUMBER,
	 &threads, NULL},
	{"json", 'j', NULL, "JSON lines: an object per event with its fields", OPTION_FLAG,
	 &as_json, NULL},
	{"trace", 0, NULL, "print what the kernel's `trace` file shows", OPTION_FLAG, &kernel_text,
	 NULL},
	{"options", 'O', "LIST", "with --trace: trace options, as sym-offset,noirq-info",
	 OPTION_STRING, &report.trace_options, NULL},
	{"tracer", 0, "NAME", "with --trace: the tracer that wrote the buffer", OPTION_STRING,
	 &report.tracer, NULL},
	{"start", 0, "TIME", "with --trace: when the buffer was cleared, in the clock's unit",
	 OPTION_NUMBER, &report.start, NULL},
	{"written", 0, "N", "with --trace: events ever written", OPTION_NUMBER, &report.written,
	 NULL},
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
	.more = "examples:\n"
		"  fathom report trace.dat | less\n"
		"  fathom report --cpu 0 --from 12.5 --to 12.6 trace.dat\n"
		"  fathom report --filter 'prev_pid == 13 && next_comm ~ \"ker*\"' trace.dat\n"
		"  fathom report --trace --options latency-format pages/",
	.own = own,
	.shared = OPTIONS_EVENTS,
	.min_args = 1,
	.max_args = 1,
	.text_too = true,
};

static int print(struct source *s, struct options *o)
{
	int err;

	report.choice = &o->choice;
	report.like_31 = like.at;
	report.threads = (unsigned)(threads > 64 ? 64 : threads);
	report.colour = colour_wanted(STDOUT_FILENO);
	/* On a terminal the text itself shows the progress. */
	report.progress = isatty(STDOUT_FILENO) ? NULL : progress_show;
	report.progress_arg = &o->bar;
	err = as_json	    ? export_jsonl(s, report.choice, stdout)
	      : kernel_text ? report_kernel(s, &report)
			    : report_trace_cmd(s, &report);
	return err && err != -EPIPE ? EXIT_FAIL : EXIT_OK;
}

int cmd_report(int argc, char **argv)
{
	return options_run(&spec, argc, argv, NULL, print);
}
