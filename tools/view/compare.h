/* SPDX-License-Identifier: MIT */
/* compare.h -- two traces: what takes longer, what happens more often, what is only in one of them. */
#ifndef VIEW_COMPARE_H
#define VIEW_COMPARE_H

#include <stdio.h>

#include "model/walk.h"

/*
 * Spans are aligned by kind and name, or by the task's name where a kind has none; functions are compared by their own time,
 * so that a slow callee does not make its callers differ. Whether two distributions differ is decided by a rank test
 * (Mann-Whitney), and rates by two counts, whose variance is estimated from the counts in parts of the traces: events of a
 * scheduler come in bursts. Of all comparisons together, one in a thousand pairs of equal traces is called different (Holm's
 * correction). What differs by less than `least` is not worth naming.
 */
struct compare_options {
	struct model_walk walk[2];
	double least;	/* relative change: 0.02 */
	double chance;	/* of naming something in equal traces: 0.001 */
	bool all, json; /* all: what does not differ too */
};

/* How many differences there are, or a negative errno. */
int compare_print(struct source *const s[2], const struct compare_options *o, FILE *out);

#endif
