/* SPDX-License-Identifier: MIT */
/* export.c -- a trace as JSON lines or CSV. */
#include "view/export.h"
#include "view/eventline.h"

#include <errno.h>

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
