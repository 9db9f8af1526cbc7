/* SPDX-License-Identifier: MIT */
/* select.c -- the filter of the command line, compiled for the event types of a trace as they come. */
#include "cmd/select.h"
#include "base/diag.h"
#include "query/filter.h"
#include "view/eventline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct select {
	struct source *source;
	struct filter *filter; /* NULL: everything */
	struct filter_event *
		*by_type; /* [SOURCE_ID_FAST], compiled on first use; larger ids share [0] */
	struct expr_env env;
	char scratch[EXPR_SCRATCH_MAX];
};

struct all_formats {
	struct source *source;
	size_t next;
};

static const struct format *next_format(void *arg)
{
	struct all_formats *a = arg;
	const struct format *f = NULL;

	while (!f && a->next < a->source->nr_schemas)
		f = source_format(a->source, a->source->schemas[a->next++].id);
	return f;
}

struct filter *select_filter(struct source *s, const struct options *o)
{
	struct filter *f = filter_new(o->filter, NULL);
	struct all_formats all = {.source = s};
	struct expr_error doubt = {0};

	if (f && s->nr_schemas && filter_doubt(f, next_format, &all, &doubt)) {
		diag_warn("--filter: %s", doubt.what);
		fprintf(stderr, "        %s\n        %*s^\n", o->filter, (int)doubt.offset, "");
	}
	return f;
}

struct select *select_open(struct source *s, const struct options *o)
{
	struct select *sel = calloc(1, sizeof(*sel));

	if (!sel || !o->filter) {
		if (sel)
			sel->source = s;
		return sel;
	}
	sel->source = s;
	sel->filter = select_filter(s, o);
	sel->by_type = calloc(SOURCE_ID_FAST, sizeof(struct filter_event *));
	if (!sel->filter || !sel->by_type) {
		select_close(sel);
		return NULL;
	}
	eventline_env(s, &sel->env);
	return sel;
}

void select_close(struct select *sel)
{
	if (!sel)
		return;
	for (uint32_t i = 0; sel->by_type && i < SOURCE_ID_FAST; i++)
		if (sel->by_type[i])
			filter_event_free(sel->by_type[i]);
	free(sel->by_type);
	if (sel->filter)
		filter_free(sel->filter);
	free(sel);
}

static struct filter_event *compiled(struct select *sel, uint32_t type)
{
	uint32_t slot = type < SOURCE_ID_FAST ? type : 0;

	if (!sel->by_type[slot])
		sel->by_type[slot] = filter_compile(sel->filter, source_format(sel->source, type),
						    (uint8_t)sel->source->long_bytes);
	return sel->by_type[slot];
}

bool select_match(struct select *sel, const struct event *e)
{
	struct filter_event *f;
	struct expr_record r;

	if (!sel->filter)
		return true;
	f = compiled(sel, e->type);
	if (!f)
		return false;
	r = (struct expr_record){.data = e->data,
				 .size = e->size,
				 .cpu = e->cpu,
				 .pid = e->pid,
				 .time = e->time,
				 .name = source_event_name(sel->source, e->type),
				 .env = &sel->env,
				 .scratch = sel->scratch};
	return filter_match(f, &r);
}

struct window {
	const struct options *o;
	struct select *sel;
};

static bool in_window(const struct event *e, void *arg)
{
	struct window *w = arg;

	return options_time(w->o, e->time) && select_match(w->sel, e);
}

int select_export(struct source *s, struct options *o, struct select *sel, enum export_form form,
		  FILE *out)
{
	struct merge *m = merge_open(s, options_keep, o);
	struct window w = {o, sel};
	int err;

	if (!m)
		return -ENOMEM;
	if (o->from_text)
		merge_seek_time(m, o->from);
	err = export_events(s, m, form, in_window, &w, out);
	merge_close(m);
	return err;
}
