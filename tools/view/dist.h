/* SPDX-License-Identifier: MIT */
/* dist.h -- a distribution of times: count, total, extremes, and percentiles of the values themselves. */
#ifndef VIEW_DIST_H
#define VIEW_DIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Values are kept, so percentiles are exact: the value of rank ceil(p * n). When all distributions of a budget together hold
 * more than DIST_VALUES_MAX, each forgets every second of its values, and from then on keeps every second (fourth ...) only:
 * percentiles are then those of an even sample, and `step` says so.
 */
#define DIST_VALUES_MAX 24000000u

struct dist_budget {
	uint64_t values;
	bool full; /* the owner must call dist_thin() on all */
};

#define DIST_RECENT 5

struct dist {
	/* What every value touches is one cache line; `small` gets them by handfuls. */
	uint64_t count, total, min, max;
	uint32_t step, skipped; /* step 0 is 1 */
	uint32_t nr_recent, recent[DIST_RECENT];
	uint32_t *small; /* less than 2^32 */
	uint64_t *big;
	size_t nr_small, cap_small, nr_big, cap_big;
	size_t ranked; /* this many of `small` are no greater than the others */
	bool failed;
};

void dist_add(struct dist *d, struct dist_budget *b, uint64_t v);
void dist_thin(struct dist *d, struct dist_budget *b);
void dist_free(struct dist *d);
/* No more values come: a copy of the struct may be asked too. */
void dist_settle(struct dist *d);
/* Add all of another: to sum up groups. */
void dist_join(struct dist *to, const struct dist *from);
/* Of 1000: 500 is the median. Puts the values in another order. 0 if there are none. */
uint64_t dist_percentile(struct dist *d, uint32_t per_mille);
/* How many values lie in [2^i, 2^(i+1)); [0] has 0 and 1 too. */
void dist_histogram(const struct dist *d, uint64_t out[64]);

#endif
