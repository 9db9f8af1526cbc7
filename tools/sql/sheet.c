/* SPDX-License-Identifier: MIT */
/* sheet.c -- the rows of a query as a table, CSV or JSON lines. */
#include "sql/sheet.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

int sheet_print(const struct sheet_style *style, sqlite3_stmt *st, sqlite3_stmt *named, int rc)
{
	struct sheet t = {.columns = sqlite3_column_count(st)};
	size_t columns = (size_t)t.columns + 1;

	t.cells = calloc(columns * ROWS_KEPT, sizeof(*t.cells));
	t.widths = calloc(columns, sizeof(*t.widths));
	t.right = calloc(columns, sizeof(*t.right));
	if (!style->no_header && style->form != SHEET_JSON && t.columns) {
		if (style->form == SHEET_CSV)
			csv_row(named, true);
		else
			add_cells(&t, named, true);
	}
	for (; rc == SQLITE_ROW; rc = sqlite3_step(st)) {
		if (style->form == SHEET_JSON)
			json_row(st, named);
		else if (style->form == SHEET_CSV)
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
