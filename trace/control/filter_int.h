/* SPDX-License-Identifier: MIT */
/* filter_int.h -- the filter's code: made by filter.c, run by filter_run.c. */
#ifndef CONTROL_FILTER_INT_H
#define CONTROL_FILTER_INT_H

#include "control/filter.h"

/*
 * One register, the truth value. A term sets it, NOT turns it, the two jumps leave it as it is.
 *
 * F1  Every target lies behind its jump and at or before nr_code: running ends after nr_code steps at most.
 * F2  Every value of a term lies inside the filter's own text area.
 */
enum filter_op {
	FILTER_NOT,
	FILTER_JUMP_FALSE,
	FILTER_JUMP_TRUE,
	FILTER_EQ,
	FILTER_NE,
	FILTER_LT,
	FILTER_LE,
	FILTER_GT,
	FILTER_GE,
	FILTER_AND,
	FILTER_CPUS,	 /* & CPUS{}: the number is one of those in the mask `value` */
	FILTER_CPUS_NOT, /* it is not */
	FILTER_RANGE,	 /* .function ==: `value_at` bytes from `value` on */
	FILTER_RANGE_NOT,
	FILTER_GLOB,
	FILTER_STR_EQ,
	FILTER_STR_NE,
};

struct filter_code {
	uint8_t op;
	uint8_t value_len; /* of a string */
	uint16_t target;   /* of a jump */
	uint32_t value_at; /* of a string, in the filter's text; of a range, its bytes */
	uint64_t value;
	struct fathom_operand left;
};

struct fathom_filter {
	uint16_t nr_code;
	uint8_t broken;
	uint32_t text_len; /* what the filter file shows */
	char *text;
	struct filter_code code[];
};

#endif
