/* SPDX-License-Identifier: MIT */
/* filter_int.h -- inside tools/query: the parts of a filter. */
#ifndef QUERY_FILTER_INT_H
#define QUERY_FILTER_INT_H

#include "query/compile.h"

/* What a comparison compares: fields, numbers, sums of them. */
struct operand {
	bool missing; /* a name the event does not have */
	bool text;    /* TYPE_BYTES */
	bool symbol;  /* a number that stands for the name of a function */
	uint8_t type;
};

/* Names in a filter that are none of an event's fields; more than these are not reported. */
struct missing_names {
	uint32_t nr;
	struct {
		uint32_t at, len; /* in the text */
	} name[16];
};

/* Each leaves one value on the stack: the operand, whether the condition is true. */
bool filter_operand(struct compiler *c, struct operand *o);
bool filter_condition(struct compiler *c);

/* Is it safe to give to libc, which copies what `+` and `{n}` repeat? */
bool filter_regex_is_modest(const char *s);

/* The characters of "system/event,event" before a colon; 0 if the text does not begin so. */
size_t filter_events_prefix(const char *s);
/* Is it a list of names, each without blanks inside; is it nothing but that, to its end? */
bool filter_events_valid(const char *list);
bool filter_events_list(const char *text);
/* Is the event one of the list? A name without a slash may be a system's too. */
bool filter_events_has(const char *list, const struct format *f);

#endif
