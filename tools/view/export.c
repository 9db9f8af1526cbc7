/* SPDX-License-Identifier: MIT */
/* export.c -- a trace as JSON lines or CSV; its symbols. */
#include "view/export.h"
#include "base/diag.h"
#include "base/output.h"
#include "view/eventline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static void json_line(struct eventline *line, const struct event *e, FILE *out)
{
	struct json j;

	json_init(&j, out, false);
	json_open(&j, NULL, '{');
	eventline_json(line, e, UINT64_MAX, &j);
	json_close(&j, '}');
	json_end(&j);
}

static int each(struct source *s, const struct scan_choice *choice, FILE *out,
		void (*put)(struct eventline *line, const struct event *e, FILE *out))
{
	struct scan *sc = scan_open(s, choice, NULL);
	struct eventline *line = eventline_new(s);
	const struct event *e;
	int err = line && sc ? 0 : -ENOMEM;

	while (!err && !ferror(out) && (e = scan_next(sc)))
		put(line, e, out);
	eventline_free(line);
	scan_close(sc);
	return err;
}

int export_jsonl(struct source *s, const struct scan_choice *c, FILE *out)
{
	return each(s, c, out, json_line);
}

int export_csv(struct source *s, const struct scan_choice *c, FILE *out)
{
	fputs(eventline_csv_head, out);
	return each(s, c, out, eventline_csv);
}

static int save_kallsyms(struct source *s, const char *dir)
{
	struct symbol sym;
	struct output out;
	char *name = NULL;
	size_t n = 0;
	int err;

	source_want_names(s);
	err = asprintf(&name, "%s.kallsyms", dir) < 0 ? -ENOMEM : output_open(&out, name, false);
	if (!err) {
		for (; symbols_at(s->symbols, n, &sym); n++)
			fprintf(out.f, "%016" PRIx64 " t %s%s%s%s\n", sym.start, sym.name,
				*sym.module ? "\t[" : "", sym.module, *sym.module ? "]" : "");
		err = output_close(&out, n ? 0 : -ENODATA);
	}
	if (!err)
		fprintf(stderr, "%s: %zu symbols\n", name, n);
	else if (err == -ENODATA)
		diag_error("%s: has no symbols; name a file of symbols with --symbols", s->path);
	else
		output_error(name ? name : dir, err);
	free(name);
	return err;
}

int export_symbols(struct source *s, const char *dir)
{
	int n;

	if (!s->ops->own || !s->ops->own->save_symbols)
		return save_kallsyms(s, dir);
	n = s->ops->own->save_symbols(s, dir);
	if (n > 0)
		fprintf(stderr, "%s: tables of %d binaries\n", dir, n);
	return n > 0 ? 0 : -ENODATA;
}
