/* SPDX-License-Identifier: MIT */
/* select.h -- the filter of the command line, compiled for the event types of a trace as they come. */
#ifndef CMD_SELECT_H
#define CMD_SELECT_H

#include "cmd/options.h"
#include "view/export.h"

struct select;

/* The filter of the line, which is right: with a word about names in it that nothing in the trace has. NULL: no memory. */
struct filter *select_filter(struct source *s, const struct options *o);
/* NULL if there is no memory; a filter that was not given lets everything through. */
struct select *select_open(struct source *s, const struct options *o);
void select_close(struct select *sel);
/* The filter only: CPU and time are the caller's business. One thread. */
bool select_match(struct select *sel, const struct event *e);

/* The events that all options of the line let through, in this form. 0 or a negative errno. */
int select_export(struct source *s, struct options *o, struct select *sel, enum export_form form,
		  FILE *out);

#endif
