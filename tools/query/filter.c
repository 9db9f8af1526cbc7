/* SPDX-License-Identifier: MIT */
/* filter.c -- filters: the text people write, compiled for one event type, asked about a record. */
#include "query/filter.h"
#include "query/filter_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILTER_TEXT_MAX 16384

struct filter {
	char *text;	/* of the expression */
	char *events;	/* "sched/sched_switch,irq*" or NULL: all */
	size_t skipped; /* characters of the user's text before the expression */
};

struct filter_event {
	struct program program;
	int constant; /* filter_constant() */
};

static bool compile(struct program *p, const struct filter *f, const struct format *format,
		    uint8_t long_bytes, struct expr_error *err)
{
	struct compiler c;

	if (!compiler_init(&c, p, format, long_bytes, f->text, strlen(f->text), err))
		return false;
	c.lex.filter = true;
	compiler_advance(&c);
	if (!filter_condition(&c))
		return false;
	return c.t.kind == TOKEN_END || compiler_fail(&c, "expected && or || or the end");
}

/* "names:" before the expression: letters, digits and _ / , * ? - only. */
static size_t events_prefix(const char *s)
{
	size_t n =
		strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/,*?-");

	return n && s[n] == ':' ? n : 0;
}

struct filter *filter_new(const char *text, struct expr_error *err)
{
	size_t prefix = events_prefix(text);
	struct filter *f = calloc(1, sizeof(*f));
	struct expr_error e = {0};
	struct program p = {0};
	bool ok;

	if (f && prefix) {
		f->events = strndup(text, prefix);
		f->skipped = prefix + 1;
	}
	if (f)
		f->text = strdup(text + f->skipped);
	ok = f && f->text && strlen(text) <= FILTER_TEXT_MAX;
	if (ok && (f->text[strspn(f->text, " \t")] == 0 ||
		   !strcmp(f->text + strspn(f->text, " \t"), "*")))
		*f->text = 0;
	if (ok && (*f->text || !prefix)) {
		ok = compile(&p, f, NULL, 8, &e);
		program_free(&p);
	} else if (!ok) {
		snprintf(e.what, sizeof(e.what), "the filter is too long");
	}
	if (!ok) {
		e.offset += f ? f->skipped : 0;
		filter_free(f);
		if (err)
			*err = e;
		return NULL;
	}
	return f;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	free(f->text);
	free(f->events);
	free(f);
}

/* Is the event one of "system/event,event"? A name without a slash may be a system's too. */
static bool selected(const char *events, const struct format *f)
{
	char name[256];
	int n = f ? snprintf(name, sizeof(name), "%s/%s", f->system, f->name) : 0;

	if (!f || n >= (int)sizeof(name))
		return false;
	while (*events) {
		uint32_t len = (uint32_t)strcspn(events, ",");

		if (memchr(events, '/', len)
			    ? expr_glob(events, len, name, (uint32_t)n)
			    : expr_glob(events, len, f->name, (uint32_t)strlen(f->name)) ||
				      expr_glob(events, len, f->system,
						(uint32_t)strlen(f->system)))
			return true;
		events += len + (events[len] == ',');
	}
	return false;
}

/* No field, no context: every record answers alike. */
static int constant(const struct program *p)
{
	struct expr_record none = {.data = (const uint8_t *)"", .env = &(const struct expr_env){0}};

	for (uint32_t i = 0; i < p->nr_code; i++)
		switch (p->code[i].op) {
		case OP_LOAD:
		case OP_BYTES:
		case OP_DYNAMIC:
		case OP_CPU:
		case OP_PID:
		case OP_TIME:
		case OP_COMM:
		case OP_NAME: return -1;
		default: break;
		}
	return expr_run(p, 0, p->nr_code, &none).n != 0;
}

struct filter_event *filter_compile(const struct filter *filter, const struct format *f,
				    uint8_t long_bytes)
{
	struct filter_event *e = calloc(1, sizeof(*e));
	struct expr_error err;

	if (!e)
		return NULL;
	if (filter->events && !selected(filter->events, f))
		e->constant = 0;
	else if (!*filter->text)
		e->constant = 1;
	else if (!compile(&e->program, filter, f, long_bytes, &err))
		e->constant = 0; /* texts compared as numbers in this event: it cannot match */
	else
		e->constant = constant(&e->program);
	return e;
}

void filter_event_free(struct filter_event *e)
{
	if (!e)
		return;
	program_free(&e->program);
	free(e);
}

int filter_constant(const struct filter_event *e)
{
	return e->constant;
}

bool filter_match(const struct filter_event *e, struct expr_record *r)
{
	if (e->constant >= 0)
		return e->constant;
	r->scratch_used = 0;
	return expr_run(&e->program, 0, e->program.nr_code, r).n != 0;
}
