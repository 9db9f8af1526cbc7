/* SPDX-License-Identifier: MIT */
/* oneline.c -- the lines of the report, one event at a time: for query. */
#include "view/lines.h"

#include <stdlib.h>

struct report_line {
	struct line_reader *reader;
	struct line_writer writer;
	struct batch batch;
	struct item item;
};

struct report_line *report_line_new(struct source *s, const struct report_options *o)
{
	struct report_line *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->batch.items = &l->item;
	l->reader = reader_new(s, o, true);
	if (l->reader && writer_init(&l->writer, s, o))
		return l;
	report_line_free(l);
	return NULL;
}

void report_line_free(struct report_line *l)
{
	if (!l)
		return;
	reader_free(l->reader);
	if (l->writer.source)
		writer_free(&l->writer);
	out_free(&l->batch.text);
	free(l->batch.data);
	free(l);
}

const char *report_line(struct report_line *l, const struct event *e, size_t *bytes)
{
	*bytes = 0;
	if (!reader_one(l->reader, &l->batch, e))
		return "";
	writer_run(&l->writer, &l->batch);
	*bytes = out_len(&l->batch.text);
	return l->batch.text.base;
}

const char *report_text(struct report_line *l, const struct event *e, size_t *bytes)
{
	*bytes = 0;
	if (!reader_one(l->reader, &l->batch, e))
		return "";
	writer_text(&l->writer, &l->batch);
	*bytes = out_len(&l->batch.text);
	return *bytes ? l->batch.text.base : "";
}
