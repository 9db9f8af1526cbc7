/* SPDX-License-Identifier: MIT */
/* flame.c -- fathom flame: stacks of any trace as a flame graph. */
#include "cmd/cmd.h"
#include "cmd/flame_draw.h"
#include "cmd/forms.h"
#include "base/diag.h"
#include "base/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct stack_options args = STACK_ARGS;
static struct {
	struct flame_style style;
	const char *output, *format;
	const char *width, *min_width;
	bool diff, user, kernel;
} request;

static const struct option_spec own[] = {
	{"output", 'o', "FILE",
	 "the output file; its suffix selects the form (FILE.svg; - is stdout)", OPTION_STRING,
	 &request.output, NULL},
	{"format", 0, "FORM", "the form, regardless of the suffix", OPTION_STRING, &request.format,
	 NULL},
	STACK_OPTIONS(args),
	{"user", 0, NULL, "only the user part of each stack", OPTION_FLAG, &request.user, NULL},
	{"kernel", 0, NULL, "only the kernel part", OPTION_FLAG, &request.kernel, NULL},
	{"lines", 0, NULL, "file:line after each name", OPTION_FLAG, &args.o.source.lines, NULL},
	{"diff", 0, NULL, "compare two traces: wide is NEW, colour is the change", OPTION_FLAG,
	 &request.diff, NULL},
	{"title", 0, "TEXT", "above the drawing", OPTION_STRING, &request.style.title, NULL},
	{"subtitle", 0, "TEXT", "below the title", OPTION_STRING, &request.style.subtitle, NULL},
	{"width", 0, "PX", "width of the drawing, before a browser fits it to the window (1200)",
	 OPTION_STRING, &request.width, NULL},
	{"min-width", 0, "PX", "skip narrower frames (0.1; 0: skip none)", OPTION_STRING,
	 &request.min_width, NULL},
	{"icicle", 0, NULL, "root on top", OPTION_FLAG, &request.style.icicle, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "flame",
	.args = "FILE | --diff OLD NEW",
	.about = "Draw a flame graph of the stacks in FILE: a trace with function_graph (exact "
		 "times) or "
		 "with stack\nsamples, a backtracer capture at any stage, or folded text.",
	.more = "examples:\n"
		"  fathom flame trace.dat -o trace.svg --by task --without 'idle'\n"
		"  fathom flame hello.traced --kernel --from 5.2 --to 5.4\n"
		"  fathom flame --diff before.dat after.dat -o diff.html",
	.list = form_help_stacks,
	.own = own,
	.shared = OPTIONS_EVENTS,
	.min_args = 1,
	.max_args = 2,
};

static int usage(const char *what, const char *arg)
{
	diag_error("flame: %s%s%s", what, arg ? ": " : "", arg ? arg : "");
	fputs("        see `fathom help flame`\n", stderr);
	return EXIT_USAGE;
}

static bool number(const char *text, double least, double most, double *out)
{
	char *end;

	errno = 0;
	*out = strtod(text, &end);
	return !errno && end != text && !*end && *out >= least && *out <= most;
}

/* Check what the table cannot. */
static int settle(const struct options *o)
{
	double v;

	if (request.width) {
		if (!number(request.width, 100, 100000, &v))
			return usage("--width takes 100 to 100000 pixels", request.width);
		request.style.width = (uint32_t)v;
	}
	if (request.min_width && !number(request.min_width, 0, 1000, &request.style.min_px))
		return usage("--min-width takes pixels", request.min_width);
	request.style.all = request.min_width && request.style.min_px <= 0;
	if (request.user && request.kernel)
		return usage("--user and --kernel exclude each other", NULL);
	args.stacks.only = request.user	    ? STACKS_USER
			   : request.kernel ? STACKS_KERNEL
					    : STACKS_BOTH;
	if (o->nr_args != (request.diff ? 2 : 1))
		return usage(request.diff ? "--diff takes two files, the old and the new"
					  : "it takes one file",
			     NULL);
	stack_options_settle(&args);
	return EXIT_OK;
}

static const char *form_of(const char *output)
{
	const char *dot = strrchr(output, '.');

	if (request.format)
		return request.format;
	if (!dot)
		return "svg";
	if (!strcmp(dot, ".json"))
		return "speedscope";
	if (!strcmp(dot, ".pb") || !strcmp(dot, ".gz") || !strcmp(dot, ".pprof"))
		return "pprof";
	return dot + 1;
}

int cmd_flame(int argc, char **argv)
{
	struct flame_drawing d = {.stacks = &args, .style = &request.style};
	struct form form;
	const char *name;
	char *named = NULL;
	int rc = options_parse(&spec, argc, argv, &args.o);

	if (rc != OPTIONS_GO || (rc = settle(&args.o)))
		return rc;
	d.file = args.o.args[args.o.nr_args - 1];
	d.compared = request.diff ? args.o.args[0] : NULL;
	name = form_of(request.output ? request.output : "");
	if (!form_find(name, &form) || form.needs != FORM_STACKS) {
		diag_error("flame: '%s' is not a form of stacks, which are %s", name,
			   form_names(FORM_STACKS));
		return EXIT_USAGE;
	}
	d.form = &form;
	d.output = request.output;
	if (!d.output)
		d.output = named = output_beside(d.file, form.suffix);
	rc = d.output ? flame_draw(&d) : EXIT_FAIL;
	free(named);
	return rc;
}
