/* SPDX-License-Identifier: MIT */
/* terms.c -- constraints of a query that the walk answers itself. */
#include "sql/table.h"

#include <stdio.h>
#include <string.h>

int term_compare(int64_t a, sqlite3_value *b)
{
	switch (sqlite3_value_numeric_type(b)) {
	case SQLITE_INTEGER: {
		int64_t v = sqlite3_value_int64(b);

		return a < v ? -1 : a > v;
	}
	case SQLITE_FLOAT: {
		long double v = sqlite3_value_double(b);

		return (long double)a < v ? -1 : (long double)a > v;
	}
	default: return -1; /* numbers come before text */
	}
}

bool term_fits(int op, int found)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ: return found == 0;
	case SQLITE_INDEX_CONSTRAINT_NE: return found != 0;
	case SQLITE_INDEX_CONSTRAINT_GT: return found > 0;
	case SQLITE_INDEX_CONSTRAINT_GE: return found >= 0;
	case SQLITE_INDEX_CONSTRAINT_LT: return found < 0;
	default: return found <= 0;
	}
}

bool terms_note(sqlite3_index_info *info, int i, char **text, int *nr)
{
	const struct sqlite3_index_constraint *c = &info->aConstraint[i];
	char *more;

	switch (c->op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
	case SQLITE_INDEX_CONSTRAINT_NE:
	case SQLITE_INDEX_CONSTRAINT_GT:
	case SQLITE_INDEX_CONSTRAINT_GE:
	case SQLITE_INDEX_CONSTRAINT_LT:
	case SQLITE_INDEX_CONSTRAINT_LE: break;
	default: return false;
	}
	if (!c->usable || *nr >= TERMS_MAX)
		return false;
	more = sqlite3_mprintf("%s%d:%d,", *text ? *text : "", c->iColumn, c->op);
	if (!more)
		return false;
	sqlite3_free(*text);
	*text = more;
	info->aConstraintUsage[i].argvIndex = ++*nr;
	info->aConstraintUsage[i].omit = 1;
	return true;
}

int terms_read(const char *text, int argc, sqlite3_value **argv, struct term *terms)
{
	int nr, used;

	for (nr = 0; text && nr < argc && nr < TERMS_MAX; nr++, text += used) {
		if (sscanf(text, "%d:%d,%n", &terms[nr].column, &terms[nr].op, &used) != 2)
			break;
		terms[nr].value = argv[nr];
	}
	return nr;
}

bool terms_window(const struct term *terms, int nr, int column, struct scan_choice *c)
{
	int i;

	for (i = 0; i < nr; i++) {
		const struct term *t = &terms[i];
		uint64_t v;

		/* Others are compared event by event. */
		if (t->column != column || sqlite3_value_type(t->value) != SQLITE_INTEGER)
			continue;
		if (sqlite3_value_int64(t->value) < 0)
			continue;
		v = (uint64_t)sqlite3_value_int64(t->value);
		if ((t->op == SQLITE_INDEX_CONSTRAINT_EQ || t->op == SQLITE_INDEX_CONSTRAINT_GE ||
		     t->op == SQLITE_INDEX_CONSTRAINT_GT) &&
		    v > c->from)
			c->from = v;
		if ((t->op == SQLITE_INDEX_CONSTRAINT_EQ || t->op == SQLITE_INDEX_CONSTRAINT_LE ||
		     t->op == SQLITE_INDEX_CONSTRAINT_LT) &&
		    v < c->to)
			c->to = v;
	}
	return c->from <= c->to;
}
