/* SPDX-License-Identifier: MIT */
/* timeline.c -- fathom timeline: a trace over time, as a page for a browser. */
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "view/timeline.h"
#include "base/diag.h"
#include "base/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *output, *title;
static uint64_t max = 200000;

static const struct option_spec own[] = {
	{"output", 'o', "FILE", "the output file (default: beside the trace; - is stdout)",
	 OPTION_STRING, &output, NULL},
	{"title", 0, "TEXT", "above the drawing", OPTION_STRING, &title, NULL},
	{"max", 0, "N", "slices and marks on the page (200000)", OPTION_NUMBER, &max, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "timeline",
	.args = "FILE",
	.about = "Draw a trace over time, as one page for a browser: which task ran on which CPU "
		 "and how "
		 "long it had\nwaited, interrupts, calls of function_graph, every other event as a "
		 "mark. "
		 "Zoom, move, search.",
	.more = "examples:\n"
		"  fathom timeline trace.dat -o trace.html\n"
		"  fathom timeline trace.dat --from 12.5 --to 12.6 --cpu 0-3",
	.own = own,
	.shared = OPTIONS_EVENTS,
	.min_args = 1,
	.max_args = 1,
};

static int write_page(struct source *s, const struct timeline_options *o, const char *path)
{
	struct timeline_result r;
	struct output out;
	int err = output_open(&out, path, false);

	if (!err)
		err = output_close(&out, timeline_html(s, o, out.f, &r));
	if (err == -ENODATA)
		diag_error("%s: no event to show", s->path);
	else
		output_error(path, err);
	if (err)
		return EXIT_FAIL;
	if (r.left_out)
		diag_warn("%s of %s events were skipped: the page is full. --from, --to, "
			  "--cpu and --filter choose others, --max allows more",
			  thousands(r.left_out), thousands(r.events));
	if (strcmp(path, "-"))
		fprintf(stderr, "%s: %s events, %s slices and marks\n", path,
			thousands(r.events - r.left_out), thousands(r.shown));
	return EXIT_OK;
}

int cmd_timeline(int argc, char **argv)
{
	struct options o;
	struct timeline_options t = {.choice = &o.choice};
	struct source *s;
	char *named = NULL;
	int rc = options_parse(&spec, argc, argv, &o);

	if (rc != OPTIONS_GO)
		return rc;
	s = options_open(&o);
	if (!s)
		return EXIT_FAIL;
	rc = EXIT_FAIL;
	if (!output)
		output = named = output_beside(o.args[0], "html");
	t.title = title ? title : strrchr(o.args[0], '/') ? strrchr(o.args[0], '/') + 1 : o.args[0];
	t.max = max;
	if (output && !output_is_input(output, o.args[0]))
		rc = write_page(s, &t, output);
	options_tell_missing(s);
	diag_flush();
	free(named);
	source_close(s);
	options_close(&o);
	return rc;
}
