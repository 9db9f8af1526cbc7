/* SPDX-License-Identifier: MIT */
/* columns.h -- inside sql/: the columns of a table of events, and the constraints on them. */
#ifndef SQL_COLUMNS_H
#define SQL_COLUMNS_H

#include "model/row.h"
#include "sql/table.h"

/* The first columns of every table of events; fields come after them. */
enum column {
	COLUMN_N,
	COLUMN_TIME,
	COLUMN_CPU,
	COLUMN_COMM,
	COLUMN_FIELDS,
	/* of the table of all events instead: */
	COLUMN_PID = COLUMN_FIELDS,
	COLUMN_SYSTEM,
	COLUMN_NAME,
	COLUMNS_OF_ALL,
};

struct columns {
	struct source *source;
	const struct schema *schema; /* NULL: all events */
	struct row_type *row;	     /* NULL too */
};

/* False: the format of the type is damaged. */
bool columns_init(struct columns *c, struct source *s, const struct schema *k);
void columns_free(struct columns *c);
int columns_nr(const struct columns *c);
/* Memory of sqlite3_mprintf(); NULL: there is none. */
char *columns_name(const struct columns *c, int column);
enum row_kind columns_kind(const struct columns *c, int column);
const char *columns_type(const struct columns *c, int column);
/* The value of a column of numbers. False: the record ends before it. */
bool columns_integer(const struct columns *c, int column, const struct event *e, int64_t *out);

/* Can the walk handle constraint i, on this column? */
bool columns_answer(const struct columns *c, sqlite3_index_info *info, int i, int column);

/* The constraints of a query, and the choice that they make of the table's own. */
struct narrowed {
	struct scan_choice choice;
	uint32_t type;
	uint64_t *cpus;
	struct term terms[TERMS_MAX]; /* with copies of the values: SQLite's do not last */
	int nr_terms;
	bool nothing; /* no event can match */
};

/* `text` as terms_note() wrote it. Columns are numbered as in `of`, if it is not NULL. */
int narrow(struct narrowed *n, const struct columns *c, const struct scan_choice *base,
	   const char *text, int argc, sqlite3_value **argv, const int *of);
void narrow_free(struct narrowed *n);
bool narrow_fits(const struct narrowed *n, const struct columns *c, const struct event *e);

#endif
