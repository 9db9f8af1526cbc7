/* SPDX-License-Identifier: MIT */
/* timeline.h -- a trace over time: which task ran on which CPU, interrupts, calls, events; one page for a browser. */
#ifndef VIEW_TIMELINE_H
#define VIEW_TIMELINE_H

#include <stdio.h>

#include "decode/source.h"

struct timeline_options {
	const char *title;
	uint64_t from; /* where to begin to look */
	uint64_t max;  /* slices and marks on the page; what comes later is left out and counted */
	bool (*keep)(const struct event *e, void *arg);
	void *arg;
};

struct timeline_result {
	uint64_t events;   /* that were looked at */
	uint64_t shown;	   /* slices and marks */
	uint64_t left_out; /* events behind the last that fitted */
	uint64_t until;	   /* time of that one, if any was left out */
};

/* 0, or a negative errno; -ENODATA: no event to show. */
int timeline_html(struct source *s, struct merge *m, const struct timeline_options *o, FILE *out,
		  struct timeline_result *result);

#endif
