/* SPDX-License-Identifier: MIT */
/* ask.c -- queries from a command line or a person: run, printed, and errors explained. */
#include "sql/ask.h"
#include "base/diag.h"
#include "base/guess.h"
#include "base/vec.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what was meant ---- */

/* The word that SQLite complains about: after the last ": " of its message. */
static const char *blamed(const char *message)
{
	const char *p = strrchr(message, ':');

	if (!p || p[1] != ' ')
		return NULL;
	p += 2;
	return strrchr(p, '.') ? strrchr(p, '.') + 1 : p; /* t.column */
}

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

/* ---- statements ---- */

/* By groups if possible, else as written. */
static int run_statement(struct sql *q, const struct sheet_style *style, sqlite3_stmt *st,
			 const char *text, const char *end)
{
	sqlite3_stmt *grouped = sql_grouped(q, text, end);
	int rc = grouped ? sqlite3_step(grouped) : SQLITE_ERROR;

	if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
		rc = sheet_print(style, grouped, st, rc);
		sqlite3_finalize(grouped);
		return rc;
	}
	sqlite3_finalize(grouped);
	return sheet_print(style, st, st, sqlite3_step(st));
}

int sql_ask(sqlite3 *db, struct sql *q, const struct sheet_style *style, const char *text)
{
	while (*text) {
		sqlite3_stmt *st = NULL;
		const char *rest;

		if (sqlite3_prepare_v2(db, text, -1, &st, &rest) != SQLITE_OK) {
			complain(db, q, text);
			return -1;
		}
		if (st && run_statement(q, style, st, text, rest) != SQLITE_DONE) {
			fflush(stdout);
			diag_error("%s", sqlite3_errmsg(db));
			sqlite3_finalize(st);
			return -1;
		}
		sqlite3_finalize(st);
		text = rest;
	}
	return 0;
}

int sql_shell(sqlite3 *db, struct sql *q, const struct sheet_style *style)
{
	bool person = isatty(STDIN_FILENO);
	char *line = NULL, *text = NULL;
	size_t room = 0, nr = 0;
	ssize_t n;
	int rc = 0;

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
		rc = sql_ask(db, q, style, text);
		nr = 0;
		if (rc && !person)
			break;
	}
	if (nr && !rc && text)
		rc = sql_ask(db, q, style, text);
	free(line);
	free(text);
	return rc;
}
