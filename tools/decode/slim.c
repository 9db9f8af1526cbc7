/* SPDX-License-Identifier: MIT */
/* slim.c -- scheduler events that name no tasks are given Linux's formats, and their records Linux's layout. */
#include "decode/slim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

#define FIELD(type, name, offset, size, is_signed)                                                 \
	"\tfield:" type " " name ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #is_signed ";" \
	"\n"

static const char switch_text[] = SOURCE_COMMON FIELD("char", "prev_comm[16]", 8, 16, 0) FIELD(
	"pid_t", "prev_pid", 24, 4, 1) FIELD("int", "prev_prio", 28, 4,
					     1) FIELD("long", "prev_state", 32, 8, 1)
	FIELD("char", "next_comm[16]", 40, 16, 0) FIELD("pid_t", "next_pid", 56, 4, 1) FIELD(
		"int", "next_prio", 60, 4,
		1) "\nprint fmt: \"prev_comm=%%s prev_pid=%%d prev_prio=%%d prev_state=%%s%%s ==> "
		   "next_comm=%%s next_pid=%%d "
		   "next_prio=%%d\", REC->prev_comm, REC->prev_pid, REC->prev_prio, "
		   "(REC->prev_state & 0xff) ? "
		   "__print_flags(REC->prev_state & 0xff, \"|\", { 0x01, \"S\" }, { 0x02, \"D\" }, "
		   "{ 0x04, \"T\" }, { 0x08, \"t\" }, "
		   "{ 0x10, \"X\" }, { 0x20, \"Z\" }, { 0x40, \"P\" }, { 0x80, \"I\" }) : \"R\", "
		   "REC->prev_state & 0x100 ? \"+\" : \"\", REC->next_comm, REC->next_pid, "
		   "REC->next_prio\n";

static const char wakeup_text[] = SOURCE_COMMON FIELD("char", "comm[16]", 8, 16, 0)
	FIELD("pid_t", "pid", 24, 4, 1) FIELD("int", "prio", 28, 4, 1)
		FIELD("int", "target_cpu", 32, 4,
		      1) "\nprint fmt: \"comm=%%s pid=%%d prio=%%d target_cpu=%%03d\", REC->comm, "
			 "REC->pid, REC->prio, "
			 "REC->target_cpu\n";

/* A field that is carried over, widened to `size`; and where the name of the task of this pid goes, 0: it is no pid. */
struct slim_field {
	const char *name;
	uint8_t to, size, comm_to;
};

static const struct slim_kind {
	const char *name, *comm; /* the event, and the field that it lacks */
	const char *text;
	uint32_t bytes;
	struct slim_field fields[5]; /* as many as have a name */
} kinds[] = {
	{"sched_switch",
	 "prev_comm",
	 switch_text,
	 64,
	 {{"prev_pid", 24, 4, 8},
	  {"prev_prio", 28, 4, 0},
	  {"prev_state", 32, 8, 0},
	  {"next_pid", 56, 4, 40},
	  {"next_prio", 60, 4, 0}}},
	{"sched_waking",
	 "comm",
	 wakeup_text,
	 36,
	 {{"pid", 24, 4, 8}, {"prio", 28, 4, 0}, {"target_cpu", 32, 4, 0}}},
	{"sched_wakeup",
	 "comm",
	 wakeup_text,
	 36,
	 {{"pid", 24, 4, 8}, {"prio", 28, 4, 0}, {"target_cpu", 32, 4, 0}}},
};
#define NR_KINDS  (sizeof(kinds) / sizeof(kinds[0]))
#define NR_FIELDS 5u

struct slim {
	struct slim_event {
		uint32_t type;
		const struct slim_kind *kind;
		struct {
			uint32_t offset, size;
			bool is_signed;
		} from[NR_FIELDS];
	} events[NR_KINDS];
	uint32_t nr;
};

/* Where the fields of such a record are; false: this one is not such an event. */
static bool find_fields(const struct slim_kind *k, const struct schema *schema,
			struct slim_event *out)
{
	struct format_error err = {0};
	struct format *f = format_parse(schema->text, schema->text_bytes, schema->system, &err);
	bool found = f && !format_field(f, k->comm);

	*out = (struct slim_event){.type = schema->id, .kind = k};
	for (uint32_t i = 0; found && i < NR_FIELDS && k->fields[i].name; i++) {
		const struct format_field *d = format_field(f, k->fields[i].name);

		found = d && (d->size == 1 || d->size == 2 || d->size == 4 || d->size == 8) &&
			!(d->flags & (FORMAT_ARRAY | FORMAT_DYNAMIC | FORMAT_STRING));
		if (!found)
			break;
		out->from[i].offset = d->offset;
		out->from[i].size = d->size;
		out->from[i].is_signed = d->flags & FORMAT_SIGNED;
	}
	format_free(f);
	return found;
}

/* The event has Linux's format from now on. */
static bool give_format(struct schema *schema, const struct slim_kind *k)
{
	char *text = NULL;
	int n = asprintf(&text, k->text, k->name, schema->id);

	if (n < 0)
		return false;
	if (schema->owned)
		free((void *)schema->text);
	schema->text = text;
	schema->text_bytes = (size_t)n;
	schema->owned = true;
	return true;
}

int slim_open(struct source *s)
{
	struct slim *slim = NULL;

	for (size_t i = 0; i < s->nr_schemas; i++) {
		struct schema *schema = &s->schemas[i];

		for (size_t n = 0; n < NR_KINDS && !strcmp(schema->system, "sched"); n++) {
			struct slim_event e;

			if (strcmp(schema->name, kinds[n].name) || (slim && slim->nr == NR_KINDS) ||
			    !find_fields(&kinds[n], schema, &e))
				continue;
			if (!slim)
				slim = calloc(1, sizeof(*slim));
			if (!slim || !give_format(schema, &kinds[n])) {
				free(slim);
				return -ENOMEM;
			}
			slim->events[slim->nr++] = e;
			break;
		}
	}
	s->slim = slim;
	return 0;
}

void slim_close(struct source *s)
{
	free(s->slim);
	s->slim = NULL;
}

static uint64_t get(const uint8_t *at, uint32_t size, bool is_signed, bool big)
{
	uint64_t v = size == 1	 ? at[0]
		     : size == 2 ? get_u16(at, big)
		     : size == 4 ? get_u32(at, big)
				 : get_u64(at, big);

	if (is_signed && size < 8 && v >> (8 * size - 1))
		v |= ~0ull << (8 * size);
	return v;
}

static void put(uint8_t *at, uint32_t size, uint64_t v, bool big)
{
	for (uint32_t i = 0; i < size; i++)
		at[big ? size - 1 - i : i] = (uint8_t)(v >> (8 * i));
}

void slim_expand(struct source *s, struct event *e, uint8_t *room)
{
	const struct slim_event *x = s->slim->events, *end = x + s->slim->nr;

	while (x < end && x->type != e->type)
		x++;
	if (x == end)
		return;
	for (uint32_t i = 0; i < NR_FIELDS && x->kind->fields[i].name; i++)
		if (x->from[i].offset + x->from[i].size > e->size)
			return;
	memset(room, 0, SLIM_BYTES);
	memcpy(room, e->data, 8);
	for (uint32_t i = 0; i < NR_FIELDS && x->kind->fields[i].name; i++) {
		const struct slim_field *f = &x->kind->fields[i];
		uint64_t v = get(e->data + x->from[i].offset, x->from[i].size, x->from[i].is_signed,
				 s->big_endian);

		put(room + f->to, f->size, v, s->big_endian);
		if (f->comm_to)
			snprintf((char *)room + f->comm_to, 16, "%s", source_comm(s, (int32_t)v));
	}
	e->data = room;
	e->size = x->kind->bytes;
}
