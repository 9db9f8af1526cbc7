/* SPDX-License-Identifier: MIT */
/* row.h -- an event as a row: its fields by number, as integers, text, bytes or arrays. */
#ifndef MODEL_ROW_H
#define MODEL_ROW_H

#include "decode/source.h"

/* Where a whole number lies in a record. size 0: the type has no such field. */
struct row_number {
	uint32_t offset;
	uint8_t size;
	bool is_signed, swap;
};

uint64_t row_number_odd(const struct row_number *f, const uint8_t *at);

/* 0 if the record has it not, or is cut before its end. */
static inline uint64_t row_get(const struct row_number *f, const struct event *e)
{
	uint64_t v8;
	uint32_t v4;

	if (!f->size || e->size < f->size || f->offset > e->size - f->size)
		return 0;
	if (f->size == 8 && !f->swap) {
		__builtin_memcpy(&v8, e->data + f->offset, 8);
		return v8;
	}
	if (f->size == 4 && !f->swap) {
		__builtin_memcpy(&v4, e->data + f->offset, 4);
		return f->is_signed ? (uint64_t)(int64_t)(int32_t)v4 : v4;
	}
	return row_number_odd(f, e->data + f->offset);
}

enum row_kind {
	ROW_INTEGER,
	ROW_TEXT,
	ROW_BYTES,
	ROW_ARRAY, /* of whole numbers */
};

struct row_field {
	const char *name;
	enum row_kind kind;
	struct row_number number; /* an integer, or the first element of a fixed array */
	const struct format_field *format;
};

/* The columns of an event type, common fields first. */
struct row_type {
	const struct schema *schema;
	uint32_t nr, nr_common;
	struct row_field fields[];
};

/* What a field holds in one event. */
struct row_value {
	enum row_kind kind;
	uint64_t integer; /* sign-extended */
	bool is_signed;
	const uint8_t *bytes; /* text (n characters, no NUL), bytes, or elements of an array */
	uint32_t n;	      /* bytes of them */
	uint32_t element;     /* bytes of an element */
};

/* NULL: the type is unknown, its format broken, or memory is out. The caller frees it. */
struct row_type *row_type_new(struct source *s, uint32_t id);
/* The number of the column, or -1. */
int row_index(const struct row_type *t, const char *name);
/* The whole number that a type has under a name; size 0: none. */
struct row_number row_number_of(struct source *s, uint32_t id, const char *name);
/* False: the record ends before the field. */
bool row_value(const struct row_type *t, uint32_t field, const struct event *e,
	       struct row_value *out);

#endif
