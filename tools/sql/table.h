/* SPDX-License-Identifier: MIT */
/* table.h -- inside sql/: what the virtual tables share. */
#ifndef SQL_TABLE_H
#define SQL_TABLE_H

#include "sql/sql.h"

/* ---- the frame: one sqlite3_module serves every table (frame.c) ---- */

struct sql_table {
	sqlite3_vtab base;
	struct sql *q;
	const struct sql_table_kind *kind;
	const void *what; /* what sql_add() was given */
};

struct sql_cursor {
	sqlite3_vtab_cursor base;
	sqlite3_int64 row;
};

/* How a table is made and walked. Functions return SQLite's codes; those marked may be NULL. */
struct sql_table_kind {
	size_t table_size, cursor_size; /* of structs that begin with those above */
	/* CREATE TABLE as text of sqlite3_mprintf(); NULL with a message, or without one when memory is out. */
	char *(*declare)(struct sql_table *t, char **error);
	void (*forget)(struct sql_table *t); /* may be NULL */
	int (*best)(struct sql_table *t, sqlite3_index_info *info);
	/* Stand on the first row. The cursor is zeroed, or was emptied. */
	int (*begin)(struct sql_cursor *c, int plan, const char *text, int argc,
		     sqlite3_value **argv);
	int (*next)(struct sql_cursor *c);
	bool (*at_end)(const struct sql_cursor *c);
	void (*column)(struct sql_cursor *c, sqlite3_context *ctx, int n);
	void (*empty)(struct sql_cursor *c); /* free what begin() took */
	/* The same for a row whatever constraints it was found with: SQLite looks up with it what `a OR b` has given
	 * already. NULL: begin() gives all rows always. */
	sqlite3_int64 (*rowid)(const struct sql_cursor *c);
};

static inline struct sql_table *table_of(const struct sql_cursor *c)
{
	return (struct sql_table *)c->base.pVtab;
}

struct sql {
	sqlite3 *db;
	struct source *source;
	struct scan_choice choice;
	char **names; /* of tables and columns, for sql_similar() */
	size_t nr_names;
	struct grouping *grouping; /* of the statement that sql_grouped() made last */
};

/* Add a table under this name, replacing an earlier one. `what` must outlive it. */
void sql_add(struct sql *q, const char *name, const struct sql_table_kind *kind, const void *what);

/* Spans and wakeups; tasks, CPUs, types, functions, losses; events of one type, or with NULL all. */
void sql_add_spans(struct sql *q);
void sql_add_small(struct sql *q);
void sql_add_events(struct sql *q, const char *name, const struct schema *s);

/* Tables that every trace has: no type of events has their names. */
#define SQL_OWN_TABLES 8
extern const char *const sql_own_tables[SQL_OWN_TABLES];

/* ---- constraints that the walk answers (terms.c) ---- */

/* A constraint, with what SQLite compares with. */
struct term {
	int column, op;
	sqlite3_value *value;
};

#define TERMS_MAX 16

/* a - b as SQLite orders them: -1, 0, 1. `b` is not NULL. */
int term_compare(int64_t a, sqlite3_value *b);
/* Does what was found (a - b) fit the operator? */
bool term_fits(int op, int found);
/* The terms that xBestIndex wrote down, with the values that xFilter got. */
int terms_read(const char *text, int argc, sqlite3_value **argv, struct term *terms);
/* xBestIndex: note the constraint, if there is room. False: SQLite must check it itself. */
bool terms_note(sqlite3_index_info *info, int i, char **text, int *nr);
/* Narrow a choice by the terms on its time column. False: nothing matches. */
bool terms_window(const struct term *terms, int nr, int column, struct scan_choice *c);

#endif
