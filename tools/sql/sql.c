/* SPDX-License-Identifier: MIT */
/* sql.c -- the tables of a trace: which there are. */
#include "sql/table.h"

#include "base/guess.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

const char *const sql_own_tables[SQL_OWN_TABLES] = {"event", "span", "wakeup",	 "task",
						    "cpu",   "type", "function", "loss"};

struct tables {
	struct sql q; /* first */
	struct sql_event_type all;
	struct span_table spans, wakeups;
	struct small_table small[SMALL_KINDS];
};

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
	struct sql_event_type *t = &q->types[q->nr_types++];
	char *full = sqlite3_mprintf("%s_%s", s->system, s->name);

	*t = (struct sql_event_type){q, s};
	if (alone && !is_taken(s->name)) {
		sqlite3_create_module(q->db, s->name, &sql_event_module, t);
		sql_word(q, s->name);
	}
	if (full) {
		sqlite3_create_module(q->db, full, &sql_event_module, t);
		sql_word(q, full);
	}
	sqlite3_free(full);
}

static bool add_types(struct sql *q)
{
	size_t nr = q->source->nr_schemas, i;
	const struct schema **sorted = malloc(sizeof(*sorted) * (nr + 1));

	q->types = calloc(nr + 1, sizeof(*q->types));
	if (!sorted || !q->types) {
		free(sorted);
		return false;
	}
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
	struct tables *t = calloc(1, sizeof(*t));
	int i;

	if (!t)
		return NULL;
	t->q = (struct sql){.db = db, .source = s, .choice = *c};
	if (!add_types(&t->q)) {
		sql_free(&t->q);
		return NULL;
	}
	t->all.q = t->spans.q = t->wakeups.q = &t->q;
	t->wakeups.edges = true;
	sqlite3_create_module(db, "event", &sql_event_module, &t->all);
	sqlite3_create_module(db, "span", &sql_span_module, &t->spans);
	sqlite3_create_module(db, "wakeup", &sql_span_module, &t->wakeups);
	for (i = 0; i < SMALL_KINDS; i++) {
		t->small[i] = (struct small_table){&t->q, (enum small_kind)i};
		sqlite3_create_module(db, sql_small_names[i], &sql_small_module, &t->small[i]);
		sql_word(&t->q, sql_small_names[i]);
	}
	sql_word(&t->q, "event");
	sql_word(&t->q, "span");
	sql_word(&t->q, "wakeup");
	return &t->q;
}

void sql_free(struct sql *q)
{
	size_t i;

	if (!q)
		return;
	for (i = 0; i < q->nr_names; i++)
		free(q->names[i]);
	free(q->names);
	free(q->types);
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
