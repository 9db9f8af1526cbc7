/* SPDX-License-Identifier: MIT */
/* filter_int.h -- inside tools/query: the parts of a filter. */
#ifndef QUERY_FILTER_INT_H
#define QUERY_FILTER_INT_H

#include "query/compile.h"

/* What a comparison compares: fields, numbers, sums of them. */
struct operand {
	bool missing; /* a name the event does not have */
	bool text;    /* TYPE_BYTES */
	uint8_t type;
};

/* Each leaves one value on the stack: the operand, whether the condition is true. */
bool filter_operand(struct compiler *c, struct operand *o);
bool filter_condition(struct compiler *c);

#endif
