/* SPDX-License-Identifier: MIT */
/* find.h -- events that are found by number, type, time or filter, one per line: as the report has them, or as JSON. */
#ifndef VIEW_FIND_H
#define VIEW_FIND_H

#include "store/scan.h"

struct find_options {
	const struct scan_choice *choice;
	bool by_number; /* the event with this number, and so many before and after it */
	uint64_t event, context;
	uint64_t offset, limit; /* else: how many to skip, and at most to print */
	bool json, no_index;
	void (*progress)(void *arg, const char *what, uint64_t done, uint64_t total);
	void *arg;
};

/* To stdout. 0 or a negative errno; -EINVAL with a message. */
int find_events(struct source *s, const struct find_options *o);
/* Say that the trace has no such type of event, and which are similar. */
void find_no_type(const struct source *s, const char *name);

#endif
