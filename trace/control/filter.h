/* SPDX-License-Identifier: MIT */
/* filter.h -- event filters: an expression over an event's fields, compiled once to code that only jumps forward. */
#ifndef CONTROL_FILTER_H
#define CONTROL_FILTER_H

#include <stddef.h>
#include <stdint.h>
#include "fathom/inside/event.h"

#define FATHOM_FILTER_TERMS_MAX 64
#define FATHOM_FILTER_DEPTH_MAX 32
#define FATHOM_FILTER_VALUE_MAX 255 /* characters of one string value, as in Linux */
#define FATHOM_FILTER_TEXT_MAX	4095

struct fathom_filter;

/* What a name in an expression stands for. */
enum fathom_operand_kind {
	FATHOM_OPERAND_NUMBER,
	FATHOM_OPERAND_CHARS,	 /* char[n], ends at NUL or n */
	FATHOM_OPERAND_DYNAMIC,	 /* __data_loc char[] */
	FATHOM_OPERAND_RELATIVE, /* __rel_loc char[] */
	FATHOM_OPERAND_CPU,
	FATHOM_OPERAND_COMM,
	FATHOM_OPERAND_ARRAY, /* neither number nor text */
};

struct fathom_operand {
	uint8_t kind;
	uint8_t is_signed;
	uint16_t offset;
	uint16_t size;
	const char *name;
};

/* Find a field by name: the event's own, then CPU and COMM, then the common ones. 0 or -ENOENT. */
int fathom_operand_find(const struct fathom_event *ev, const char *name, size_t n,
			struct fathom_operand *out);
/* The number in the record, sign extended; 0 if the record is too short. */
uint64_t fathom_operand_number(const struct fathom_operand *op, const void *record, uint32_t bytes);
/* The text in the record: never past its end; *len without the NUL. */
const char *fathom_operand_text(const struct fathom_operand *op, const void *record, uint32_t bytes,
				uint32_t *len);

struct fathom_filter_error {
	const char *what; /* Linux's text; NULL: "Error" without a place */
	uint32_t at;	  /* column of the caret */
};

/*
 * Compile into pool memory. 0, or the errno value Linux gives: -EINVAL, and -EPERM (too many terms, a `)` too much),
 * -ENOENT (a `(` left open), -ESRCH (a quote left open); -ENOMEM. Context: task, control lock held.
 */
int fathom_filter_compile(const struct fathom_event *ev, const char *text, size_t len,
			  struct fathom_filter **out, struct fathom_filter_error *err);
/* A filter that passes all and only keeps the text, for showing what was wrong with it. NULL if no memory. */
struct fathom_filter *fathom_filter_broken(const char *text, size_t len,
					   const struct fathom_filter_error *err);
/* Any context, gate held. 1: the record passes. */
int fathom_filter_match(const struct fathom_filter *f, const void *record, uint32_t bytes,
			uint32_t cpu);
const char *fathom_filter_text(const struct fathom_filter *f, size_t *len);

#endif
