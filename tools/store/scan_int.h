/* SPDX-License-Identifier: MIT */
/* scan_int.h -- inside tools/store: what the parts of a scan share. */
#ifndef STORE_SCAN_INT_H
#define STORE_SCAN_INT_H

#include "store/scan.h"

/* Types and filter of a choice, for one thread. */
struct match {
	struct source *source;
	const struct scan_choice *choice;
	struct filter_event *
		*by_schema; /* by place in source.schemas, one more for unknown types */
	struct expr_env env;
	char scratch[EXPR_SCRATCH_MAX];
};

/* False: out of memory. The match is zero. */
bool match_init(struct match *m, struct source *s, const struct scan_choice *c);
void match_free(struct match *m);
bool match_event(struct match *m, const struct event *e);

#endif
