/* SPDX-License-Identifier: MIT */
/* export.h -- a trace as JSON lines, CSV or Chrome's trace JSON. */
#ifndef VIEW_EXPORT_H
#define VIEW_EXPORT_H

#include <stdio.h>

#include "decode/source.h"

enum export_form {
	EXPORT_JSONL,
	EXPORT_CSV,
	EXPORT_CHROME,
};

/* Write the events that `keep` lets through (NULL: all), in the order of time. 0 or a negative errno. */
int export_events(struct source *s, struct merge *m, enum export_form form,
		  bool (*keep)(const struct event *e, void *arg), void *arg, FILE *out);

#endif
