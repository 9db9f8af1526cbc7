/* SPDX-License-Identifier: MIT */
/* known.c -- are the events that rules name those of the trace? */
#include "rules/rules.h"

#include "base/diag.h"
#include "base/guess.h"

#include <string.h>

static const char *place(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at ? at : line;
}

static bool known_event(struct source *s, const struct rules *r, const char *event,
			const char *line, uint32_t number)
{
	const char *colon = strchr(event, ':'), *best = NULL;
	unsigned least = UINT_MAX;
	size_t i;

	if (source_schema_named(s, event))
		return true;
	for (i = 0; i < s->nr_schemas; i++)
		guess_nearer(colon ? colon + 1 : event, s->schemas[i].name, &least, &best);
	diag_error("%s:%u: the trace has no event '%s'; `fathom stat` lists them", r->file, number,
		   event);
	rules_mark(line, place(line, event), best);
	return false;
}

struct known_formats {
	struct source *source;
	size_t at;
};

static const struct format *next_format(void *arg)
{
	struct known_formats *all = arg;

	while (all->at < all->source->nr_schemas) {
		const struct format *f =
			source_format(all->source, all->source->schemas[all->at++].id);

		if (f)
			return f;
	}
	return NULL;
}

static bool known_filter(struct source *s, const struct rules *r, const struct rule *rule)
{
	struct known_formats all = {.source = s};
	struct expr_error doubt = {0};
	const char *at = place(rule->text, "(") + 1;
	char word[64] = "";
	size_t n;

	if (!filter_doubt(rule->filter, next_format, &all, &doubt))
		return true;
	at += doubt.offset;
	n = strspn(at, NAME_LETTERS);
	memcpy(word, at, n < sizeof(word) ? n : sizeof(word) - 1);
	diag_error("%s:%u: %s; `fathom stat` lists the events", r->file, rule->line, doubt.what);
	rules_mark(rule->text, at, scan_guess(s, word));
	return false;
}

bool rules_known(struct source *s, const struct rules *r)
{
	bool good = true;
	uint32_t i;

	if (!s->nr_schemas)
		return true;
	for (i = 0; i < r->nr_pairs; i++) {
		const struct rule_span *p = &r->spans[i];

		good &= known_event(s, r, r->pairs[i].begin, p->text, p->line);
		good &= known_event(s, r, r->pairs[i].end, p->text, p->line);
	}
	for (i = 0; i < r->nr; i++) {
		if (r->v[i].kind == RULE_NEVER)
			good &= known_event(s, r, r->v[i].event, r->v[i].text, r->v[i].line);
		else if (r->v[i].kind == RULE_COUNT)
			good &= known_filter(s, r, &r->v[i]);
	}
	return good;
}
