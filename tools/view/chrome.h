/* SPDX-License-Identifier: MIT */
/* chrome.h -- inside tools/view: a trace as Chrome's trace JSON, for Perfetto and chrome://tracing. */
#ifndef VIEW_CHROME_H
#define VIEW_CHROME_H

#include <stdio.h>

#include "view/eventline.h"

struct chrome;

/* Writes the head. NULL: out of memory. */
struct chrome *chrome_new(struct source *s, struct eventline *line, FILE *out);
/* All events in the order of time; those that are not to be shown are followed all the same. */
void chrome_event(struct chrome *c, const struct event *e, uint64_t number, bool show);
/* Closes what is open and frees it. 0 or -ENOMEM. */
int chrome_end(struct chrome *c);

#endif
