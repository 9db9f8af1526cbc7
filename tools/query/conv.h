/* SPDX-License-Identifier: MIT */
/* conv.h -- inside tools/query: one conversion of a printf format, and how its value is printed. */
#ifndef QUERY_CONV_H
#define QUERY_CONV_H

#include "query/expr.h"
#include "query/out.h"

enum conv_flags {
	CONV_LEFT = 1,
	CONV_PLUS = 2,
	CONV_SPACE = 4,
	CONV_ALT = 8,
	CONV_ZERO = 16,
	CONV_STAR_WIDTH = 32,
	CONV_STAR_PREC = 64,
	CONV_LIBC = 128, /* as libc prints, not the kernel */
};

#define CONV_WIDTH_MAX 4096 /* what a format may ask for; more is cut */

struct conv {
	char conv;   /* d u x X o s c p or 0: not known */
	char ext[8]; /* letters after %p */
	uint8_t flags;
	uint8_t size;  /* of the argument by its length modifier: 1 2 4 8 */
	int32_t width; /* -1: none */
	int32_t prec;  /* -1: none */
};

/* Parse after the `%`; the end. `long_bytes` is the size of %ld. */
const char *conv_parse(const char *s, const char *end, uint8_t long_bytes, struct conv *c);
void conv_number(struct out *o, const struct conv *c, uint64_t v);
/* The text up to a NUL, at most len. */
void conv_string(struct out *o, const struct conv *c, const char *s, uint32_t len);
void conv_char(struct out *o, const struct conv *c, char v);
/* Any %p: a value of TYPE_BYTES is what the pointer points at. */
void conv_pointer(struct out *o, const struct conv *c, const struct value *v, uint8_t type,
		  const struct expr_record *r);

/* "ENOMEM" for 12, as Linux's %pe says; NULL: there is none (errnames.c). */
const char *errnames_find(uint64_t number);

#endif
