/* SPDX-License-Identifier: MIT */
/* timeline.c -- fathom timeline: a trace over time, as a page for a browser. */
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "view/page/page.h"
#include "base/diag.h"
#include "base/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *output, *title;
static uint64_t max_mb = 5;

static const struct option_spec own[] = {
	{"output", 'o', "FILE", "where to write (FILE.html beside the trace; - is stdout)",
	 OPTION_STRING, &output, NULL},
	{"title", 0, "TEXT", "above the drawing", OPTION_STRING, &title, NULL},
	{"max-size", 0, "MB", "of the page: a larger one is finer (5)", OPTION_NUMBER, &max_mb,
	 NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "timeline",
	.args = "FILE",
	.about = "Draw a trace over time, as one page for a browser: what each task did and on "
		 "which CPU, interrupts,\nsystem calls, calls of function_graph, every other "
		 "event as a mark. The whole trace is on the page,\nas fine as its size allows; "
		 "`fathom view` shows all of it at any zoom.",
	.more = "examples:\n"
		"  fathom timeline trace.dat -o trace.html\n"
		"  fathom timeline trace.dat --from 12.5 --to 12.6 --cpu 0-3",
	.own = own,
	.shared = OPTIONS_EVENTS,
	.min_args = 1,
	.max_args = 1,
	.text_too = true,
};

static void tell(const char *path, const struct page_result *r)
{
	if (!strcmp(path, "-"))
		return;
	fprintf(stderr, "%s: %s events, ", path, thousands(r->events));
	if (r->all)
		fputs("every span\n", stderr);
	else
		fprintf(stderr,
			"summed up in %s parts where spans are dense; `fathom view` has them all\n",
			thousands(r->parts));
}

static int write_page(struct source *s, struct options *o, const char *path)
{
	struct lanes_options lo = {.choice = &o->choice,
				   .no_file = o->no_index || options_name_source(o),
				   .progress = progress_show,
				   .progress_arg = &o->bar};
	struct page_options t = {.choice = &o->choice,
				 .title = title ? title : basename(o->args[0]),
				 .max_bytes = max_mb * 1000000};
	struct page_result r;
	struct lanes *l = NULL;
	struct output out;
	int err = lanes_open(s, &lo, &l);

	if (!err)
		err = output_open(&out, path, false);
	if (!err)
		err = output_close(&out, page_write(s, l, &t, out.f, &r));
	lanes_close(l);
	if (err == -ENODATA)
		diag_error("%s: no event to show", s->path);
	else if (err == -ENOSPC)
		diag_error("%s: names and rows alone are more than %s MB; --max-size allows more",
			   path, thousands(max_mb));
	else
		output_error(path, err);
	if (err)
		return EXIT_FAIL;
	progress_end(&o->bar);
	tell(path, &r);
	return EXIT_OK;
}

static int timeline(struct source *s, struct options *o)
{
	char *path = output ? strdup(output) : output_beside(o->args[0], "html");
	int rc = path && !output_is_input(path, o->args[0]) ? write_page(s, o, path) : EXIT_FAIL;

	free(path);
	return rc;
}

int cmd_timeline(int argc, char **argv)
{
	return options_run(&spec, argc, argv, NULL, timeline);
}
