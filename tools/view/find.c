/* SPDX-License-Identifier: MIT */
/* find.c -- events that are found by number, type, time or filter, one per line: as the report has them, or as JSON. */
#include "base/colour.h"
#include "base/diag.h"
#include "base/guess.h"
#include "view/eventline.h"
#include "view/find.h"
#include "view/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct find {
	struct source *source;
	const struct find_options *o;
	struct scan *scan;
	struct eventline *line;
	struct report_line *text;
	char native[4096];
	bool colour;
};

/* What the format's own tools print, with the number in it; else the number and the line of the report. */
static void put_line(struct find *q, const struct event *e, uint64_t n, bool mark)
{
	const struct source_index *own = source_index(q->source);
	int native = own ? own->print(q->source, e, q->native, sizeof(q->native)) : -1;
	const char *line;
	size_t bytes;

	if (native >= 0) {
		fwrite_unlocked(q->native, 1, (size_t)native, stdout);
		if (!native || q->native[native - 1] != '\n')
			putc_unlocked('\n', stdout);
		return;
	}
	if (n != UINT64_MAX)
		printf("%9" PRIu64 "%c ", n, mark ? '>' : ' ');
	line = report_line(q->text, e, &bytes);
	fwrite_unlocked(line, 1, bytes, stdout);
}

static void print(struct find *q, const struct event *e, bool mark)
{
	uint64_t n = scan_number(q->scan);

	if (q->o->json) {
		struct json j;

		json_init(&j, stdout, false);
		json_open(&j, NULL, '{');
		eventline_json(q->line, e, n, &j);
		json_close(&j, '}');
		json_end(&j);
		return;
	}
	if (mark && q->colour)
		fputs(COLOUR_BOLD, stdout);
	put_line(q, e, n, mark);
	if (mark && q->colour)
		fputs(COLOUR_OFF, stdout);
}

static int by_number(struct find *q)
{
	uint64_t first = q->o->event > q->o->context ? q->o->event - q->o->context : 0, last, nr;
	const struct event *e;

	if (scan_seek(q->scan, first, &nr) || q->o->event >= nr) {
		diag_error("%s: there is no event %" PRIu64 ": it has %" PRIu64 ", from 0 on",
			   q->source->path, q->o->event, nr);
		return -EINVAL;
	}
	last = __builtin_add_overflow(q->o->event, q->o->context, &last) ? UINT64_MAX : last;
	while ((e = scan_next(q->scan)) && scan_number(q->scan) <= last)
		print(q, e, q->o->context && scan_number(q->scan) == q->o->event);
	return 0;
}

static int search(struct find *q)
{
	const struct event *e;

	scan_skip(q->scan, q->o->offset);
	for (uint64_t n = 0; n < q->o->limit; n++) {
		if (!(e = scan_next(q->scan)))
			break;
		print(q, e, false);
	}
	return 0;
}

int find_events(struct source *s, const struct find_options *o)
{
	struct scan_options so = {
		.numbered = true, .no_index = o->no_index, .progress = o->progress, .arg = o->arg};
	struct find q = {.source = s, .o = o, .colour = colour_wanted(STDOUT_FILENO)};
	struct report_options report = {.choice = o->choice, .colour = q.colour};
	int err = -ENOMEM;

	q.line = eventline_new(s);
	q.text = report_line_new(s, &report);
	q.scan = scan_open(s, o->choice, &so);
	if (q.line && q.text && q.scan)
		err = o->by_number ? by_number(&q) : search(&q);
	scan_close(q.scan);
	eventline_free(q.line);
	report_line_free(q.text);
	return err;
}

void find_no_type(const struct source *s, const char *name)
{
	unsigned shown = 0;

	diag_error("%s: no event type '%s'", s->path, name);
	if (strpbrk(name, "*?["))
		fprintf(stderr, "        --filter '%s' takes patterns\n", name);
	for (size_t i = 0; i < s->nr_schemas && shown < 5; i++)
		if (guess_similar(name, strlen(name), s->schemas[i].name)) {
			fprintf(stderr, "        did you mean '%s'?\n", s->schemas[i].name);
			shown++;
		}
}
