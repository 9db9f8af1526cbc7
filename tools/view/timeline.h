/* SPDX-License-Identifier: MIT */
/* timeline.h -- a trace over time: which task ran on which CPU, interrupts, calls, events; one page for a browser. */
#ifndef VIEW_TIMELINE_H
#define VIEW_TIMELINE_H

#include <stdio.h>

#include "store/scan.h"

struct timeline_options {
	const char *title;
	const struct scan_choice *choice;
	uint64_t max; /* slices and marks on the page; what comes later is skipped and counted */
};

struct timeline_result {
	uint64_t events;   /* that were looked at */
	uint64_t shown;	   /* slices and marks */
	uint64_t left_out; /* events after the last that fitted */
	uint64_t until;	   /* time of that one, if any was skipped */
	char lost[256];	   /* what the trace lost; "" if nothing is known to be */
};

/* 0, or a negative errno; -ENODATA: no event to show. */
int timeline_html(struct source *s, const struct timeline_options *o, FILE *out,
		  struct timeline_result *result);

#endif
