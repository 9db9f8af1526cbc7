/* SPDX-License-Identifier: MIT */
/* latency.h -- how long things took: each kind of span with its distribution and the worst of it. */
#ifndef VIEW_LATENCY_H
#define VIEW_LATENCY_H

#include <stdio.h>

#include "model/walk.h"

enum latency_by {
	LATENCY_BY_KIND, /* by name where a kind has names */
	LATENCY_BY_NAME,
	LATENCY_BY_TASK,
	LATENCY_BY_CPU,
	LATENCY_BY_PRIO,
};

struct latency_options {
	struct model_walk walk;
	enum latency_by by;
	uint32_t kinds; /* 1 << kind that are wanted */
	uint32_t worst; /* of each kind */
	uint64_t top;	/* groups of each kind; 0: all */
	bool histogram, json;
	const char *bold, *plain; /* of a terminal, or "" */
};

#define LATENCY_KINDS (~(1u << SPAN_LOST) & ((1u << SPAN_KINDS) - 1))

/* Print it. 0, or a negative errno; -EINVAL with a message; -ENODATA: there is no span of these kinds. */
int latency_print(struct source *s, const struct latency_options *o, FILE *out);

#endif
