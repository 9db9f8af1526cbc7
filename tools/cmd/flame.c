/* SPDX-License-Identifier: MIT */
/* flame.c -- fathom flame: stacks of any trace as a flame graph. */
#include "cmd/cmd.h"
#include "view/stacks.h"
#include "base/diag.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"usage: fathom flame [OPTIONS] FILE\n"
	"       fathom flame [OPTIONS] --diff OLD NEW\n"
	"\n"
	"Draw a flame graph of the stacks in FILE: a trace with function_graph (exact times) or "
	"with stack\n"
	"samples, a backtracer capture at any stage, or folded text.\n"
	"\n"
	"  -o, --output FILE     where to write; the form is told by its suffix (default: "
	"FILE.svg; - is stdout)\n"
	"      --format FORM     svg, html, folded, speedscope or pprof\n"
	"      --by cpu|task     one tower for each CPU or task\n"
	"      --user, --kernel  only that part of each stack\n"
	"      --reverse         callees below: who calls what takes the time\n"
	"      --samples         count samples or calls instead of time\n"
	"      --diff            compare two traces: wide is NEW, colour is the change\n"
	"      --title TEXT      --subtitle TEXT\n"
	"      --width PX        of the drawing before a browser fits it to the window (1200)\n"
	"      --min-width PX    leave narrower frames out (0.1)\n"
	"      --icicle          root on top\n"
	"      --symbols DIR     folder of NAME.symt tables, or a file of symbols\n"
	"      --binaries LIST   `NAME: PATH` lines: where the binaries are\n"
	"      --inlines         functions that DWARF says are inlined, as frames\n"
	"      --lines           file:line behind each name\n"
	"      --run N           of a console log with several runs, only this one (from 0)\n";

enum {
	OPT_FORMAT = 256,
	OPT_BY,
	OPT_USER,
	OPT_KERNEL,
	OPT_REVERSE,
	OPT_SAMPLES,
	OPT_DIFF,
	OPT_TITLE,
	OPT_SUBTITLE,
	OPT_WIDTH,
	OPT_MIN_WIDTH,
	OPT_ICICLE,
	OPT_SYMBOLS,
	OPT_BINARIES,
	OPT_INLINES,
	OPT_LINES,
	OPT_RUN,
};

static const struct option options[] = {
	{"output", required_argument, NULL, 'o'},
	{"format", required_argument, NULL, OPT_FORMAT},
	{"by", required_argument, NULL, OPT_BY},
	{"user", no_argument, NULL, OPT_USER},
	{"kernel", no_argument, NULL, OPT_KERNEL},
	{"reverse", no_argument, NULL, OPT_REVERSE},
	{"samples", no_argument, NULL, OPT_SAMPLES},
	{"diff", no_argument, NULL, OPT_DIFF},
	{"title", required_argument, NULL, OPT_TITLE},
	{"subtitle", required_argument, NULL, OPT_SUBTITLE},
	{"width", required_argument, NULL, OPT_WIDTH},
	{"min-width", required_argument, NULL, OPT_MIN_WIDTH},
	{"icicle", no_argument, NULL, OPT_ICICLE},
	{"symbols", required_argument, NULL, OPT_SYMBOLS},
	{"binaries", required_argument, NULL, OPT_BINARIES},
	{"inlines", no_argument, NULL, OPT_INLINES},
	{"lines", no_argument, NULL, OPT_LINES},
	{"run", required_argument, NULL, OPT_RUN},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

struct request {
	struct stacks_options stacks;
	struct flame_style style;
	const char *output;
	const char *format;
	bool diff;
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

static int set(struct request *r, int opt, const char *arg)
{
	double v;

	switch (opt) {
	case 'o': r->output = arg; break;
	case OPT_FORMAT: r->format = arg; break;
	case OPT_BY:
		if (strcmp(arg, "cpu") && strcmp(arg, "task"))
			return usage("--by takes cpu or task", arg);
		r->stacks.by = strcmp(arg, "cpu") ? STACKS_BY_TASK : STACKS_BY_CPU;
		break;
	case OPT_USER: r->stacks.only = STACKS_USER; break;
	case OPT_KERNEL: r->stacks.only = STACKS_KERNEL; break;
	case OPT_REVERSE: r->stacks.reverse = true; break;
	case OPT_SAMPLES: r->stacks.samples = true; break;
	case OPT_DIFF: r->diff = true; break;
	case OPT_TITLE: r->style.title = arg; break;
	case OPT_SUBTITLE: r->style.subtitle = arg; break;
	case OPT_WIDTH:
		if (!number(arg, 100, 100000, &v))
			return usage("--width takes 100 to 100000 pixels", arg);
		r->style.width = (uint32_t)v;
		break;
	case OPT_MIN_WIDTH:
		if (!number(arg, 0, 1000, &v))
			return usage("--min-width takes pixels", arg);
		r->style.min_px = v;
		break;
	case OPT_ICICLE: r->style.icicle = true; break;
	case OPT_SYMBOLS:
		r->stacks.names.tables = arg;
		r->stacks.symbols = arg;
		break;
	case OPT_BINARIES: r->stacks.names.binaries = arg; break;
	case OPT_INLINES: r->stacks.names.inlines = true; break;
	case OPT_LINES: r->stacks.names.lines = true; break;
	case OPT_RUN:
		if (!number(arg, 0, 1e6, &v))
			return usage("--run takes the number of a run, from 0", arg);
		r->stacks.run = (int)v;
		break;
	default: return EXIT_USAGE;
	}
	return EXIT_OK;
}

static const char *form_of(const struct request *r, const char *output)
{
	const char *dot = strrchr(output, '.');

	if (r->format)
		return r->format;
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

static int draw(struct flame *f, struct request *r, const struct stacks *s, const char *form,
		FILE *out)
{
	char sub[160];

	flame_finish(f,
		     strcmp(form, "svg") && strcmp(form, "html") ? 0 : flame_least(f, &r->style));
	if (!r->style.subtitle) {
		int n = snprintf(sub, sizeof(sub), "%" PRIu64 " stacks", s->stacks);

		if (s->lost)
			n += snprintf(sub + n, sizeof(sub) - (size_t)n, ", %" PRIu64 " events lost",
				      s->lost);
		if (s->open)
			snprintf(sub + n, sizeof(sub) - (size_t)n,
				 ", %" PRIu64 " calls without an end", s->open);
		r->style.subtitle = sub;
	}
	r->style.unit = s->unit;
	if (!strcmp(form, "svg"))
		flame_svg(f, &r->style, out);
	else if (!strcmp(form, "html"))
		flame_html(f, &r->style, out);
	else if (!strcmp(form, "folded"))
		flame_folded(f, out);
	else if (!strcmp(form, "speedscope"))
		flame_speedscope(f, &r->style, out);
	else
		return flame_pprof(f, &r->style, out);
	return 0;
}

static int write_out(struct flame *f, struct request *r, const struct stacks *s, const char *output,
		     const char *form)
{
	FILE *out = strcmp(output, "-") ? fopen(output, "wb") : stdout;
	int err;

	if (!out) {
		diag_error("%s: %s", output, strerror(errno));
		return EXIT_FAIL;
	}
	setvbuf(out, NULL, _IOFBF, 1 << 20);
	err = draw(f, r, s, form, out);
	if (ferror(out) || fflush(out))
		err = -EIO;
	if (out != stdout && fclose(out))
		err = -errno;
	if (err && errno != EPIPE)
		diag_error("%s: cannot write: %s", output, strerror(-err));
	if (!err && out != stdout)
		fprintf(stderr, "%s: %" PRIu64 " stacks, %zu frames\n", output, s->stacks,
			f->nr - 1);
	return err ? EXIT_FAIL : EXIT_OK;
}

/* NAME.traced -> NAME.svg, in the folder where the command runs? Beside the capture: that is where one looks. */
static char *default_output(const char *in, const char *form)
{
	const char *slash = strrchr(in, '/'), *dot = strrchr(slash ? slash : in, '.');
	const char *suffix = !strcmp(form, "speedscope") ? "json"
			     : !strcmp(form, "pprof")	 ? "pb.gz"
							 : form;
	char *out = NULL;

	if (asprintf(&out, "%.*s.%s", dot ? (int)(dot - in) : (int)strlen(in), in, suffix) < 0)
		return NULL;
	return out;
}

int cmd_flame(int argc, char **argv)
{
	struct request r = {.stacks = {.run = -1}};
	struct stacks s = {0}, old = {0};
	char *named = NULL;
	const char *file, *form;
	struct flame *f;
	int opt, rc;

	optind = 1;
	while ((opt = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		if (opt == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		}
		rc = set(&r, opt, optarg);
		if (rc)
			return rc;
	}
	if (argc - optind != (r.diff ? 2 : 1))
		return usage(r.diff ? "--diff takes two files, the old and the new"
				    : "it takes one file",
			     NULL);
	file = argv[argc - 1];
	form = form_of(&r, r.output ? r.output : "");
	if (!form_known(form))
		return usage("the form is svg, html, folded, speedscope or pprof, not", form);
	if (!r.output && !(named = default_output(file, form)))
		return EXIT_FAIL;
	if (!r.style.title)
		r.style.title = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	f = flame_new();
	if (f)
		f->seen_only = !strcmp(form, "svg") || !strcmp(form, "html");
	rc = !f || stacks_read(file, &r.stacks, f, false, &s) ||
			     (r.diff && stacks_read(argv[optind], &r.stacks, f, true, &old))
		     ? EXIT_FAIL
		     : write_out(f, &r, &s, r.output ? r.output : named, form);
	flame_free(f);
	stacks_release(&s);
	stacks_release(&old);
	free(named);
	return rc;
}
