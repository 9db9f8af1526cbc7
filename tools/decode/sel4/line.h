/* SPDX-License-Identifier: MIT */
/* line.h -- a line of a console log, without the prefix that a terminal program put before it. */
#ifndef DECODE_SEL4_LINE_H
#define DECODE_SEL4_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sel4_log_line {
	const char *text;
	size_t len;
	uint64_t offset;
};

/* What stood before the first word of a dump: a time, a board's name. */
#define SEL4_PREFIX_MAX 128u
struct sel4_prefix {
	char text[SEL4_PREFIX_MAX];
	size_t len;
};

static inline bool sel4_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool sel4_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\0';
}

/* Cut off the prefix, whatever its numbers are in this line, and the blanks at both ends. */
void sel4_line_strip(struct sel4_log_line *l, const struct sel4_prefix *prefix);
bool sel4_line_is(const struct sel4_log_line *l, const char *s);
bool sel4_line_starts(const struct sel4_log_line *l, const char *s);
const char *sel4_line_find(const struct sel4_log_line *l, const char *s);

/* A number up to 2^63 at *s; false if there is none. *s is moved past it. */
bool sel4_number(const char **s, const char *end, unsigned base, uint64_t *out);

#endif
