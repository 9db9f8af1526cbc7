/* SPDX-License-Identifier: MIT */
/* export.h -- a trace as JSON lines, CSV or Chrome's trace JSON. */
#ifndef VIEW_EXPORT_H
#define VIEW_EXPORT_H

#include <stdio.h>

#include "store/scan.h"

enum export_form {
	EXPORT_JSONL,
	EXPORT_CSV,
	EXPORT_CHROME,
};

/* Write the events of a choice in the order of time. 0 or a negative errno. */
int export_events(struct source *s, const struct scan_choice *c, enum export_form form, FILE *out);

#endif
