/* SPDX-License-Identifier: MIT */
/* former.c -- events of libraries that are gone: a copy of what tells their records, so that these can still be read. */
#include <stdlib.h>
#include <string.h>
#include "fathom/object.h"
#include "port.h"

/*
 * Only for reading: the event has its id, fields and format, and cannot be switched. Its print format has the values of
 * enums, whose names go with the library. All under the tree's lock.
 */
struct former {
	struct fathom_event event;
	char *as_written; /* the library's print format */
	struct fathom_event *list[1];
	struct fathom_object object;
	struct former *next;
};

static struct former *formers;

static void former_free(struct former *f)
{
	struct fathom_event *ev = &f->event;

	for (uint32_t i = 0; ev->fields && i < ev->nr_fields; i++) {
		free((void *)ev->fields[i].type);
		free((void *)ev->fields[i].name);
	}
	free((void *)ev->fields);
	free((void *)ev->system);
	free((void *)ev->name);
	free((void *)ev->print_fmt);
	free(f->as_written);
	free(f);
}

static struct fathom_field *fields_copy(const struct fathom_event *ev)
{
	struct fathom_field *to = calloc(ev->nr_fields + 1u, sizeof(*to));
	int whole = to != NULL;

	for (uint32_t i = 0; i < ev->nr_fields && whole; i++) {
		to[i] = ev->fields[i];
		to[i].type = strdup(ev->fields[i].type);
		to[i].name = strdup(ev->fields[i].name);
		whole = to[i].type && to[i].name;
	}
	return to; /* as far as memory went; former_copy() looks */
}

/* The print format as its file has it. */
static char *print_copy(const struct fathom_event *ev)
{
	size_t bytes = 1 << 16;
	char *buf = malloc(bytes), *at = NULL;
	struct fathom_text t;

	if (!buf)
		return NULL;
	fathom_text_init(&t, buf, bytes);
	fathom_event_format(ev, &t);
	at = strstr(fathom_text_cstr(&t), "\nprint fmt: ");
	at = at ? strndup(at + 12, strcspn(at + 12, "\n")) : NULL;
	free(buf);
	return at;
}

/* NULL without memory. */
static struct former *former_copy(const struct fathom_event *ev)
{
	struct former *f = calloc(1, sizeof(*f));
	struct fathom_field *fields;
	uint32_t whole = 0;

	if (!f)
		return NULL;
	fields = fields_copy(ev);
	while (fields && whole < ev->nr_fields && fields[whole].type && fields[whole].name)
		whole++;
	f->event = (struct fathom_event){.system = strdup(ev->system),
					 .name = strdup(ev->name),
					 .print_fmt = print_copy(ev),
					 .fields = fields,
					 .nr_fields = ev->nr_fields,
					 .id = ev->id,
					 .state = FATHOM_EVENT_FORMER};
	f->as_written = strdup(ev->print_fmt);
	f->list[0] = &f->event;
	f->object.events = f->list;
	f->object.events_end = f->list + 1;
	if (fields && whole == ev->nr_fields && f->event.system && f->event.name &&
	    f->event.print_fmt && f->as_written)
		return f;
	former_free(f);
	return NULL;
}

static int same_fields(const struct fathom_event *a, const struct fathom_event *b)
{
	uint32_t i = 0;

	if (a->nr_fields != b->nr_fields)
		return 0;
	for (; i < a->nr_fields; i++) {
		const struct fathom_field *x = &a->fields[i], *y = &b->fields[i];

		if (strcmp(x->type, y->type) || strcmp(x->name, y->name) ||
		    x->offset != y->offset || x->size != y->size || x->is_signed != y->is_signed ||
		    x->hint != y->hint)
			return 0;
	}
	return 1;
}

static int was_event(const struct former *f, const struct fathom_event *ev)
{
	return !strcmp(f->event.system, ev->system) && !strcmp(f->event.name, ev->name) &&
	       !strcmp(f->as_written, ev->print_fmt) && same_fields(&f->event, ev);
}

/* A library goes: its events do, and copies stay. */
void user_events_leave(struct fathom_object *o)
{
	struct former *now = NULL, *f;

	for (struct fathom_event *const *ev = o->events; ev < o->events_end; ev++) {
		f = (*ev)->id && (*ev)->fields ? former_copy(*ev) : NULL;
		if (!f)
			continue;
		f->next = now;
		now = f;
	}
	fathom_object_remove(o);
	while ((f = now)) {
		now = f->next;
		f->next = formers;
		formers = f;
		fathom_object_add(&f->object);
	}
}

/* An event that is there again, just as it was, has its id again. */
static void former_return(struct fathom_event *ev)
{
	for (struct former **p = &formers; *p; p = &(*p)->next) {
		struct former *f = *p;

		if (!was_event(f, ev))
			continue;
		ev->id = f->event.id;
		*p = f->next;
		fathom_object_remove(&f->object);
		former_free(f);
		return;
	}
}

/* The events of a library that comes, before they get ids. */
void user_formers_return(const struct fathom_object *o)
{
	for (struct fathom_event *const *ev = o->events; ev < o->events_end; ev++) {
		if (!(*ev)->fields && (*ev)->setup)
			(*ev)->setup(*ev);
		if (!(*ev)->id)
			former_return(*ev);
	}
}
