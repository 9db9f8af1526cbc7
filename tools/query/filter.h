/* SPDX-License-Identifier: MIT */
/* filter.h -- what a person asks for: `prev_pid == 13 && next_comm ~ "ker*"`, for every event of a trace. */
#ifndef QUERY_FILTER_H
#define QUERY_FILTER_H

#include "query/expr.h"

/*
 * The language: comparisons == != < <= > >= & ~ (glob) =~ !~ (regular expression) of a field with a value, joined by
 * && || ! and parentheses; arithmetic on fields as in C. A value is a number, "text" or a bare word. Names are the event's
 * fields, then CPU PID COMM TIME EVENT (always) and cpu pid comm event (if the event has no such field). An address
 * compared with text is compared by its symbol's name.
 *
 * "SYSTEM/EVENT,EVENT: EXPR" holds for these events only; the names may be globs or regular expressions. EXPR may be empty
 * or `*`, or names may stand alone. Parts divided by `;` are for different events: one that is true is enough.
 *
 * A comparison with a field that an event does not have is not true, and neither is its negation: such an event is
 * kept only if the rest of the expression keeps it.
 */
struct filter;

/* Parse the text; NULL and *err (offset into the text) if it is wrong for every event. */
struct filter *filter_new(const char *text, struct expr_error *err);
void filter_free(struct filter *f);

/* The filter as one event type sees it. */
struct filter_event;
/* NULL when out of memory. `f` (format) may be NULL: an unknown event has no fields. */
struct filter_event *filter_compile(const struct filter *filter, const struct format *f,
				    uint8_t long_bytes);
void filter_event_free(struct filter_event *e);
bool filter_match(const struct filter_event *e, struct expr_record *r);

/*
 * A filter that fits nothing is most often misspelt: a name in it that no event has, of those that next() gives until NULL.
 * Where it is, and what is doubted.
 */
bool filter_doubt(const struct filter *f, const struct format *(*next)(void *arg), void *arg,
		  struct expr_error *doubt);

#endif
