/* SPDX-License-Identifier: MIT */
/* frame.c -- the one module of SQLite for every table: what a table does itself is in its sql_table_kind. */
#include "sql/table.h"

#include <string.h>

/* A module's pAux. */
struct added {
	struct sql *q;
	const struct sql_table_kind *kind;
	const void *what;
};

static void *zeroed(size_t size)
{
	void *p = sqlite3_malloc64(size);

	return p ? memset(p, 0, size) : NULL;
}

static int disconnect(sqlite3_vtab *base)
{
	struct sql_table *t = (struct sql_table *)base;

	if (t->kind->forget)
		t->kind->forget(t);
	sqlite3_free(t);
	return SQLITE_OK;
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
		   char **error)
{
	const struct added *of = aux;
	struct sql_table *t = zeroed(of->kind->table_size);
	char *text;
	int rc;

	(void)argc;
	(void)argv;
	if (!t)
		return SQLITE_NOMEM;
	t->q = of->q;
	t->kind = of->kind;
	t->what = of->what;
	text = t->kind->declare(t, error);
	rc = text ? sqlite3_declare_vtab(db, text) : *error ? SQLITE_ERROR : SQLITE_NOMEM;
	sqlite3_free(text);
	if (rc == SQLITE_OK)
		*out = &t->base;
	else
		disconnect(&t->base);
	return rc;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct sql_table *t = (struct sql_table *)base;

	return t->kind->best(t, info);
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct sql_cursor *c = zeroed(((struct sql_table *)base)->kind->cursor_size);

	*out = &c->base;
	return c ? SQLITE_OK : SQLITE_NOMEM;
}

static void empty(struct sql_cursor *c)
{
	size_t head = sizeof(*c), size = table_of(c)->kind->cursor_size;

	table_of(c)->kind->empty(c);
	memset((char *)c + head, 0, size - head);
	c->row = 0;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	empty((struct sql_cursor *)base);
	sqlite3_free(base);
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
		  sqlite3_value **argv)
{
	struct sql_cursor *c = (struct sql_cursor *)base;

	empty(c);
	return table_of(c)->kind->begin(c, plan, text, argc, argv);
}

static int next(sqlite3_vtab_cursor *base)
{
	struct sql_cursor *c = (struct sql_cursor *)base;

	c->row++;
	return table_of(c)->kind->next(c);
}

static int at_end(sqlite3_vtab_cursor *base)
{
	struct sql_cursor *c = (struct sql_cursor *)base;

	return table_of(c)->kind->at_end(c);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int n)
{
	struct sql_cursor *c = (struct sql_cursor *)base;

	table_of(c)->kind->column(c, ctx, n);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	struct sql_cursor *c = (struct sql_cursor *)base;

	*out = table_of(c)->kind->rowid ? table_of(c)->kind->rowid(c) : c->row;
	return SQLITE_OK;
}

/* Without xCreate a table is there by its name alone. */
static const sqlite3_module module = {
	.iVersion = 1,
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = disconnect,
	.xDestroy = disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = at_end,
	.xColumn = column,
	.xRowid = rowid,
};

void sql_add(struct sql *q, const char *name, const struct sql_table_kind *kind, const void *what)
{
	struct added *a = sqlite3_malloc(sizeof(*a));

	if (!a)
		return; /* SQLite says that there is no such table */
	*a = (struct added){q, kind, what};
	sqlite3_create_module_v2(q->db, name, &module, a, sqlite3_free);
}
