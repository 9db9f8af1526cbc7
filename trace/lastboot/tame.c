/* SPDX-License-Identifier: MIT */
/* tame.c -- which records of the last boot can be shown: those whose text stays inside the record, of events that are the same in every boot. */
#include "wire/cold.h"
#include "events/registry.h"
#include "fathom/inside/internal.h"
#include "fathom/object.h"
#include "fathom/trace.h"
#include "lastboot/lastboot.h"

/* Of the program itself: other objects, and events made at run time, may get other ids in each boot. */
static const struct fathom_event *tame_event(uint16_t id)
{
	static const struct fathom_event *last;
	const struct fathom_object *program = fathom_object_next(NULL);

	if (last && last->id == id)
		return last;
	for (struct fathom_event *const *ev = program->events; ev < program->events_end; ev++)
		if ((*ev)->id == id)
			return last = *ev;
	return NULL;
}

static int tame_is_format(const char *text)
{
	const char *format;

	for (uint32_t i = 0; (format = fathom_printk_format(i)); i++)
		if (format == text)
			return 1;
	return 0;
}

/* What the tracers write has no strings of its own, but trace_printk() keeps the address of one. */
static int tame_internal_ok(uint16_t type, const uint8_t *record, uint32_t bytes)
{
	struct fathom_rec_bprint print;
	struct fathom_rec_bputs puts;

	if (type == WIRE_ID_BPRINT && bytes >= sizeof(print)) {
		__builtin_memcpy(&print, record, sizeof(print));
		return tame_is_format(print.fmt);
	}
	if (type == WIRE_ID_BPUTS && bytes >= sizeof(puts)) {
		__builtin_memcpy(&puts, record, sizeof(puts));
		return tame_is_format(puts.str);
	}
	return 1;
}

static int tame_ends(const uint8_t *record, uint32_t from, uint32_t to)
{
	while (from < to && record[from])
		from++;
	return from < to;
}

static int tame_starts(const char *s, const char *with)
{
	while (*with && *s == *with)
		s++, with++;
	return !*with;
}

/* A place in the record: the low half of a word says where, the high half how long; relative to the end of the word or not. */
static int tame_place_ok(const uint8_t *record, uint32_t bytes, uint32_t at, int relative,
			 int is_text)
{
	uint32_t place, from, to;

	__builtin_memcpy(&place, record + at, sizeof(place));
	from = (place & 0xffff) + (relative ? at + 4 : 0);
	to = from + (place >> 16);
	return to <= bytes && (!is_text || tame_ends(record, from, to));
}

static int tame_field_ok(const struct fathom_field *f, const uint8_t *record, uint32_t bytes)
{
	enum fathom_field_kind kind = fathom_field_kind(f);
	int relative = tame_starts(f->type, "__rel_loc");

	if ((uint32_t)f->offset + f->size > bytes)
		return 0;
	if (relative || tame_starts(f->type, "__data_loc"))
		return f->size == 4 && tame_place_ok(record, bytes, f->offset, relative,
						     kind != FATHOM_FIELD_OTHER);
	if (kind == FATHOM_FIELD_STRING)
		return tame_ends(record, f->offset, bytes);
	return kind !=
	       FATHOM_FIELD_PTR_STRING; /* that was in the memory of a kernel that is gone */
}

static int tame_is_readable(uint16_t type, const uint8_t *record, uint32_t bytes)
{
	const struct fathom_event *ev = tame_event(type);

	if (!ev || type < WIRE_ID_FIRST)
		return ev && tame_internal_ok(type, record, bytes);
	for (uint32_t i = 0; i < ev->nr_fields; i++)
		if (!tame_field_ok(&ev->fields[i], record, bytes))
			return 0;
	return 1;
}

int fathom_lastboot_tame(uint8_t *record, uint32_t bytes)
{
	struct wire_common c;

	if (bytes < sizeof(c)) /* too short to be shown at all */
		return 0;
	__builtin_memcpy(&c, record, sizeof(c));
	if (tame_is_readable(c.type, record, bytes))
		return 0;
	c.type = 0;
	__builtin_memcpy(record, &c, sizeof(c));
	return 1;
}
