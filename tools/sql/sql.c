/* SPDX-License-Identifier: MIT */
/* sql.c -- the tables of a trace: which there are. */
#include "sql/groups.h"

#include "base/guess.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

const char *const sql_own_tables[SQL_OWN_TABLES] = {"event", "span", "wakeup",	 "task",
						    "cpu",   "type", "function", "loss"};

void sql_word(struct sql *q, const char *name)
{
	if (!VEC_MORE(q->names, q->nr_names))
		return;
	q->names[q->nr_names] = strdup(name);
	q->nr_names += q->names[q->nr_names] != NULL;
}

static int by_name(const void *x, const void *y)
{
	const struct schema *const *a = x, *const *b = y;

	return strcmp((*a)->name, (*b)->name);
}

static bool is_taken(const char *name)
{
	size_t i;

	for (i = 0; i < SQL_OWN_TABLES; i++)
		if (!strcmp(sql_own_tables[i], name))
			return true;
	return false;
}

static void add_type(struct sql *q, const struct schema *s, bool alone)
{
	char *full = sqlite3_mprintf("%s_%s", s->system, s->name);

	if (alone && !is_taken(s->name))
		sql_add_events(q, s->name, s);
	if (full)
		sql_add_events(q, full, s);
	sqlite3_free(full);
}

static bool add_types(struct sql *q)
{
	size_t nr = q->source->nr_schemas, i;
	const struct schema **sorted = malloc(sizeof(*sorted) * (nr + 1));

	if (!sorted)
		return false;
	for (i = 0; i < nr; i++)
		sorted[i] = &q->source->schemas[i];
	qsort(sorted, nr, sizeof(*sorted), by_name);
	for (i = 0; i < nr; i++) {
		bool before = i && !strcmp(sorted[i - 1]->name, sorted[i]->name);
		bool after = i + 1 < nr && !strcmp(sorted[i + 1]->name, sorted[i]->name);

		add_type(q, sorted[i], !before && !after);
	}
	free(sorted);
	return true;
}

struct sql *sql_new(sqlite3 *db, struct source *s, const struct scan_choice *c)
{
	struct sql *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	*q = (struct sql){.db = db, .source = s, .choice = *c};
	if (!add_types(q)) {
		sql_free(q);
		return NULL;
	}
	sql_add_events(q, "event", NULL);
	sql_add_spans(q);
	sql_add_small(q);
	return q;
}

void sql_free(struct sql *q)
{
	size_t i;

	if (!q)
		return;
	for (i = 0; i < q->nr_names; i++)
		free(q->names[i]);
	free(q->names);
	grouping_free(q->grouping);
	free(q);
}

const char *sql_similar(struct sql *q, const char *word)
{
	const char *best = NULL;
	unsigned least = UINT_MAX;
	size_t i;

	for (i = 0; i < q->nr_names; i++)
		guess_nearer(word, q->names[i], &least, &best);
	return best;
}
