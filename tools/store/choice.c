/* SPDX-License-Identifier: MIT */
/* choice.c -- which events are wanted: streams, types, and the filter compiled for each type as it comes. */
#include "store/scan_int.h"
#include "base/guess.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool scan_cpu(const struct scan_choice *c, uint32_t cpu)
{
	return !c->cpus || (cpu < SCAN_CPUS && (c->cpus[cpu / 64] >> (cpu % 64) & 1));
}

bool scan_stream(const struct scan_choice *c, const struct source *s, uint32_t stream)
{
	const struct stream *t = &s->streams[stream];

	return scan_cpu(c, t->cpu) &&
	       (!c->buffer || !strcmp(c->buffer, s->buffers[t->buffer].name));
}

bool scan_keep(const struct source *s, uint32_t stream, void *choice)
{
	return scan_stream(choice, s, stream);
}

bool scan_is_whole(const struct scan_choice *c)
{
	return !c->from && c->to == UINT64_MAX;
}

bool scan_is_choosy(const struct scan_choice *c)
{
	return c->cpus || c->buffer || !scan_is_whole(c) || c->types || c->filter;
}

const struct schema *scan_type(const struct source *s, const char *name)
{
	const struct schema *found = source_schema_named(s, name);

	for (size_t i = 0; !found && i < s->nr_schemas; i++) {
		const struct schema *k = &s->schemas[i];

		if (!strcasecmp(k->name, name) || (k->alias && !strcasecmp(k->alias, name)))
			found = k;
	}
	return found;
}

const char *scan_guess(struct source *s, const char *word)
{
	const char *best = NULL;
	unsigned least = UINT_MAX;

	for (size_t i = 0; i < s->nr_schemas; i++) {
		const struct format *f = source_format(s, s->schemas[i].id);

		guess_nearer(word, s->schemas[i].name, &least, &best);
		for (uint32_t k = 0; f && k < f->nr_fields; k++)
			guess_nearer(word, f->fields[k].name, &least, &best);
	}
	return best;
}

/* ---- types and filter ---- */

bool match_init(struct match *m, struct source *s, const struct scan_choice *c)
{
	m->source = s;
	m->choice = c;
	expr_env_of(&m->env, s);
	if (c->filter)
		m->by_schema = calloc(s->nr_schemas + 1, sizeof(struct filter_event *));
	return m->by_schema || !c->filter;
}

void match_free(struct match *m)
{
	for (size_t i = 0; m->by_schema && i <= m->source->nr_schemas; i++)
		filter_event_free(m->by_schema[i]);
	free(m->by_schema);
}

static bool type_wanted(const struct scan_choice *c, uint32_t type)
{
	for (size_t i = 0; i < c->nr_types; i++)
		if (c->types[i] == type)
			return true;
	return !c->types;
}

/* Types that the trace does not describe share one place: they have no fields. */
static const struct filter_event *compiled(struct match *m, const struct schema *k)
{
	size_t at = k ? (size_t)(k - m->source->schemas) : m->source->nr_schemas;

	if (!m->by_schema[at])
		m->by_schema[at] = filter_compile(m->choice->filter,
						  k ? source_format(m->source, k->id) : NULL,
						  (uint8_t)m->source->long_bytes);
	return m->by_schema[at];
}

bool match_event(struct match *m, const struct event *e)
{
	const struct schema *k;
	const struct filter_event *f;
	struct expr_record r;

	if (!type_wanted(m->choice, e->type))
		return false;
	if (!m->choice->filter)
		return true;
	k = source_schema(m->source, e->type);
	f = compiled(m, k);
	if (!f)
		return false;
	r = (struct expr_record){.data = e->data,
				 .size = e->size,
				 .cpu = e->cpu,
				 .pid = e->pid,
				 .time = e->time,
				 .name = k ? k->name : "",
				 .env = &m->env,
				 .scratch = m->scratch};
	return filter_match(f, &r);
}
