/* SPDX-License-Identifier: MIT */
/* flame.c -- fathom flame: stacks of any trace as a flame graph. */
#include "cmd/cmd.h"
#include "cmd/stack_options.h"
#include "base/diag.h"
#include "base/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct stack_options args;
static struct {
	struct flame_style style;
	const char *output, *format;
	const char *width, *min_width;
	bool diff, user, kernel;
} request;

static const struct option_spec own[] = {
	{"output", 'o', "FILE", "where to write; its suffix tells the form (FILE.svg; - is stdout)",
	 OPTION_STRING, &request.output, NULL},
	{"format", 0, "FORM", "svg, html, folded, speedscope or pprof", OPTION_STRING,
	 &request.format, NULL},
	STACK_OPTIONS(args),
	{"user", 0, NULL, "only the user part of each stack", OPTION_FLAG, &request.user, NULL},
	{"kernel", 0, NULL, "only the kernel part", OPTION_FLAG, &request.kernel, NULL},
	{"lines", 0, NULL, "file:line behind each name", OPTION_FLAG, &args.stacks.names.lines,
	 NULL},
	{"diff", 0, NULL, "compare two traces: wide is NEW, colour is the change", OPTION_FLAG,
	 &request.diff, NULL},
	{"title", 0, "TEXT", "above the drawing", OPTION_STRING, &request.style.title, NULL},
	{"subtitle", 0, "TEXT", "below the title", OPTION_STRING, &request.style.subtitle, NULL},
	{"width", 0, "PX", "of the drawing, before a browser fits it to the window (1200)",
	 OPTION_STRING, &request.width, NULL},
	{"min-width", 0, "PX", "leave narrower frames out (0.1)", OPTION_STRING, &request.min_width,
	 NULL},
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
	.own = own,
	.shared = OPTIONS_EVENTS,
	.min_args = 1,
	.max_args = 2,
};

static int usage(const char *what, const char *arg)
{
	diag_error("flame: %s%s%s", what, arg ? ": " : "", arg ? arg : "");
	fputs("        `fathom help flame` tells more\n", stderr);
	return EXIT_USAGE;
}

static bool number(const char *text, double least, double most, double *out)
{
	char *end;

	errno = 0;
	*out = strtod(text, &end);
	return !errno && end != text && !*end && *out >= least && *out <= most;
}

/* What the table cannot check. */
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
	if (request.user && request.kernel)
		return usage("--user and --kernel together leave nothing out", NULL);
	args.stacks.only = request.user	    ? STACKS_USER
			   : request.kernel ? STACKS_KERNEL
					    : STACKS_BOTH;
	if (o->nr_args != (request.diff ? 2 : 1))
		return usage(request.diff ? "--diff takes two files, the old and the new"
					  : "it takes one file",
			     NULL);
	return stack_options_settle(&args, "flame");
}

static const char *basename_of(const char *path)
{
	return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
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

static bool form_known(const char *form)
{
	return !strcmp(form, "svg") || !strcmp(form, "html") || !strcmp(form, "folded") ||
	       !strcmp(form, "speedscope") || !strcmp(form, "pprof");
}

/* Below the title: what is in the picture, and what is not. */
static void describe(const struct flame *f, const struct stacks *s, char *text, size_t bytes)
{
	const struct {
		const char *what;
		uint64_t n;
	} missing[] = {{"left out", f->left_out},
		       {"events lost", s->lost},
		       {"calls without an end", s->open}};
	size_t n = (size_t)snprintf(text, bytes, "%s stacks", thousands(f->stacks));

	for (size_t i = 0; i < 3; i++)
		if (missing[i].n && n < bytes)
			n += (size_t)snprintf(text + n, bytes - n, ", %s %s",
					      thousands(missing[i].n), missing[i].what);
	if (request.diff && n < bytes)
		snprintf(text + n, bytes - n, ", against %s", basename_of(args.o.args[0]));
}

static int draw(struct flame *f, const struct stacks *s, const char *form, FILE *out)
{
	struct flame_style *style = &request.style;
	char sub[256];

	flame_finish(f, strcmp(form, "svg") && strcmp(form, "html") ? 0 : flame_least(f, style));
	if (!style->subtitle) {
		describe(f, s, sub, sizeof(sub));
		style->subtitle = sub;
	}
	style->unit = s->unit;
	if (!strcmp(form, "svg"))
		flame_svg(f, style, out);
	else if (!strcmp(form, "html"))
		flame_html(f, style, out);
	else if (!strcmp(form, "folded"))
		flame_folded(f, out);
	else if (!strcmp(form, "speedscope"))
		flame_speedscope(f, style, out);
	else
		return flame_pprof(f, style, out);
	return 0;
}

static int write_out(struct flame *f, const struct stacks *s, const char *output, const char *form)
{
	struct output out;
	int err = output_open(&out, output, false);

	if (!f->stacks)
		diag_warn("no stack is left to draw");
	if (!err)
		err = output_close(&out, draw(f, s, form, out.f));
	if (!err && strcmp(output, "-"))
		fprintf(stderr, "%s: %s stacks, %s frames\n", output, thousands(f->stacks),
			thousands(f->nr - 1));
	return output_error(output, err) ? EXIT_FAIL : EXIT_OK;
}

static const char *suffix_of(const char *form)
{
	return !strcmp(form, "speedscope") ? "json" : !strcmp(form, "pprof") ? "pb.gz" : form;
}

int cmd_flame(int argc, char **argv)
{
	struct stacks s = {0}, old = {0};
	char *named = NULL;
	const char *file, *form;
	struct flame *f;
	int rc = options_parse(&spec, argc, argv, &args.o);

	if (rc != OPTIONS_GO || (rc = settle(&args.o)))
		return rc;
	file = args.o.args[args.o.nr_args - 1];
	form = form_of(request.output ? request.output : "");
	if (!form_known(form))
		return usage("the form is svg, html, folded, speedscope or pprof, not", form);
	if (!request.output)
		request.output = named = output_beside(file, suffix_of(form));
	if (!request.output || output_is_input(request.output, file))
		return EXIT_FAIL;
	if (!request.style.title)
		request.style.title = basename_of(file);
	f = flame_new();
	if (f)
		f->seen_only = !strcmp(form, "svg") || !strcmp(form, "html");
	rc = !f || !flame_choose(f, args.only, args.without) ||
			     stacks_read(file, &args.stacks, f, false, &s) ||
			     (request.diff &&
			      stacks_read(args.o.args[0], &args.stacks, f, true, &old))
		     ? EXIT_FAIL
		     : write_out(f, &s, request.output, form);
	flame_free(f);
	stacks_release(&s);
	stacks_release(&old);
	stack_options_close(&args);
	free(named);
	return rc;
}
