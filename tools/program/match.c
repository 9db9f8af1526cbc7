/* SPDX-License-Identifier: MIT */
/* match.c -- attach points of a program to the probes that a trace has. */
#include "program/compile.h"

#include "base/diag.h"
#include "base/guess.h"
#include "wire/glob.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *brief;
	enum probe_kind kind;
} kinds[] = {
	{"BEGIN", "BEGIN", PROBE_BEGIN},   {"END", "END", PROBE_END},
	{"tracepoint", "t", PROBE_EVENT},  {"rawtracepoint", "rt", PROBE_EVENT},
	{"kprobe", "k", PROBE_ENTRY},	   {"kretprobe", "kr", PROBE_RETURN},
	{"kfunc", "f", PROBE_ENTRY},	   {"kretfunc", "fr", PROBE_RETURN},
	{"fentry", "fentry", PROBE_ENTRY}, {"fexit", "fexit", PROBE_RETURN},
	{"uprobe", "u", PROBE_ENTRY},	   {"uretprobe", "ur", PROBE_RETURN},
	{"interval", "i", PROBE_INTERVAL}, {"profile", "p", PROBE_PROFILE},
};

/* Up to three parts between colons; a fourth stays in the third. */
struct parts {
	char *part[3];
	uint32_t nr;
};

static struct parts split(struct generator *c, const char *text)
{
	struct parts p = {.nr = 1};
	char *t = arena_text(&c->ast->arena, text, strlen(text));

	p.part[0] = t;
	while (p.nr < 3 && (t = strchr(t, ':'))) {
		*t++ = 0;
		p.part[p.nr++] = t;
	}
	return p;
}

static struct probe *add(struct generator *c, enum probe_kind kind, struct clause *clause,
			 const struct attach *a)
{
	if (!(c->nr_probes & (c->nr_probes - 1))) {
		struct probe *more = arena_take(
			&c->ast->arena, sizeof(*more) * (c->nr_probes ? c->nr_probes * 2 : 1));

		if (c->nr_probes)
			memcpy(more, c->probes, sizeof(*more) * c->nr_probes);
		c->probes = more;
	}
	c->probes[c->nr_probes] =
		(struct probe){.kind = kind, .clause = clause, .at = a->at, .name = a->text};
	return &c->probes[c->nr_probes++];
}

static bool glob(const char *pattern, const char *s)
{
	return fathom_glob(pattern, strlen(pattern), s, strlen(s));
}

static bool is_glob(const char *s)
{
	return strpbrk(s, "*?[");
}

static uint32_t match_events(struct generator *c, struct clause *clause, const struct attach *a,
			     struct parts *p)
{
	const char *system = p->nr == 3 ? p->part[1] : "*", *event = p->part[p->nr - 1];
	struct source *s = c->source;
	uint32_t nr = 0;
	size_t i;

	for (i = 0; i < s->nr_schemas; i++) {
		const struct schema *m = &s->schemas[i];
		const struct format *f;
		struct probe *new;
		size_t n;
		char *name;

		if (!glob(system, m->system) || !glob(event, m->name) ||
		    !(f = source_format(s, m->id)))
			continue;
		n = strlen(m->system) + strlen(m->name) + 13;
		name = arena_take(&c->ast->arena, n);
		snprintf(name, n, "tracepoint:%s:%s", m->system, m->name);
		new = add(c, PROBE_EVENT, clause, a);
		new->schema = m;
		new->format = f;
		new->name = name;
		nr++;
	}
	return nr;
}

static uint32_t match_functions(struct generator *c, struct clause *clause, const struct attach *a,
				struct parts *p, enum probe_kind kind)
{
	static const char *const entries[] = {"ftrace:function", "ftrace:funcgraph_entry",
					      "ftrace:fgraph_retaddr_entry", NULL};
	static const char *const returns[] = {"ftrace:funcgraph_exit", NULL};
	/* Inside a target, an entry gives the program a record of the function tracer. */
	static const char *const live[] = {"ftrace:function", NULL};
	const char *const *names = kind != PROBE_ENTRY ? returns : c->live ? live : entries;
	char *offset;
	uint32_t nr = 0;

	offset = strchr(p->part[p->nr - 1], '+');
	if (offset) {
		ast_error(c->ast, a->at, "a place inside a function is not recorded in a trace");
		return 0;
	}
	for (; *names; names++) {
		const struct schema *m = source_schema_named(c->source, *names);
		const struct format *f = m ? source_format(c->source, m->id) : NULL;
		struct probe *new;

		if (!f)
			continue;
		new = add(c, kind, clause, a);
		new->schema = m;
		new->format = f;
		new->pattern = p->part[p->nr - 1];
		nr++;
	}
	return nr;
}

static bool period(struct generator *c, const struct attach *a, struct parts *p, struct probe *out)
{
	const char *unit = p->nr == 3 ? p->part[1] : "";
	char *end;
	uint64_t n = strtoull(p->part[p->nr - 1], &end, 0);
	uint64_t ns = !strcmp(unit, "s")    ? 1000000000
		      : !strcmp(unit, "ms") ? 1000000
		      : !strcmp(unit, "us") ? 1000
					    : 0;

	if (!n || *end || n > 1000000000 || (!ns && strcmp(unit, "hz"))) {
		ast_error(c->ast, a->at,
			  "%s needs a unit and a number: hz:99, s:1, ms:10 or us:100", p->part[0]);
		return false;
	}
	out->period_ns = ns ? n * ns : 1000000000 / n;
	return true;
}

/* The name nearest to what was written, for a message. */
static const char *similar(struct source *s, const char *event)
{
	const char *name = NULL;
	unsigned least = UINT_MAX;
	size_t i;

	for (i = 0; i < s->nr_schemas; i++)
		guess_nearer(event, s->schemas[i].name, &least, &name);
	return name;
}

static void not_found(struct generator *c, const struct attach *a, struct parts *p,
		      enum probe_kind kind)
{
	const char *guess;

	if (kind != PROBE_EVENT) {
		ast_error(c->ast, a->at, "%s: the trace has no %s of functions", a->text,
			  kind == PROBE_ENTRY ? "calls" : "returns");
		return;
	}
	guess = is_glob(a->text) ? NULL : similar(c->source, p->part[p->nr - 1]);
	ast_error(c->ast, a->at, "tracepoint not found: %s%s%s%s", strchr(a->text, ':') + 1,
		  guess ? " (did you mean " : "", guess ? guess : "", guess ? "?)" : "");
}

/* The number of probes, or -1 if the attach point is useless: an error was printed. */
static int match(struct generator *c, struct clause *clause, const struct attach *a, bool alone)
{
	struct parts p = split(c, a->text);
	enum probe_kind kind;
	uint32_t nr = 1;
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(p.part[0], kinds[i].name) || !strcmp(p.part[0], kinds[i].brief))
			break;
	if (i == sizeof(kinds) / sizeof(*kinds)) {
		ast_error(c->ast, a->at,
			  "Invalid probe type: %s (a trace has tracepoint, kprobe, kretprobe, "
			  "interval, profile, BEGIN and END)",
			  p.part[0]);
		return -1;
	}
	kind = kinds[i].kind;
	if (kind != PROBE_BEGIN && kind != PROBE_END && (p.nr < 2 || !*p.part[p.nr - 1])) {
		ast_error(c->ast, a->at, "%s needs a name", p.part[0]);
		return -1;
	}
	if (kind == PROBE_EVENT)
		nr = match_events(c, clause, a, &p);
	else if (kind == PROBE_ENTRY || kind == PROBE_RETURN)
		nr = match_functions(c, clause, a, &p, kind);
	else if (kind == PROBE_INTERVAL || kind == PROBE_PROFILE)
		return period(c, a, &p, add(c, kind, clause, a)) ? 1 : -1;
	else
		add(c, kind, clause, a);
	if (!nr && alone)
		not_found(c, a, &p, kind);
	else if (!nr && !is_glob(a->text))
		diag_warn("%s: not in the trace, skipped", a->text);
	return (int)nr;
}

bool match_probes(struct generator *c)
{
	uint32_t i, k;

	for (i = 0; i < c->ast->nr_clauses; i++) {
		struct clause *clause = &c->ast->clauses[i];
		uint32_t nr = 0;

		for (k = 0; k < clause->nr_attaches && !c->ast->failed; k++) {
			/* The last one may find that none is there. */
			bool alone = !nr && k + 1 == clause->nr_attaches;
			int n = match(c, clause, &clause->attaches[k], alone);

			nr += n > 0 ? (uint32_t)n : 0;
		}
		if (c->ast->failed)
			return false;
	}
	return true;
}
