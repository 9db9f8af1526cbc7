/* SPDX-License-Identifier: MIT */
/* convert.c -- fathom convert: a trace of any format into another form. */
#include "base/diag.h"
#include "base/output.h"
#include "cmd/cmd.h"
#include "cmd/flame_draw.h"
#include "cmd/forms.h"
#include "cmd/options.h"
#include "store/sel4_convert.h"
#include "store/writer.h"
#include "view/btb_convert.h"
#include "view/export.h"
#include "view/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static const char *form_name, *version, *compression;
static bool force, per_cpu;

static const struct option_spec own[] = {
	{"form", 0, "FORM", "the form, if the suffix of OUT does not tell it", OPTION_STRING,
	 &form_name, NULL},
	{"file-version", 0, "V", "of a trace.dat: 6 or 7 (7 if not given)", OPTION_STRING, &version,
	 NULL},
	{"compression", 0, "NAME", "of a trace.dat version 7: zstd (if not given), zlib, none",
	 OPTION_STRING, &compression, NULL},
	{"per-cpu", 0, NULL, "backtracer texts: also a file per CPU", OPTION_FLAG, &per_cpu, NULL},
	{"force", 'f', NULL, "write over OUT if it is there", OPTION_FLAG, &force, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "convert",
	.args = "IN OUT",
	.about = "A trace of any format into another form, chosen by the suffix of OUT or --form. "
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

static void show(void *arg, uint64_t pages)
{
	progress_at(arg, pages);
}

static int to_dat(struct job *j, FILE *out)
{
	struct writer_options w = {
		.version = 7,
		.compression = COMPRESS_ZSTD,
		.choice = &j->o.choice,
		.progress = show,
		.arg = &j->bar,
	};
	uint64_t too_large, blocks = 0;
	int err;

	if (version)
		w.version = !strcmp(version, "6") ? 6 : !strcmp(version, "7") ? 7 : 0;
	if (compression)
		w.compression = compress_named(compression);
	if (!w.version || w.compression == COMPRESS_UNKNOWN) {
		diag_error("convert: trace.dat has versions 6 and 7, and zstd, zlib or none");
		return -EINVAL;
	}
	for (size_t i = 0; i < j->source->nr_streams; i++)
		blocks += j->source->streams[i].nr_blocks;
	progress_start(&j->bar, "writing", w.version == 6 ? 2 * blocks : blocks);
	err = writer_tracedat(j->source, &w, out, &too_large);
	progress_end(&j->bar);
	if (too_large)
		diag_warn("%" PRIu64 " events are larger than a page and were left out", too_large);
	return err;
}

static int to_text(struct job *j, FILE *out)
{
	struct report_options r = {.choice = &j->o.choice,
				   .fd = out == stdout ? STDOUT_FILENO : fileno(out)};

	return report_trace_cmd(j->source, &r);
}

static int export(struct job *j, enum export_form form, FILE *out)
{
	return export_events(j->source, &j->o.choice, form, out);
}

static int run(struct job *j, const char *form, FILE *out)
{
	if (!strcmp(form, "dat"))
		return to_dat(j, out);
	if (!strcmp(form, "txt") || !strcmp(form, "text"))
		return to_text(j, out);
	if (!strcmp(form, "jsonl"))
		return export(j, EXPORT_JSONL, out);
	if (!strcmp(form, "csv"))
		return export(j, EXPORT_CSV, out);
	return export(j, EXPORT_CHROME, out);
}

/* By --form, or by the suffix. `--to FORM` is what many tools say, and no time looks like one: it is taken as meant. */
static const char *choose_form(struct options *o)
{
	const char *to = o->to_text;

	if (form_name)
		return form_name;
	if (to && form_named(to)) {
		o->to_text = NULL;
		return to;
	}
	return source_suffix(o->args[1]);
}

static int convert(struct job *j, const char *form)
{
	const char *path = j->o.args[1];
	struct output out;
	int err;

	if (output_is_input(path, j->o.args[0]))
		return EXIT_FAIL;
	err = output_open(&out, path, !force);
	if (!err)
		err = output_close(&out, run(j, form, out.f));
	output_error(path, err);
	return err && err != -EPIPE ? EXIT_FAIL : EXIT_OK;
}

/* Where nothing opens OUT with output_open(). */
static bool may_write(const char *out)
{
	return force || access(out, F_OK) || !output_error(out, -EEXIST);
}

/* The last step of the backtracer's pipeline, of any trace with stacks: what `fathom flame IN -o OUT` draws. */
static int convert_flame(const struct options *o, const char *form)
{
	struct stack_options stacks = {.o = *o, .stacks.names.binaries = o->source.meta};
	struct flame_drawing d = {.stacks = &stacks,
				  .file = o->args[0],
				  .output = o->args[1],
				  .form = form,
				  .style = &(const struct flame_style){0}};
	int rc = stack_options_settle(&stacks, "convert");

	if (rc)
		return rc;
	return may_write(d.output) ? flame_draw(&d) : EXIT_FAIL;
}

/* The steps of the backtracer's own pipeline go from text to text. */
static int convert_btb(const struct options *o, const char *form)
{
	struct btb_convert_options b = {.run = -1,
					.fresh = !force,
					.per_cpu = per_cpu,
					.names = {.tables = o->source.symbols,
						  .binaries = o->source.meta}};

	return btb_convert(o->args[0], o->args[1], form, &b) ? EXIT_FAIL : EXIT_OK;
}

/* Other files beside OUT are written too, so the format does it; what it could not read is told. */
static int convert_sel4(struct job *j, const char *form)
{
	struct source *s = j->source;
	const char *out = j->o.args[1];

	if (sel4_convert(s, out, form, !force))
		return EXIT_FAIL;
	for (size_t i = 0; i < s->nr_damage; i++)
		diag_at(s->path, s->damage[i].offset, "%s", s->damage[i].what);
	diag_flush();
	return s->damage_total ? EXIT_FAIL : EXIT_OK;
}

static int convert_any(struct job *j, const char *form)
{
	int rc;

	if (sel4_convert_takes(j->source, form))
		return convert_sel4(j, form);
	if (form_named(form)->needs != FORM_EVENTS) {
		diag_error("convert: %s cannot be made of a trace in the form %s", form,
			   j->source->ops->name);
		return EXIT_FAIL;
	}
	if (strcmp(form, "txt") && strcmp(form, "text") && options_only_text(j->source))
		return EXIT_FAIL;
	rc = convert(j, form);
	options_tell_missing(j->source);
	return rc;
}

int cmd_convert(int argc, char **argv)
{
	const struct form *known;
	struct job j = {0};
	const char *form;
	int rc = options_parse(&spec, argc, argv, &j.o);

	if (rc != OPTIONS_GO)
		return rc;
	form = choose_form(&j.o);
	known = form_named(form);
	if (!known) {
		diag_error("convert: '%s' is not a form; `fathom help convert` lists them", form);
		return EXIT_USAGE;
	}
	if (known->only_file && !strcmp(j.o.args[1], "-")) {
		diag_error("convert: %s must go to a file, not to the standard output", form);
		return EXIT_USAGE;
	}
	if (btb_convert_takes(j.o.args[0], form))
		return convert_btb(&j.o, form);
	if (known->needs == FORM_STACKS)
		return convert_flame(&j.o, form);
	j.source = options_open(&j.o);
	if (!j.source)
		return EXIT_FAIL;
	rc = convert_any(&j, form);
	source_close(j.source);
	options_close(&j.o);
	return rc;
}
