/* SPDX-License-Identifier: MIT */
/* extension.c -- the tables of a trace in any program that uses SQLite: `SELECT fathom_open('trace.dat')`. */
#ifdef FATHOM_SQLITE_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1
#include "sql/sql.h"

#include <stdlib.h>
#include <string.h>

/* The trace that a connection has open. */
struct holder {
	struct source *source;
	struct scan_choice choice;
	struct sql *sql;
};

static void holder_empty(struct holder *h)
{
	sql_free(h->sql);
	if (h->source)
		source_close(h->source);
	h->sql = NULL;
	h->source = NULL;
}

static void holder_free(void *p)
{
	holder_empty(p);
	free(p);
}

/* fathom_open(FILE): the number of event types. A connection has one trace: tables of another would have the same names. */
static void open_trace(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct holder *h = sqlite3_user_data(ctx);
	const char *path = (const char *)sqlite3_value_text(argv[0]);
	char *message;
	int err;

	(void)argc;
	if (h->source) {
		sqlite3_result_error(ctx, "fathom_open: this connection has a trace open already",
				     -1);
		return;
	}
	err = path ? source_open(path, &(struct source_options){.quiet = true}, &h->source) : -1;
	if (err) {
		message = sqlite3_mprintf("fathom_open: %s: %s", path ? path : "NULL",
					  strerror(-err));
		sqlite3_result_error(ctx, message ? message : "out of memory", -1);
		sqlite3_free(message);
		h->source = NULL;
		return;
	}
	h->choice = SCAN_ALL;
	h->sql = sql_new(sqlite3_context_db_handle(ctx), h->source, &h->choice);
	if (h->sql) {
		sqlite3_result_int64(ctx, (sqlite3_int64)h->source->nr_schemas);
	} else {
		holder_empty(h);
		sqlite3_result_error_nomem(ctx);
	}
}

/* SQLite finds it by the file's name, fathom_sqlite.so. */
__attribute__((visibility("default"))) int sqlite3_fathomsqlite_init(
	sqlite3 *db, char **error, const sqlite3_api_routines *api);

int sqlite3_fathomsqlite_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	struct holder *h = calloc(1, sizeof(*h));

	(void)error;
	SQLITE_EXTENSION_INIT2(api)
	if (!h)
		return SQLITE_NOMEM;
	return sqlite3_create_function_v2(db, "fathom_open", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, h,
					  open_trace, NULL, NULL, holder_free);
}
#else
typedef int sql_extension_is_built_apart;
#endif
