/* SPDX-License-Identifier: MIT */
/* small.c -- small tables: tasks, CPUs, event types, functions, losses. They are made when they are asked for. */
#include "sql/table.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

enum small {
	SMALL_TASK,
	SMALL_CPU,
	SMALL_TYPE,
	SMALL_FUNCTION,
	SMALL_LOSS,
};

struct small_table {
	enum small which;
	const char *name, *columns;
};

static const struct small_table tables[] = {
	{SMALL_TASK, "task", "pid INTEGER, comm TEXT, tgid INTEGER, events INTEGER"},
	{SMALL_CPU, "cpu", "cpu INTEGER, buffer TEXT, events INTEGER, lost INTEGER"},
	{SMALL_TYPE, "type", "id INTEGER, system TEXT, name TEXT, events INTEGER"},
	{SMALL_FUNCTION, "function", "address INTEGER, name TEXT, module TEXT, size INTEGER"},
	{SMALL_LOSS, "loss",
	 "cause TEXT, cpu INTEGER, time INTEGER, \"end\" INTEGER, lost INTEGER"},
};

/* A value of a row. */
struct cell {
	enum {
		CELL_NULL,
		CELL_NUMBER,
		CELL_TEXT,
	} kind;
	int64_t number;
	char *text; /* a copy */
};

#define CELLS 5

struct small_cursor {
	struct sql_cursor base;
	struct cell (*rows)[CELLS];
	size_t nr, cap, at;
	bool failed;
};

static char *declare(struct sql_table *t, char **error)
{
	(void)error;
	return sqlite3_mprintf("CREATE TABLE x(%s)",
			       ((const struct small_table *)t->what)->columns);
}

static int best(struct sql_table *t, sqlite3_index_info *info)
{
	(void)t;
	info->estimatedCost = 1000;
	info->estimatedRows = 1000;
	return SQLITE_OK;
}

/* ---- rows ---- */

static struct cell *add(struct small_cursor *c)
{
	if (!VEC_ROOM(c->rows, c->nr, c->cap)) {
		c->failed = true;
		return NULL;
	}
	memset(c->rows[c->nr], 0, sizeof(*c->rows));
	return c->rows[c->nr++];
}

static void number(struct cell *c, uint64_t v)
{
	c->kind = CELL_NUMBER;
	c->number = (int64_t)v;
}

static void text(struct cell *c, const char *s)
{
	c->text = s ? strdup(s) : NULL;
	c->kind = c->text ? CELL_TEXT : CELL_NULL;
}

/* ---- what is in the trace ---- */

struct contents {
	uint64_t *by_type;
	struct pid_counts *pids;
	struct losses *losses;
	uint64_t *by_stream;
};

static bool look(struct source *s, struct contents *c)
{
	uint64_t block;
	uint32_t i;

	*c = (struct contents){.by_type = calloc(SOURCE_ID_FAST, 8),
			       .pids = pid_counts_new(),
			       .losses = losses_new(),
			       .by_stream = calloc(s->nr_streams + 1, 8)};
	if (!c->by_type || !c->pids || !c->losses || !c->by_stream)
		return false;
	for (i = 0; i < s->nr_streams; i++) {
		struct cursor *cursor = cursor_open(s, i);
		struct tally tally = {.by_type = c->by_type, .pids = c->pids, .losses = c->losses};

		if (!cursor)
			return false;
		for (block = 0; block < s->streams[i].nr_blocks; block++)
			cursor_tally(cursor, block, &tally);
		c->by_stream[i] = tally.nr_events;
		cursor_close(cursor);
	}
	return true;
}

static void forget(struct contents *c)
{
	free(c->by_type);
	free(c->by_stream);
	pid_counts_free(c->pids);
	losses_free(c->losses);
}

struct task_fill {
	struct small_cursor *c;
	struct source *s;
};

static void fill_task(int32_t pid, uint64_t n, void *arg)
{
	struct task_fill *f = arg;
	struct cell *row = add(f->c);
	int32_t tgid = source_tgid(f->s, pid);

	if (!row)
		return;
	number(&row[0], (uint64_t)(int64_t)pid);
	text(&row[1], source_comm(f->s, pid));
	if (tgid >= 0)
		number(&row[2], (uint64_t)tgid);
	number(&row[3], n);
}

static void fill_cpus(struct small_cursor *c, struct source *s, const struct contents *in,
		      const struct account *a)
{
	uint32_t i;

	for (i = 0; i < s->nr_streams; i++) {
		struct cell *row = add(c);

		if (!row)
			return;
		number(&row[0], s->streams[i].cpu);
		text(&row[1], s->buffers[s->streams[i].buffer].name);
		number(&row[2], in->by_stream[i]);
		if (!a->streams[i].lost.more) /* else it is not known */
			number(&row[3], a->streams[i].lost.n);
	}
}

static void fill_types(struct small_cursor *c, struct source *s, const struct contents *in)
{
	size_t i;

	for (i = 0; i < s->nr_schemas; i++) {
		struct cell *row = add(c);

		if (!row)
			return;
		number(&row[0], s->schemas[i].id);
		text(&row[1], s->schemas[i].system);
		text(&row[2], s->schemas[i].name);
		number(&row[3],
		       s->schemas[i].id < SOURCE_ID_FAST ? in->by_type[s->schemas[i].id] : 0);
	}
}

static void fill_losses(struct small_cursor *c, struct source *s, const struct contents *in)
{
	size_t i, nr = losses_nr(in->losses);

	for (i = 0; i < nr + s->nr_stated; i++) {
		const struct loss *l = i < nr ? losses_at(in->losses, i) : &s->stated[i - nr];
		struct cell *row = add(c);

		if (!row)
			return;
		text(&row[0], loss_cause_name((enum loss_cause)l->cause));
		if (l->stream != LOSS_ALL)
			number(&row[1], s->streams[l->stream].cpu);
		if (i < nr) {
			number(&row[2], l->from);
			number(&row[3], l->to);
		}
		if (l->lost != UINT64_MAX)
			number(&row[4], l->lost);
	}
}

static void fill_functions(struct small_cursor *c, struct source *s)
{
	struct symbol sym;
	size_t i;

	source_want_names(s);
	if (!s->symbols)
		return;
	for (i = 0; symbols_at(s->symbols, i, &sym); i++) {
		struct cell *row = add(c);

		if (!row)
			return;
		number(&row[0], sym.start);
		text(&row[1], sym.name);
		text(&row[2], sym.module);
		number(&row[3], sym.size);
	}
}

static bool fill(struct small_cursor *c, struct source *s, enum small which)
{
	struct task_fill task = {c, s};
	struct contents in;
	struct account a;
	bool ok = true;

	if (which == SMALL_FUNCTION) {
		fill_functions(c, s);
		return !c->failed;
	}
	if (!look(s, &in)) {
		forget(&in);
		return false;
	}
	switch (which) {
	case SMALL_TASK: pid_counts_each(in.pids, fill_task, &task); break;
	case SMALL_CPU:
		ok = !account_make(&a, s, losses_nr(in.losses) ? losses_at(in.losses, 0) : NULL,
				   losses_nr(in.losses), true, NULL, NULL);
		if (ok) {
			fill_cpus(c, s, &in, &a);
			account_free(&a);
		}
		break;
	case SMALL_TYPE: fill_types(c, s, &in); break;
	default: fill_losses(c, s, &in);
	}
	forget(&in);
	return ok && !c->failed;
}

/* ---- the cursor ---- */

static void empty(struct sql_cursor *base)
{
	struct small_cursor *c = (struct small_cursor *)base;

	for (size_t i = 0; i < c->nr; i++)
		for (int k = 0; k < CELLS; k++)
			free(c->rows[i][k].text);
	free(c->rows);
}

static int begin(struct sql_cursor *base, int plan, const char *text, int argc,
		 sqlite3_value **argv)
{
	const struct sql_table *t = table_of(base);
	const struct small_table *of = t->what;

	(void)plan;
	(void)text;
	(void)argc;
	(void)argv;
	return fill((struct small_cursor *)base, t->q->source, of->which) ? SQLITE_OK
									  : SQLITE_NOMEM;
}

static int next(struct sql_cursor *base)
{
	((struct small_cursor *)base)->at++;
	return SQLITE_OK;
}

static bool at_end(const struct sql_cursor *base)
{
	const struct small_cursor *c = (const struct small_cursor *)base;

	return c->at >= c->nr;
}

static void column(struct sql_cursor *base, sqlite3_context *ctx, int n)
{
	const struct small_cursor *c = (const struct small_cursor *)base;
	const struct cell *v = &c->rows[c->at][n];

	if (v->kind == CELL_NUMBER)
		sqlite3_result_int64(ctx, v->number);
	else if (v->kind == CELL_TEXT)
		sqlite3_result_text(ctx, v->text, -1, SQLITE_TRANSIENT);
	else
		sqlite3_result_null(ctx);
}

static const struct sql_table_kind small_kind = {
	.table_size = sizeof(struct sql_table),
	.cursor_size = sizeof(struct small_cursor),
	.declare = declare,
	.best = best,
	.begin = begin,
	.next = next,
	.at_end = at_end,
	.column = column,
	.empty = empty,
};

void sql_add_small(struct sql *q)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		sql_add(q, tables[i].name, &small_kind, &tables[i]);
		sql_word(q, tables[i].name);
	}
}
