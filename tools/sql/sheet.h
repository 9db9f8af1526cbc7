/* SPDX-License-Identifier: MIT */
/* sheet.h -- the rows of a query as a table, CSV or JSON lines. */
#ifndef SQL_SHEET_H
#define SQL_SHEET_H

#include "sql/sql.h"

#include <stdbool.h>

struct sheet_style {
	enum {
		SHEET_TABLE,
		SHEET_CSV,
		SHEET_JSON
	} form;
	bool no_header;
};

/* Rows of `st` under the names of `named`, to stdout; the first step was taken, and gave `rc`. Returns what the last step gave. */
int sheet_print(const struct sheet_style *style, sqlite3_stmt *st, sqlite3_stmt *named, int rc);

#endif
