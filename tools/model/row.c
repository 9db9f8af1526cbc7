/* SPDX-License-Identifier: MIT */
/* row.c -- an event as a row: its fields by number, as integers, text, bytes or arrays. */
#include "model/row.h"
#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

uint64_t row_number_odd(const struct row_number *f, const uint8_t *at)
{
	bool big = f->swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	uint64_t v = 0;

	for (uint32_t i = 0; i < f->size; i++)
		v = v << 8 | at[big ? i : f->size - 1 - i];
	if (f->is_signed && f->size < 8 && v >> (8 * f->size - 1))
		v |= ~0ull << (8 * f->size);
	return v;
}

static struct row_number number_at(const struct source *s, const struct format_field *f,
				   uint32_t size)
{
	struct row_number n = {.offset = f->offset,
			       .size = (uint8_t)size,
			       .is_signed = f->flags & FORMAT_SIGNED,
			       .swap = s->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)};

	if (size != 1 && size != 2 && size != 4 && size != 8)
		n.size = 0;
	return n;
}

static enum row_kind kind_of(const struct format_field *f)
{
	if (f->flags & FORMAT_STRING)
		return ROW_TEXT;
	if (f->flags & (FORMAT_ARRAY | FORMAT_DYNAMIC))
		return f->elem_size == 1 ? ROW_BYTES : ROW_ARRAY;
	return f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8 ? ROW_INTEGER
									    : ROW_BYTES;
}

struct row_type *row_type_new(struct source *s, uint32_t id)
{
	const struct format *f = source_format(s, id);
	struct row_type *t = f ? calloc(1, sizeof(*t) + f->nr_fields * sizeof(t->fields[0])) : NULL;

	if (!t)
		return NULL;
	t->schema = source_schema(s, id);
	t->nr = f->nr_fields;
	t->nr_common = f->nr_common;
	for (uint32_t i = 0; i < f->nr_fields; i++) {
		const struct format_field *k = &f->fields[i];

		t->fields[i] = (struct row_field){
			k->name, kind_of(k),
			number_at(s, k, k->flags & FORMAT_ARRAY ? k->elem_size : k->size), k};
	}
	return t;
}

int row_index(const struct row_type *t, const char *name)
{
	for (uint32_t i = 0; i < t->nr; i++)
		if (!strcmp(t->fields[i].name, name))
			return (int)i;
	return -1;
}

struct row_number row_number_of(struct source *s, uint32_t id, const char *name)
{
	const struct format *f = source_format(s, id);
	const struct format_field *k = f ? format_field(f, name) : NULL;

	if (!k || kind_of(k) != ROW_INTEGER)
		return (struct row_number){0};
	return number_at(s, k, k->size);
}

/* Where a __data_loc or __rel_loc points; n is 0 if that is outside of the record. */
static void locate(const struct row_field *f, const struct event *e, struct row_value *out)
{
	struct row_number word = f->number;
	uint32_t loc, at;

	word.size = 4;
	word.is_signed = false;
	loc = (uint32_t)row_get(&word, e);
	at = (loc & 0xffff) +
	     (f->format->flags & FORMAT_REL_LOC ? f->format->offset + f->format->size : 0);
	out->n = at < e->size ? loc >> 16 : 0;
	if (out->n > e->size - (out->n ? at : 0))
		out->n = e->size - at;
	out->bytes = e->data + (out->n ? at : 0);
}

bool row_value(const struct row_type *t, uint32_t field, const struct event *e,
	       struct row_value *out)
{
	const struct row_field *f = &t->fields[field];
	const struct format_field *k = f->format;

	*out = (struct row_value){
		.kind = f->kind, .is_signed = k->flags & FORMAT_SIGNED, .element = k->elem_size};
	if (k->offset > e->size || (k->size && k->size > e->size - k->offset))
		return false;
	if (f->kind == ROW_INTEGER) {
		out->integer = row_get(&f->number, e);
		return true;
	}
	if (k->flags & FORMAT_DYNAMIC) {
		locate(f, e, out);
	} else {
		out->bytes = e->data + k->offset;
		out->n = k->size ? k->size
				 : e->size - k->offset; /* an open array ends with the record */
	}
	if (f->kind == ROW_TEXT)
		out->n = (uint32_t)strnlen((const char *)out->bytes, out->n);
	return true;
}
