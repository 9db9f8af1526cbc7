/* SPDX-License-Identifier: MIT */
/* export.c -- a trace as JSON lines, CSV or Chrome's trace JSON. */
#include "view/export.h"
#include "view/chrome.h"
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

int export_events(struct source *s, const struct scan_choice *choice, enum export_form form,
		  FILE *out)
{
	struct scan *sc = scan_open(s, choice, NULL);
	struct eventline *line = eventline_new(s);
	struct chrome *chrome = NULL;
	const struct event *e;
	bool wanted;
	int err = line && sc ? 0 : -ENOMEM;

	if (!err && form == EXPORT_CHROME && !(chrome = chrome_new(s, line, out)))
		err = -ENOMEM;
	if (!err && form == EXPORT_CSV)
		fputs(eventline_csv_head, out);
	while (!err && (e = scan_next_any(sc, &wanted))) {
		if (chrome)
			chrome_event(chrome, e, scan_number(sc), wanted);
		if (!wanted)
			continue;
		switch (form) {
		case EXPORT_CSV: eventline_csv(line, e, out); break;
		case EXPORT_CHROME: break;
		case EXPORT_JSONL: json_line(line, e, out); break;
		}
		if (ferror(out))
			break; /* who opened it finds out why */
	}
	if (chrome && chrome_end(chrome))
		err = -ENOMEM;
	eventline_free(line);
	scan_close(sc);
	return err;
}
