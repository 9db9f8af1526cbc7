/* SPDX-License-Identifier: MIT */
/* sql.c -- fathom sql: query a trace with SQL. */
#include "base/diag.h"
#include "base/guess.h"
#include "base/vec.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "sql/sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* ---- rows as text ---- */

#define ROWS_KEPT 500 /* rows that determine the widths of the columns */

struct sheet {
	char **cells; /* rows one after another */
	int columns, rows, *widths;
	bool *right; /* numbers */
	bool fixed;  /* the widths are settled */
};

static void print_row(const struct sheet *t, char **cells)
{
	int i;

	for (i = 0; i < t->columns; i++) {
		bool last = i + 1 == t->columns;

		if (t->right[i])
			printf("%*s%s", t->widths[i], cells[i], last ? "\n" : "  ");
		else
			printf("%-*s%s", last ? 0 : t->widths[i], cells[i], last ? "\n" : "  ");
	}
}

static void flush(struct sheet *t)
{
	int i;

	t->fixed = true;
	for (i = 0; i < t->rows; i++)
		print_row(t, t->cells + (size_t)i * (size_t)t->columns);
	for (i = 0; i < t->rows * t->columns; i++)
		free(t->cells[i]);
	t->rows = 0;
}

static char *cell_text(sqlite3_stmt *st, int i)
{
	const unsigned char *s = sqlite3_column_text(st, i);
	char *text = strdup(s ? (const char *)s : ""), *p;

	for (p = text; p && *p; p++) /* a row is one line and has no control characters */
		if ((unsigned char)*p < 32 || *p == 127)
			*p = '?';
	return text ? text : strdup("");
}

static void add_cells(struct sheet *t, sqlite3_stmt *st, bool names)
{
	int i;

	for (i = 0; i < t->columns; i++) {
		char *text = names ? strdup(sqlite3_column_name(st, i)) : cell_text(st, i);
		int type = names ? SQLITE_TEXT : sqlite3_column_type(st, i);

		if (!t->fixed && text && (int)strlen(text) > t->widths[i])
			t->widths[i] = (int)strlen(text);
		if (!names && !t->fixed && t->rows <= 1)
			t->right[i] = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
		t->cells[t->rows * t->columns + i] = text;
	}
	t->rows++;
	if (t->rows == ROWS_KEPT || t->fixed)
		flush(t);
}

static void csv_cell(const char *s)
{
	if (!strpbrk(s, ",\"\n\r")) {
		fputs(s, stdout);
		return;
	}
	putchar('"');
	for (; *s; s++) {
		if (*s == '"')
			putchar('"');
		putchar(*s);
	}
	putchar('"');
}

static void csv_row(sqlite3_stmt *st, bool names)
{
	int i, nr = sqlite3_column_count(st);

	for (i = 0; i < nr; i++) {
		const char *s = names ? sqlite3_column_name(st, i)
				      : (const char *)sqlite3_column_text(st, i);

		csv_cell(s ? s : "");
		putchar(i + 1 < nr ? ',' : '\n');
	}
}

static void json_row(sqlite3_stmt *st, sqlite3_stmt *named)
{
	int i, nr = sqlite3_column_count(st);
	struct json j;

	json_init(&j, stdout, false);
	json_open(&j, NULL, '{');
	for (i = 0; i < nr; i++) {
		const char *key = sqlite3_column_name(named, i);

		switch (sqlite3_column_type(st, i)) {
		case SQLITE_INTEGER: json_s64(&j, key, sqlite3_column_int64(st, i)); break;
		case SQLITE_FLOAT: json_double(&j, key, sqlite3_column_double(st, i)); break;
		case SQLITE_NULL: json_null(&j, key); break;
		default:
			json_bytes(&j, key, (const char *)sqlite3_column_text(st, i),
				   (size_t)sqlite3_column_bytes(st, i));
		}
	}
	json_close(&j, '}');
	json_end(&j);
}

/* ---- queries ---- */

/* The word that SQLite complains about: after the last ": " of its message. */
static const char *blamed(const char *message)
{
	const char *p = strrchr(message, ':');

	if (!p || p[1] != ' ')
		return NULL;
	p += 2;
	return strrchr(p, '.') ? strrchr(p, '.') + 1 : p; /* t.column */
}

static void add_columns(sqlite3 *db, struct sql *q, const char *text);

/* The word that may be a misspelt keyword: the one SQLite rejected, or the one before it. */
static const char *keyword_meant(const char *text, int at)
{
	static const char *const words[] = {"select", "from",  "where",	   "group",  "order",
					    "having", "limit", "distinct", "between"};
	int begin = at;

	for (int i = 0; i < 2 && begin >= 0; i++) {
		const char *best = NULL;
		unsigned least = UINT_MAX;
		char *word = strndup(text + begin, strspn(text + begin, NAME_LETTERS));

		for (size_t k = 0; word && k < sizeof(words) / sizeof(*words); k++)
			guess_nearer(word, words[k], &least, &best);
		free(word);
		if (best && least)
			return best;
		for (begin--; begin > 0 && !strchr(NAME_LETTERS, text[begin]); begin--)
			;
		while (begin > 0 && strchr(NAME_LETTERS, text[begin - 1]))
			begin--;
	}
	return NULL;
}

/* The SQLite function with the most similar name; "" if there is none. */
static void function_meant(sqlite3 *db, const char *word, char *out, size_t room)
{
	unsigned least = UINT_MAX;
	const char *name;
	sqlite3_stmt *st;

	*out = 0;
	if (sqlite3_prepare_v2(db, "SELECT DISTINCT name FROM pragma_function_list", -1, &st, NULL))
		return;
	while (sqlite3_step(st) == SQLITE_ROW) {
		const char *best = NULL;

		name = (const char *)sqlite3_column_text(st, 0);
		guess_nearer(word, name, &least, &best);
		if (best)
			snprintf(out, room, "%s", best);
	}
	sqlite3_finalize(st);
}

static void complain(sqlite3 *db, struct sql *q, const char *text)
{
	const char *message = sqlite3_errmsg(db), *word, *guess = NULL;
	char copy[256], function[64];
	int at = sqlite3_error_offset(db), from, i;

	snprintf(copy, sizeof(copy), "%s", message);
	if (!strncmp(copy, "no such column", 14))
		add_columns(db, q, text);
	word = blamed(copy);
	if (word && !strncmp(copy, "no such", 7))
		guess = sql_similar(q, word);
	if (strstr(copy, "syntax error") && at >= 0)
		guess = keyword_meant(text, at);
	if (word && !strncmp(copy, "no such function", 16)) {
		function_meant(db, word, function, sizeof(function));
		guess = *function ? function : NULL;
	}
	diag_error("%s%s%s%s", copy, guess ? " (did you mean " : "", guess ? guess : "",
		   guess ? "?)" : "");
	if (at < 0 && word && strstr(text, word)) /* SQLite does not say where a table is missing */
		at = (int)(strstr(text, word) - text);
	if (at < 0 || (size_t)at > strlen(text))
		return;
	from = at;
	while (from > 0 && text[from - 1] != '\n')
		from--;
	fprintf(stderr, "%.*s\n", (int)strcspn(text + from, "\n"), text + from);
	for (i = from; i < at; i++)
		fputc(text[i] == '\t' ? '\t' : ' ', stderr);
	fputs("^\n", stderr);
}

/* Rows of `st` under the names of `named`; the first step was taken, and gave `rc`. */
static int print_rows(sqlite3_stmt *st, sqlite3_stmt *named, int rc)
{
	struct sheet t = {.columns = sqlite3_column_count(st)};
	size_t columns = (size_t)t.columns + 1;

	t.cells = calloc(columns * ROWS_KEPT, sizeof(*t.cells));
	t.widths = calloc(columns, sizeof(*t.widths));
	t.right = calloc(columns, sizeof(*t.right));
	if (!no_header && !as_json && t.columns) {
		if (as_csv)
			csv_row(named, true);
		else
			add_cells(&t, named, true);
	}
	for (; rc == SQLITE_ROW; rc = sqlite3_step(st)) {
		if (as_json)
			json_row(st, named);
		else if (as_csv)
			csv_row(st, false);
		else
			add_cells(&t, st, false);
	}
	flush(&t);
	free(t.cells);
	free(t.widths);
	free(t.right);
	return rc;
}

/* By groups if possible, else as written. */
static int run_statement(struct sql *q, sqlite3_stmt *st, const char *text, const char *end)
{
	sqlite3_stmt *grouped = sql_grouped(q, text, end);
	int rc = grouped ? sqlite3_step(grouped) : SQLITE_ERROR;

	if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
		rc = print_rows(grouped, st, rc);
		sqlite3_finalize(grouped);
		return rc;
	}
	sqlite3_finalize(grouped);
	return print_rows(st, st, sqlite3_step(st));
}

/* Every statement of the text. */
static int run(sqlite3 *db, struct sql *q, const char *text)
{
	while (*text) {
		sqlite3_stmt *st = NULL;
		const char *rest;

		if (sqlite3_prepare_v2(db, text, -1, &st, &rest) != SQLITE_OK) {
			complain(db, q, text);
			return EXIT_FAIL;
		}
		if (st && run_statement(q, st, text, rest) != SQLITE_DONE) {
			fflush(stdout);
			diag_error("%s", sqlite3_errmsg(db));
			sqlite3_finalize(st);
			return EXIT_FAIL;
		}
		sqlite3_finalize(st);
		text = rest;
	}
	return EXIT_OK;
}

/* Columns of the tables that a query names, so that a misspelt column can be guessed. */
static void add_columns(sqlite3 *db, struct sql *q, const char *text)
{
	static const char *const select = "SELECT name FROM pragma_table_xinfo(?)";
	char *copy = strdup(text), *word, *state;
	sqlite3_stmt *st;

	if (!copy || sqlite3_prepare_v2(db, select, -1, &st, NULL)) {
		free(copy);
		return;
	}
	for (word = strtok_r(copy, " \t\n,;()", &state); word;
	     word = strtok_r(NULL, " \t\n,;()", &state)) {
		sqlite3_bind_text(st, 1, word, -1, SQLITE_TRANSIENT);
		while (sqlite3_step(st) == SQLITE_ROW)
			sql_word(q, (const char *)sqlite3_column_text(st, 0));
		sqlite3_reset(st);
	}
	sqlite3_finalize(st);
	free(copy);
}

/* Lines up to a whole statement; at a terminal with a prompt, where an error does not end it. */
static int shell(sqlite3 *db, struct sql *q)
{
	bool person = isatty(STDIN_FILENO);
	char *line = NULL, *text = NULL;
	size_t room = 0, nr = 0;
	ssize_t n;
	int rc = EXIT_OK;

	for (;;) {
		if (person) {
			fputs(nr ? "   ...> " : "fathom> ", stdout);
			fflush(stdout);
		}
		n = getline(&line, &room, stdin);
		if (n < 0)
			break;
		if (!vec_resize(&text, nr + (size_t)n + 1, 1))
			break;
		memcpy(text + nr, line, (size_t)n + 1);
		nr += (size_t)n;
		if (!sqlite3_complete(text))
			continue;
		rc = run(db, q, text);
		nr = 0;
		if (rc && !person)
			break;
	}
	if (nr && !rc && text)
		rc = run(db, q, text);
	free(line);
	free(text);
	return rc;
}

int cmd_sql(int argc, char **argv)
{
	struct options o;
	struct source *s;
	struct sql *q = NULL;
	sqlite3 *db = NULL;
	int rc = options_parse(&spec, argc, argv, &o);

	if (rc != OPTIONS_GO)
		return rc;
	rc = EXIT_FAIL;
	s = options_open(&o);
	if (s && !options_only_text(s)) {
		if (sqlite3_open(":memory:", &db) == SQLITE_OK && (q = sql_new(db, s, &o.choice)))
			rc = o.nr_args > 1 ? run(db, q, o.args[1]) : shell(db, q);
		else
			diag_error("out of memory");
		fflush(stdout);
		options_tell_missing(s);
	}
	sqlite3_close(db);
	sql_free(q);
	source_close(s);
	options_close(&o);
	return rc;
}
