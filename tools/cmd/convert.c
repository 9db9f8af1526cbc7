/* SPDX-License-Identifier: MIT */
/* convert.c -- fathom convert: a trace of any format into another form. */
#include "base/diag.h"
#include "base/output.h"
#include "cmd/cmd.h"
#include "cmd/flame_draw.h"
#include "cmd/forms.h"
#include "cmd/options.h"
#include "decode/source.h"
#include "view/parquet.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const char *form_name;
static struct option_choice compression = {.names = "zstd, zlib or none"};
static const enum compression packings[] = {COMPRESS_ZSTD, COMPRESS_ZLIB, COMPRESS_NONE};
static struct option_choice version = {.names = "7 or 6"};
static bool force, per_cpu, per_type;

static const struct option_spec own[] = {
	{"form", 0, "FORM", "the form, if the suffix of OUT does not select it", OPTION_STRING,
	 &form_name, NULL},
	{"file-version", 0, "V", "of a trace.dat: 6 or 7 (default: 7)", OPTION_CHOICE, &version,
	 NULL},
	{"compression", 0, "NAME", "of a trace.dat version 7: zstd (default), zlib, none",
	 OPTION_CHOICE, &compression, NULL},
	{"per-cpu", 0, NULL, "backtracer texts: also a file per CPU", OPTION_FLAG, &per_cpu, NULL},
	{"per-type", 0, NULL, "parquet: OUT is a directory with a file per type of event",
	 OPTION_FLAG, &per_type, NULL},
	{"force", 'f', NULL, "overwrite OUT if it exists", OPTION_FLAG, &force, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "convert",
	.args = "IN OUT",
	.about = "Convert a trace of any format into another form, chosen by the suffix of OUT or "
		 "--form. "
		 "OUT may\n"
		 "be - for the standard output (not for dat, bin, idx).",
	.more = "examples:\n"
		"  fathom convert trace.dat old.dat --file-version 6\n"
		"  fathom convert trace.dat part.dat --cpu 0 --from 12.5 --filter 'pid == 13'\n"
		"  fathom convert trace.dat trace.json",
	.list = form_help,
	.own = own,
	.to_may_be_word = true,
	.shared = OPTIONS_EVENTS,
	.min_args = 2,
	.max_args = 2,
};

struct job {
	struct options o;
	struct source *source;
	struct progress bar;
};

/* By --form, or by the suffix. `--to FORM` is what many tools say, and no time looks like one: it is taken as meant. */
static const char *choose_form(struct options *o)
{
	const char *to = o->to_text;
	struct form form;

	if (form_name)
		return form_name;
	if (to && form_find(to, &form)) {
		o->to_text = NULL;
		return to;
	}
	return source_suffix(o->args[1]);
}

static int convert(struct job *j, const struct form *form)
{
	const char *path = j->o.args[1];
	struct form_job f = {.source = j->source,
			     .choice = &j->o.choice,
			     .version = version.at ? 6 : 7,
			     .compression = packings[compression.at],
			     .bar = &j->bar};
	struct output out;
	int err;

	if (output_is_input(path, j->o.args[0]))
		return EXIT_FAIL;
	err = output_open(&out, path, !force);
	if (!err)
		err = output_close(&out, form->write(&f, out.f));
	output_error(path, err);
	return err && err != -EPIPE ? EXIT_FAIL : EXIT_OK;
}

/* Where nothing opens OUT with output_open(). */
static bool may_write(const char *out)
{
	return force || access(out, F_OK) || !output_error(out, -EEXIST);
}

/* What `fathom flame IN -o OUT` draws. */
static int convert_stacks(const struct options *o, const struct form *form)
{
	struct stack_options stacks = {.o = *o};
	struct flame_drawing d = {.stacks = &stacks,
				  .file = o->args[0],
				  .output = o->args[1],
				  .form = form,
				  .style = &(const struct flame_style){0}};

	stack_options_settle(&stacks);
	return may_write(d.output) ? flame_draw(&d) : EXIT_FAIL;
}

/* The format writes it, with the files beside it that belong to it. */
static int convert_own(const struct options *o, struct source *s, const struct source_form *form)
{
	struct source_writing w = {.in = o->args[0],
				   .out = o->args[1],
				   .options = &o->source,
				   .fresh = !force,
				   .per_cpu = per_cpu};

	return form->write(s, form, &w) ? EXIT_FAIL : EXIT_OK;
}

static int convert_types(struct job *j)
{
	return parquet_types(j->source, &j->o.choice, j->o.args[1], !force) ? EXIT_FAIL : EXIT_OK;
}

static int convert_trace(struct job *j, const struct form *form)
{
	const struct source_form *own = source_form(j->source, form->name);
	int rc;

	if (own && !own->from_file)
		return convert_own(&j->o, j->source, own);
	if (!form->write) {
		diag_error("convert: %s cannot be made from a trace in the form %s", form->name,
			   j->source->ops->name);
		return EXIT_FAIL;
	}
	if (!(form->flags & FORM_TEXT_TOO) && options_only_text(j->source))
		return EXIT_FAIL;
	rc = per_type ? convert_types(j) : convert(j, form);
	options_tell_missing(j->source);
	return rc;
}

int cmd_convert(int argc, char **argv)
{
	const struct source_form *own;
	struct form form;
	struct job j = {0};
	const char *name;
	int rc = options_parse(&spec, argc, argv, &j.o);

	if (rc != OPTIONS_GO)
		return rc;
	name = choose_form(&j.o);
	if (!form_find(name, &form)) {
		diag_error("convert: '%s' is not a form; `fathom help convert` lists them", name);
		return EXIT_USAGE;
	}
	if (form.flags & FORM_ONLY_FILE && !strcmp(j.o.args[1], "-")) {
		diag_error("convert: %s must go to a file, not to the standard output", name);
		return EXIT_USAGE;
	}
	if (per_type && strcmp(form.name, "parquet")) {
		diag_error("convert: --per-type is for parquet, not for %s", form.name);
		return EXIT_USAGE;
	}
	own = source_file_form(j.o.args[0], &j.o.source, form.name);
	if (own)
		return convert_own(&j.o, NULL, own);
	if (form.needs == FORM_STACKS)
		return convert_stacks(&j.o, &form);
	j.source = options_open(&j.o);
	if (!j.source)
		return EXIT_FAIL;
	rc = convert_trace(&j, &form);
	source_close(j.source);
	options_close(&j.o);
	return rc;
}
