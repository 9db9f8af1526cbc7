/* SPDX-License-Identifier: MIT */
/* graph.h -- the call tree with times, as text or JSON. */
#ifndef VIEW_GRAPH_H
#define VIEW_GRAPH_H

#include "view/flame.h"
#include "view/stacks.h"

struct graph_options {
	const char *function; /* only the trees below it; NULL: all */
	uint64_t depth;	      /* at most; 0: all */
	double min;	      /* percent of all: what takes less is skipped */
	bool json;
};

/* To stdout. 0, or -ENOENT with a message: the function is not called. */
int graph_print(const struct flame *f, const struct stacks *s, const struct graph_options *o);
/* Say on stderr what the figures lack. */
void graph_missing(const struct stacks *s);

#endif
