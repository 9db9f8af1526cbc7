/* SPDX-License-Identifier: MIT */
/* forms.c -- the forms a trace can be written in: one table for convert, flame, their help, completion and man pages. */
#include "cmd/forms.h"
#include "base/diag.h"
#include "cmd/options.h"
#include "sql/sql.h"
#include "store/writer.h"
#include "view/export.h"
#include "view/flame.h"
#include "view/parquet.h"
#include "view/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int write_dat(const struct form_job *j, FILE *out)
{
	struct writer_options w = {
		.version = j->version,
		.compression = j->compression,
		.choice = j->choice,
		.progress = progress_show,
		.arg = j->bar,
	};
	uint64_t too_large;
	int err;

	progress_start(j->bar);
	err = writer_tracedat(j->source, &w, out, &too_large);
	progress_end(j->bar);
	if (too_large)
		diag_warn("%" PRIu64 " events are larger than a page and were skipped", too_large);
	return err;
}

static int write_txt(const struct form_job *j, FILE *out)
{
	struct report_options r = {.choice = j->choice, .fd = fileno(out)};

	return report_trace_cmd(j->source, &r);
}

static int write_jsonl(const struct form_job *j, FILE *out)
{
	return export_jsonl(j->source, j->choice, out);
}

static int write_csv(const struct form_job *j, FILE *out)
{
	return export_csv(j->source, j->choice, out);
}

static int write_chrome(const struct form_job *j, FILE *out)
{
	return export_chrome(j->source, j->choice, out);
}

static int write_parquet(const struct form_job *j, FILE *out)
{
	return parquet_wide(j->source, j->choice, out);
}

static int write_sqlite(const struct form_job *j, FILE *out)
{
	return sql_save(j->source, j->choice, out);
}

static int write_svg(const struct form_job *j, FILE *out)
{
	flame_svg(j->flame, j->style, out);
	return 0;
}

static int write_html(const struct form_job *j, FILE *out)
{
	flame_html(j->flame, j->style, out);
	return 0;
}

static int write_folded(const struct form_job *j, FILE *out)
{
	flame_folded(j->flame, out);
	return 0;
}

static int write_speedscope(const struct form_job *j, FILE *out)
{
	flame_speedscope(j->flame, j->style, out);
	return 0;
}

static int write_pprof(const struct form_job *j, FILE *out)
{
	return flame_pprof(j->flame, j->style, out);
}

static const struct form forms[] = {
	{"dat", NULL, "dat", "trace.dat, for trace-cmd and KernelShark", FORM_EVENTS,
	 FORM_ONLY_FILE, write_dat},
	{"txt", "text", "txt", "text, as `fathom report` prints it", FORM_EVENTS, FORM_TEXT_TOO,
	 write_txt},
	{"jsonl", NULL, "jsonl", "JSON lines: one object per event with its fields", FORM_EVENTS, 0,
	 write_jsonl},
	{"csv", NULL, "csv", "time,cpu,pid,comm,event,text", FORM_EVENTS, 0, write_csv},
	{"json", "chrome", "json", "Chrome's trace JSON, for Perfetto and chrome://tracing",
	 FORM_EVENTS, 0, write_chrome},
	{"parquet", NULL, "parquet", "a table for DuckDB, ClickHouse, Spark: a column per field",
	 FORM_EVENTS, 0, write_parquet},
	{"sqlite", "db", "sqlite", "a database with the tables of `fathom sql`", FORM_EVENTS, 0,
	 write_sqlite},
	{"svg", NULL, "svg", "a flame graph of its stacks", FORM_STACKS, FORM_DRAWING, write_svg},
	{"html", NULL, "html", "the same as a page, with search and zoom", FORM_STACKS,
	 FORM_DRAWING, write_html},
	{"folded", NULL, "folded", "stacks as text, for other flame graph tools", FORM_STACKS, 0,
	 write_folded},
	{"speedscope", NULL, "json", "stacks for speedscope.app", FORM_STACKS, 0, write_speedscope},
	{"pprof", NULL, "pb.gz", "stacks for pprof", FORM_STACKS, 0, write_pprof},
};

#define NR_FORMS (sizeof(forms) / sizeof(forms[0]))

static const struct form *common_form(const char *name)
{
	for (size_t i = 0; i < NR_FORMS; i++)
		if (!strcmp(forms[i].name, name) ||
		    (forms[i].second && !strcmp(forms[i].second, name)))
			return &forms[i];
	return NULL;
}

/* The forms of every trace, then those that only some formats have. False at the end. */
static bool form_at(size_t i, struct form *out)
{
	const struct source_form *f;

	if (i < NR_FORMS) {
		*out = forms[i];
		return true;
	}
	i -= NR_FORMS;
	for (size_t k = 0; (f = source_form_at(k)); k++) {
		if (common_form(f->name) || i--)
			continue;
		*out = (struct form){.name = f->name,
				     .suffix = f->name,
				     .what = f->what,
				     .needs = FORM_OWN,
				     .flags = f->only_file ? FORM_ONLY_FILE : 0};
		return true;
	}
	return false;
}

bool form_find(const char *name, struct form *out)
{
	for (size_t i = 0; form_at(i, out); i++)
		if (!strcmp(out->name, name) || (out->second && !strcmp(out->second, name)))
			return true;
	return false;
}

const char *form_names(enum form_needs needs)
{
	static char text[200];
	size_t n = 0, left = 0;

	for (size_t i = 0; i < NR_FORMS; i++)
		left += forms[i].needs == needs;
	for (size_t i = 0; i < NR_FORMS && n < sizeof(text); i++)
		if (forms[i].needs == needs)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", forms[i].name,
					      --left > 1  ? ", "
					      : left == 1 ? " or "
							  : "");
	return text;
}

static char *list(bool all)
{
	char *text = NULL;
	struct form form;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	if (!f)
		return NULL;
	fputs("forms:\n", f);
	for (size_t i = 0; form_at(i, &form); i++)
		if (all || form.needs == FORM_STACKS)
			fprintf(f, "  %-11s %s\n", form.name, form.what);
	return fclose(f) ? NULL : text;
}

char *form_help(void)
{
	return list(true);
}

char *form_help_stacks(void)
{
	return list(false);
}
