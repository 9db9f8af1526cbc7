/* SPDX-License-Identifier: MIT */
/* profile.h -- where the time went: functions, tasks, CPUs, interrupts. */
#ifndef VIEW_PROFILE_H
#define VIEW_PROFILE_H

#include <stdio.h>

#include "model/walk.h"

enum profile_sort {
	PROFILE_SELF,
	PROFILE_TOTAL,
	PROFILE_CALLS,
	PROFILE_MEAN,
	PROFILE_P99,
	PROFILE_MAX,
	PROFILE_NAME,
};

struct profile_options {
	struct model_walk walk;
	enum profile_sort sort;
	const char *function; /* its callers and callees too; NULL: none */
	uint64_t top;	      /* lines per table; 0: all */
	bool json;
	const char *bold, *plain;
};

/* Print it. 0, or a negative errno; -EINVAL with a message; -ENODATA: there is nothing to add up. */
int profile_print(struct source *s, const struct profile_options *o, FILE *out);

#endif
