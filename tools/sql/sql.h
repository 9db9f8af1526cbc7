/* SPDX-License-Identifier: MIT */
/* sql.h -- a trace as tables of SQLite: nothing is imported, a query walks the trace. */
#ifndef SQL_SQL_H
#define SQL_SQL_H

/* In the loadable extension every call goes through the program that loads it. */
#ifdef FATHOM_SQLITE_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif

#include <stdio.h>

#include "store/scan.h"

/*
 * | table | a row is |
 * |---|---|
 * | NAME, or SYSTEM_NAME where two systems have it | an event of that type, a column per field |
 * | event | any event: n, time, cpu, pid, comm, system, name |
 * | span | something that lasted: kind, name, time, end, duration, pid, comm, cpu ... |
 * | wakeup | a task that was woken: by whom, when, when it ran |
 * | task, cpu, type, function, loss | what the trace knows of each |
 *
 * Times are in the unit of the trace's clock. Constraints on time, cpu and fields are answered by the walk itself.
 */
struct sql;

/* Make the tables known to the connection. NULL: out of memory. The source and the choice must outlive the connection. */
struct sql *sql_new(sqlite3 *db, struct source *s, const struct scan_choice *c);
void sql_free(struct sql *q);

/*
 * The statement from `text` to `end`, made to read sums of groups instead of events, where that gives the same rows. NULL: it
 * cannot be, or need not be. One at a time: finalize it before the next is asked for. If its first step fails, what was
 * written must be run instead: there may be too many groups.
 */
sqlite3_stmt *sql_grouped(struct sql *q, const char *text, const char *end);

/* All tables, of types that have events, as a database file. 0 or a negative errno; of the stream's errors the opener finds out. */
int sql_save(struct source *s, const struct scan_choice *c, FILE *out);

/* A name that sql_similar() may find: of a column, say. */
void sql_word(struct sql *q, const char *name);
/* For messages: the table or column with the most similar name; NULL: none is similar. */
const char *sql_similar(struct sql *q, const char *word);

#endif
