/* SPDX-License-Identifier: MIT */
/* table.h -- inside sql/: what the virtual tables share. */
#ifndef SQL_TABLE_H
#define SQL_TABLE_H

#include "model/row.h"
#include "sql/sql.h"

struct sql {
	sqlite3 *db;
	struct source *source;
	struct scan_choice choice;
	struct sql_event_type *types; /* of event tables */
	size_t nr_types;
	char **names; /* of tables and columns, for sql_similar() */
	size_t nr_names;
};

/* An event type's table; its module's pAux. */
struct sql_event_type {
	struct sql *q;
	const struct schema *schema; /* NULL: the table of all events */
};

/* A constraint that the walk answers, with what SQLite compares with. */
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
/* xBestIndex: note the constraint, if there is room. False: SQLite must look itself. */
bool terms_note(sqlite3_index_info *info, int i, char **text, int *nr);
/* Narrow a choice by the terms on its time column. False: nothing fits. */
bool terms_window(const struct term *terms, int nr, int column, struct scan_choice *c);

/* Tables that every trace has: no type of events has their names. */
#define SQL_OWN_TABLES 8
extern const char *const sql_own_tables[SQL_OWN_TABLES];

/* The modules. */
extern const sqlite3_module sql_event_module, sql_span_module, sql_small_module;

/* Tables that are made at once: which one is the module's pAux. */
enum small_kind {
	SMALL_TASK,
	SMALL_CPU,
	SMALL_TYPE,
	SMALL_FUNCTION,
	SMALL_LOSS,
	SMALL_KINDS,
};
extern const char *const sql_small_names[SMALL_KINDS];

struct small_table {
	struct sql *q;
	enum small_kind kind;
};

struct span_table {
	struct sql *q;
	bool edges; /* wakeups instead of spans */
};

#endif
