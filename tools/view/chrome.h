/* SPDX-License-Identifier: MIT */
/* chrome.h -- inside tools/view: a trace as Chrome's trace JSON, for Perfetto and chrome://tracing. */
#ifndef VIEW_CHROME_H
#define VIEW_CHROME_H

#include <stdio.h>

#include "view/eventline.h"

struct chrome;

/* Writes the head. NULL: out of memory. */
struct chrome *chrome_new(struct source *s, struct eventline *line, FILE *out);
/* Events in the order of time. */
void chrome_event(struct chrome *c, const struct event *e);
/* Closes what is open and frees it. */
void chrome_end(struct chrome *c);

#endif
