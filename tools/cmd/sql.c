/* SPDX-License-Identifier: MIT */
/* sql.c -- fathom sql: query a trace with SQL. */
#include "base/diag.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "sql/ask.h"

#include <stdio.h>

static bool as_json, as_csv, no_header;

static const struct option_spec own[] = {
	{"json", 0, NULL, "one JSON object per row", OPTION_FLAG, &as_json, NULL},
	{"csv", 0, NULL, "comma-separated values", OPTION_FLAG, &as_csv, NULL},
	{"no-header", 0, NULL, "do not print the names of the columns", OPTION_FLAG, &no_header,
	 NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "sql",
	.args = "FILE [QUERY]",
	.about = "Query a trace with SQL. Each event type is a table with a column per field; "
		 "event, span,\n"
		 "wakeup, task, cpu, type, function and loss are tables too. Without QUERY, "
		 "queries are\n"
		 "read from the standard input.",
	.more = "examples:\n"
		"  fathom sql trace.dat 'select count(*) from sched_switch where next_pid = 1'\n"
		"  fathom sql trace.dat 'select comm, max(duration) from span where kind = "
		"\"wakeup\" "
		"group by comm'",
	.own = own,
	.shared = OPTIONS_EVENTS,
	.min_args = 1,
	.max_args = 2,
};

static int ask(struct source *s, struct options *o)
{
	struct sheet_style style = {
		.form = as_json	 ? SHEET_JSON
			: as_csv ? SHEET_CSV
				 : SHEET_TABLE,
		.no_header = no_header,
	};
	struct sql *q = NULL;
	sqlite3 *db = NULL;
	int err = -1;

	if (sqlite3_open(":memory:", &db) == SQLITE_OK && (q = sql_new(db, s, &o->choice)))
		err = o->nr_args > 1 ? sql_ask(db, q, &style, o->args[1])
				     : sql_shell(db, q, &style);
	else
		diag_error("out of memory");
	sqlite3_close(db);
	sql_free(q);
	return err ? EXIT_FAIL : EXIT_OK;
}

int cmd_sql(int argc, char **argv)
{
	return options_run(&spec, argc, argv, NULL, ask);
}
