/* SPDX-License-Identifier: MIT */
/* ask.h -- queries from a command line or a person: run, printed, and errors explained. */
#ifndef SQL_ASK_H
#define SQL_ASK_H

#include "sql/sheet.h"

/* Every statement of the text. 0, or -1 with a message, a mark under the place and a guess what was meant. */
int sql_ask(sqlite3 *db, struct sql *q, const struct sheet_style *style, const char *text);
/* Statements from the standard input. At a terminal there is a prompt, and an error does not end it. */
int sql_shell(sqlite3 *db, struct sql *q, const struct sheet_style *style);

#endif
