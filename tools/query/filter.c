/* SPDX-License-Identifier: MIT */
/* filter.c -- filters: the text people write, compiled for one event type, asked about a record. */
#include "query/filter.h"
#include "query/filter_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The library compiles filters too (trace/control/filter.c). That one takes Linux's grammar and no more, with Linux's words
 * and columns for what is wrong, and must do without recursion and memory; here there is arithmetic, bare words, regular
 * expressions and fields that an event may lack, compiled to the bytecode of print fmts. One grammar for both would be
 * larger than the two. What they share is the pattern (wire/glob.h).
 */

#define FILTER_TEXT_MAX	   16384
#define FILTER_CLAUSES_MAX 32

/* One of the parts that a `;` divides: for which events, and what must be true of them. */
struct filter_clause {
	char *text;   /* of the expression; "": every event that is named */
	char *events; /* names; NULL: every event */
	bool lone; /* no expression but names, which may be of events or of one field: `sched_switch`, `flags` */
	size_t offset;		    /* of the expression in the user's text */
	struct missing_names names; /* that must be fields of some event */
};

struct filter {
	struct filter_clause clauses[FILTER_CLAUSES_MAX];
	uint32_t nr_clauses;
};

struct filter_event {
	struct program *programs; /* of the clauses that depend on the record */
	uint32_t nr_programs;
	int constant; /* the answer of every record: 0 no, 1 yes, -1 it depends */
};

static bool compile(struct program *p, const char *text, const struct format *format,
		    uint8_t long_bytes, struct missing_names *names, struct expr_error *err)
{
	struct compiler c;

	if (!compiler_init(&c, p, format, long_bytes, text, strlen(text), err))
		return false;
	c.lex.filter = true;
	c.missing = names;
	compiler_advance(&c);
	if (!filter_condition(&c))
		return false;
	return c.t.kind == TOKEN_END || compiler_fail(&c, "expected && or || or the end");
}

/* ---- understanding the text ---- */

static bool is_blank(const char *s)
{
	return !s[strspn(s, " \t\n")];
}

static bool fail(struct expr_error *err, const char *what)
{
	snprintf(err->what, sizeof(err->what), "%s", what);
	return false;
}

/* The expression is right in the eyes of an event without fields; or it is not one, but a list of names. */
static bool understand(struct filter_clause *c, struct expr_error *err)
{
	struct program p = {0};
	bool ok;

	if (c->events && (is_blank(c->text) || !strcmp(c->text + strspn(c->text, " \t"), "*"))) {
		*c->text = 0;
		return true;
	}
	ok = compile(&p, c->text, NULL, 8, &c->names, err);
	program_free(&p);
	if (ok || !c->lone)
		return ok;
	*c->text = 0;
	return true;
}

/* [text, text + n) of the user's text, which begins at `offset` there. */
static bool add_clause(struct filter *f, const char *text, size_t n, size_t offset,
		       struct expr_error *err)
{
	struct filter_clause *c = &f->clauses[f->nr_clauses++];
	size_t prefix;

	c->text = strndup(text, n);
	if (!c->text)
		return fail(err, "out of memory");
	prefix = filter_events_prefix(c->text);
	if (prefix) {
		c->events = strndup(c->text, prefix);
		if (!c->events)
			return fail(err, "out of memory");
		memmove(c->text, c->text + prefix + 1, n - prefix);
		offset += prefix + 1;
		if (!filter_events_valid(c->events)) {
			err->offset = offset - prefix - 1;
			return fail(err, "expected names of events before the colon");
		}
	} else if (filter_events_list(c->text)) {
		c->lone = true;
		c->events = strdup(c->text);
		if (!c->events)
			return fail(err, "out of memory");
	}
	c->offset = offset;
	if (understand(c, err))
		return true;
	err->offset += offset;
	return false;
}

/* Up to the next `;` that no quotes hold. */
static size_t clause_length(const char *s)
{
	char quote = 0;
	size_t n = 0;

	for (; s[n] && (quote || s[n] != ';'); n++) {
		if (quote && s[n] == '\\' && s[n + 1])
			n++;
		else if (quote ? s[n] == quote : s[n] == '"' || s[n] == '\'')
			quote = quote ? 0 : s[n];
	}
	return n;
}

static bool add_clauses(struct filter *f, const char *text, struct expr_error *err)
{
	const char *s = text;
	size_t n;

	if (strlen(text) > FILTER_TEXT_MAX)
		return fail(err, "the filter is too long");
	for (;; s += n + 1) {
		n = clause_length(s);
		if (f->nr_clauses == FILTER_CLAUSES_MAX)
			return fail(err, "the filter has too many parts");
		if (!add_clause(f, s, n, (size_t)(s - text), err))
			return false;
		if (!s[n])
			return true;
	}
}

struct filter *filter_new(const char *text, struct expr_error *err)
{
	struct filter *f = calloc(1, sizeof(*f));
	struct expr_error e = {0};

	if (f && add_clauses(f, text, &e))
		return f;
	if (!f)
		fail(&e, "out of memory");
	filter_free(f);
	if (err)
		*err = e;
	return NULL;
}

void filter_free(struct filter *f)
{
	for (uint32_t i = 0; f && i < f->nr_clauses; i++) {
		free(f->clauses[i].text);
		free(f->clauses[i].events);
	}
	free(f);
}

/* ---- as one event sees it ---- */

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

/* What every record gets from one clause, or -1; *p is left only where it depends on the record. */
static int compile_clause(const struct filter_clause *c, const struct format *f, uint8_t long_bytes,
			  struct program *p)
{
	bool named = c->events && filter_events_has(c->events, f);
	struct expr_error err;
	int answer = 0;

	if (named && (c->lone || !*c->text))
		return 1;
	if ((c->events && !named && !c->lone) || !*c->text)
		return 0;
	/* Where it does not compile, texts are compared as numbers in this event: it cannot match. */
	if (compile(p, c->text, f, long_bytes, NULL, &err))
		answer = constant(p);
	if (answer >= 0) {
		program_free(p);
		*p = (struct program){0};
	}
	return answer;
}

struct filter_event *filter_compile(const struct filter *filter, const struct format *f,
				    uint8_t long_bytes)
{
	struct filter_event *e = calloc(1, sizeof(*e));

	if (e)
		e->programs = calloc(filter->nr_clauses, sizeof(*e->programs));
	if (!e || !e->programs) {
		free(e);
		return NULL;
	}
	for (uint32_t i = 0; i < filter->nr_clauses && e->constant != 1; i++) {
		int answer = compile_clause(&filter->clauses[i], f, long_bytes,
					    &e->programs[e->nr_programs]);

		if (answer)
			e->constant = answer;
		if (answer < 0)
			e->nr_programs++;
	}
	return e;
}

void filter_event_free(struct filter_event *e)
{
	if (!e)
		return;
	for (uint32_t i = 0; i < e->nr_programs; i++)
		program_free(&e->programs[i]);
	free(e->programs);
	free(e);
}

bool filter_match(const struct filter_event *e, struct expr_record *r)
{
	if (e->constant >= 0)
		return e->constant;
	for (uint32_t i = 0; i < e->nr_programs; i++) {
		r->scratch_used = 0;
		if (expr_run(&e->programs[i], 0, e->programs[i].nr_code, r).n)
			return true;
	}
	return false;
}

/* ---- what fits nothing ---- */

static bool has_field(const struct format *f, const char *name, uint32_t len)
{
	for (uint32_t i = 0; i < f->nr_fields; i++)
		if (strlen(f->fields[i].name) == len && !memcmp(f->fields[i].name, name, len))
			return true;
	return false;
}

bool filter_doubt(const struct filter *f, const struct format *(*next)(void *arg), void *arg,
		  struct expr_error *doubt)
{
	uint32_t known[FILTER_CLAUSES_MAX] = {0};
	bool seen[FILTER_CLAUSES_MAX] = {0};
	const struct format *format;

	while ((format = next(arg)))
		for (uint32_t i = 0; i < f->nr_clauses; i++) {
			const struct filter_clause *c = &f->clauses[i];
			bool named = c->events && filter_events_has(c->events, format);

			seen[i] |= named;
			for (uint32_t k = 0; k < c->names.nr && (named || c->lone || !c->events);
			     k++)
				if (has_field(format, c->text + c->names.name[k].at,
					      c->names.name[k].len))
					known[i] |= 1u << k;
		}
	for (uint32_t i = 0; i < f->nr_clauses; i++) {
		const struct filter_clause *c = &f->clauses[i];
		uint32_t k = (uint32_t)__builtin_ctz(~known[i]);

		doubt->offset = c->offset;
		if (c->lone && !seen[i] && !known[i] && (c->names.nr || !*c->text)) {
			fail(doubt, "the trace has no event or field of this name");
			return true;
		}
		if (c->events && !c->lone && !seen[i]) {
			doubt->offset -= strlen(c->events) + 1;
			fail(doubt, "the trace has no event of this name");
			return true;
		}
		if (!c->lone && k < c->names.nr) {
			doubt->offset += c->names.name[k].at;
			fail(doubt, "none of these events has such a field");
			return true;
		}
	}
	return false;
}
