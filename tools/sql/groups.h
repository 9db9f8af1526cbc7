/* SPDX-License-Identifier: MIT */
/* groups.h -- inside sql/: events counted and summed by some of their columns, instead of given one by one. */
#ifndef SQL_GROUPS_H
#define SQL_GROUPS_H

#include "sql/columns.h"

/*
 * SQLite groups rows that it gets one by one, and sorts them for it. regroup.c rewrites a statement that needs only sums of
 * groups, so that it reads the table of this header: a row is a group of events that are alike in `keys`. Columns:
 *
 *	keys        what the statement names outside of aggregates
 *	conditions  columns of a WHERE that the walk answers; they have no value
 *	count       how many events
 *	per sum     of an aggregate's argument: how many are not NULL, their sum, the least, the greatest
 */
#define GROUP_KEYS 12
#define GROUP_SUMS 8
#define EXPR_STEPS 16

/* Whole numbers, columns and + - * / % in postfix order. One step: a column, of any kind that has a key. */
struct sum_expr {
	struct sum_step {
		int op;	  /* '#' a number; 'c' a column */
		int load; /* how the column is read: grouping_ready() */
		int64_t v;
	} step[EXPR_STEPS];
	int nr;
};

struct grouping {
	struct columns columns;
	struct sum_expr keys[GROUP_KEYS], sums[GROUP_SUMS];
	int conditions[TERMS_MAX];
	int nr_keys, nr_sums, nr_conditions;
};

#define GROUPS_TABLE "fathom groups"
#define GROUPS_COUNT "fathom count"

/* Settle how the columns of every expression are read. */
void grouping_ready(struct grouping *g);
extern const struct sql_table_kind sql_group_kind; /* `what` is the grouping */

void grouping_free(struct grouping *g);

#endif
