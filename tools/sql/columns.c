/* SPDX-License-Identifier: MIT */
/* columns.c -- the columns of a table of events, and the constraints on them. */
#include "sql/columns.h"

#include <stdlib.h>
#include <string.h>

static const char *const first[] = {"n", "time", "cpu", "common_comm"};
static const char *const of_all[] = {"n", "time", "cpu", "comm", "pid", "system", "name"};

bool columns_init(struct columns *c, struct source *s, const struct schema *k)
{
	*c = (struct columns){.source = s, .schema = k};
	if (k)
		c->row = row_type_new(s, k->id);
	return !k || c->row;
}

void columns_free(struct columns *c)
{
	free(c->row);
}

int columns_nr(const struct columns *c)
{
	return c->row ? COLUMN_FIELDS + (int)c->row->nr : COLUMNS_OF_ALL;
}

static const struct row_field *field(const struct columns *c, int column)
{
	return &c->row->fields[column - COLUMN_FIELDS];
}

/* SQLite ignores case: the second of a name is NAME_2, as in Parquet. */
char *columns_name(const struct columns *c, int column)
{
	const char *name;
	int same = 0;

	if (!c->row)
		return sqlite3_mprintf("%s", of_all[column]);
	if (column < COLUMN_FIELDS)
		return sqlite3_mprintf("%s", first[column]);
	name = field(c, column)->name;
	for (int i = 0; i < column; i++)
		same += !sqlite3_stricmp(i < COLUMN_FIELDS ? first[i] : field(c, i)->name, name);
	return same ? sqlite3_mprintf("%s_%d", name, same + 1) : sqlite3_mprintf("%s", name);
}

enum row_kind columns_kind(const struct columns *c, int column)
{
	if (column == COLUMN_COMM || (!c->row && column >= COLUMN_SYSTEM))
		return ROW_TEXT;
	return !c->row || column < COLUMN_FIELDS ? ROW_INTEGER : field(c, column)->kind;
}

const char *columns_type(const struct columns *c, int column)
{
	enum row_kind kind = columns_kind(c, column);

	return kind == ROW_INTEGER ? "INTEGER" : kind == ROW_BYTES ? "BLOB" : "TEXT";
}

bool columns_integer(const struct columns *c, int column, const struct event *e, int64_t *out)
{
	const struct row_number *n;

	switch (column) {
	case COLUMN_TIME: *out = (int64_t)e->time; return true;
	case COLUMN_CPU: *out = e->cpu; return true;
	}
	if (!c->row) {
		*out = e->pid;
		return true;
	}
	n = &field(c, column)->number;
	*out = (int64_t)row_get(n, e);
	return n->offset <= e->size && n->size <= e->size - n->offset;
}

bool columns_answer(const struct columns *c, sqlite3_index_info *info, int i, int column)
{
	int op = info->aConstraint[i].op;

	if (column < 0 || column == COLUMN_N)
		return false;
	if (columns_kind(c, column) == ROW_INTEGER)
		return true;
	return c->row && column >= COLUMN_FIELDS && columns_kind(c, column) == ROW_TEXT &&
	       (op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_NE) &&
	       !sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY");
}

/* ---- constraints ---- */

/* cpu = N: other streams are not opened. */
static void narrow_cpu(struct narrowed *n, const struct scan_choice *base, const struct term *t)
{
	sqlite3_int64 cpu = sqlite3_value_int64(t->value);

	if (t->column != COLUMN_CPU || t->op != SQLITE_INDEX_CONSTRAINT_EQ ||
	    sqlite3_value_type(t->value) != SQLITE_INTEGER || n->cpus)
		return;
	if (cpu < 0 || cpu >= SCAN_CPUS || !scan_cpu(base, (uint32_t)cpu)) {
		n->nothing = true;
		return;
	}
	n->cpus = calloc(SCAN_CPUS / 64, sizeof(*n->cpus));
	if (!n->cpus)
		return; /* every event is compared anyway */
	n->cpus[cpu / 64] |= 1ull << (cpu & 63);
	n->choice.cpus = n->cpus;
}

int narrow(struct narrowed *n, const struct columns *c, const struct scan_choice *base,
	   const char *text, int argc, sqlite3_value **argv, const int *of)
{
	int nr = terms_read(text, argc, argv, n->terms), i;

	n->choice = *base;
	if (c->schema) {
		n->type = c->schema->id;
		n->choice.types = &n->type;
		n->choice.nr_types = 1;
	}
	for (i = 0; i < nr; i++) {
		struct term *t = &n->terms[i];

		t->value = sqlite3_value_dup(t->value);
		if (!t->value)
			return SQLITE_NOMEM;
		n->nr_terms++;
		if (of)
			t->column = of[t->column];
		n->nothing |= sqlite3_value_type(t->value) == SQLITE_NULL;
		narrow_cpu(n, base, t);
	}
	if (!terms_window(n->terms, nr, COLUMN_TIME, &n->choice))
		n->nothing = true;
	return SQLITE_OK;
}

void narrow_free(struct narrowed *n)
{
	for (int i = 0; i < n->nr_terms; i++)
		sqlite3_value_free(n->terms[i].value);
	free(n->cpus);
}

static bool text_fits(const struct columns *c, const struct term *t, const struct event *e)
{
	const char *want = (const char *)sqlite3_value_text(t->value);
	struct row_value v;
	bool same;

	if (!want || !row_value(c->row, (uint32_t)(t->column - COLUMN_FIELDS), e, &v))
		return false;
	same = v.n == (uint32_t)sqlite3_value_bytes(t->value) && !memcmp(v.bytes, want, v.n);
	return term_fits(t->op, !same);
}

bool narrow_fits(const struct narrowed *n, const struct columns *c, const struct event *e)
{
	for (int i = 0; i < n->nr_terms; i++) {
		const struct term *t = &n->terms[i];
		int64_t v;

		if (columns_kind(c, t->column) == ROW_TEXT) {
			if (!text_fits(c, t, e))
				return false;
		} else if (!columns_integer(c, t->column, e, &v) ||
			   !term_fits(t->op, term_compare(v, t->value))) {
			return false;
		}
	}
	return true;
}
