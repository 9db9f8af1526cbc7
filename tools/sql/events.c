/* SPDX-License-Identifier: MIT */
/* events.c -- tables of events: one per type with its fields, and one of all. */
#include "model/model.h"
#include "sql/columns.h"

#include <stdlib.h>
#include <string.h>

struct event_table {
	struct sql_table base;
	struct columns columns;
};

struct event_cursor {
	struct sql_cursor base;
	struct narrowed in;
	struct scan_options options;
	/* One type after another: */
	uint32_t *by_type;
	size_t nr_by_type, at_type;
	/* PLAN_COUNTED: this many rows of event `counted` are still to come */
	struct model_counts *counts;
	struct event counted;
	uint64_t left;
	struct scan *scan;
	const struct event *event; /* NULL: the end */
	uint64_t blocks;	   /* of the longest stream */
};

static const struct columns *columns_of(const struct sql_table *t)
{
	return &((const struct event_table *)t)->columns;
}

static char *declare(struct sql_table *base, char **error)
{
	struct event_table *t = (struct event_table *)base;
	sqlite3_str *s;

	if (!columns_init(&t->columns, base->q->source, base->what)) {
		*error = sqlite3_mprintf("the format of %s is damaged", t->columns.schema->name);
		return NULL;
	}
	s = sqlite3_str_new(base->q->db);
	for (int i = 0; i < columns_nr(&t->columns); i++) {
		char *name = columns_name(&t->columns, i);

		sqlite3_str_appendf(s, "%s\"%w\" %s", i ? ", " : "CREATE TABLE x(",
				    name ? name : "", columns_type(&t->columns, i));
		sqlite3_free(name);
	}
	sqlite3_str_appendall(s, ")");
	return sqlite3_str_finish(s);
}

static void forget(struct sql_table *t)
{
	columns_free(&((struct event_table *)t)->columns);
}

enum plan {
	PLAN_BY_TIME = 1,
	PLAN_NUMBERED = 2,
	PLAN_BY_TYPE =
		4, /* GROUP BY name: the rows of a type one after another, so that nothing must be sorted */
	PLAN_COUNTED = 8, /* and nothing but the type is asked: rows of a type are all equal */
};

static bool groups_by_type(const struct columns *k, sqlite3_index_info *info)
{
	int i;

	if (k->row || !info->nOrderBy || !sqlite3_vtab_distinct(info))
		return false;
	for (i = 0; i < info->nOrderBy; i++)
		if (info->aOrderBy[i].iColumn != COLUMN_NAME &&
		    info->aOrderBy[i].iColumn != COLUMN_SYSTEM)
			return false;
	return true;
}

static int best(struct sql_table *t, sqlite3_index_info *info)
{
	const struct columns *k = columns_of(t);
	char *text = NULL;
	int i, nr = 0;

	info->estimatedCost = k->row ? 1e6 : 1e8;
	for (i = 0; i < info->nConstraint; i++)
		if (columns_answer(k, info, i, info->aConstraint[i].iColumn) &&
		    terms_note(info, i, &text, &nr))
			info->estimatedCost /=
				info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ ? 20 : 3;
	info->estimatedRows = (sqlite3_int64)info->estimatedCost;
	info->idxStr = text;
	info->needToFreeIdxStr = 1;
	if (info->colUsed & 1ull << COLUMN_N)
		info->idxNum |= PLAN_NUMBERED | PLAN_BY_TIME;
	if (info->nOrderBy == 1 && !info->aOrderBy[0].desc &&
	    (info->aOrderBy[0].iColumn == COLUMN_TIME || info->aOrderBy[0].iColumn == COLUMN_N)) {
		info->orderByConsumed = 1;
		info->idxNum |= PLAN_BY_TIME;
	}
	if (groups_by_type(k, info)) {
		info->orderByConsumed = 1;
		info->idxNum = PLAN_BY_TYPE | (info->idxNum & PLAN_NUMBERED);
		if (!(info->colUsed & ~(1ull << COLUMN_NAME | 1ull << COLUMN_SYSTEM)))
			info->idxNum |= PLAN_COUNTED;
	}
	return SQLITE_OK;
}

/* ---- walking ---- */

static void empty(struct sql_cursor *base)
{
	struct event_cursor *c = (struct event_cursor *)base;

	scan_close(c->scan);
	free(c->by_type);
	free(c->counts);
	narrow_free(&c->in);
}

/* Another row of the type, or the first of the next: no event is read for it. */
static int next_counted(struct event_cursor *c)
{
	while (!c->left && c->at_type < c->nr_by_type) {
		c->counted.type = c->by_type[c->at_type++];
		c->left = c->counts->by_type[c->counted.type];
	}
	c->event = c->left ? &c->counted : NULL;
	c->left -= !!c->left;
	return SQLITE_OK;
}

static int next(struct sql_cursor *base)
{
	struct event_cursor *c = (struct event_cursor *)base;
	const struct sql_table *t = table_of(base);

	if (c->counts)
		return next_counted(c);
	for (;;) {
		do {
			c->event = scan_next(c->scan);
		} while (c->event && c->in.nr_terms &&
			 !narrow_fits(&c->in, columns_of(t), c->event));
		if (c->event || c->at_type >= c->nr_by_type)
			return SQLITE_OK;
		scan_close(c->scan);
		c->in.type = c->by_type[c->at_type++];
		c->scan = scan_open(t->q->source, &c->in.choice, &c->options);
		if (!c->scan)
			return SQLITE_NOMEM;
	}
}

static int by_name(const void *x, const void *y, void *arg)
{
	const struct schema *a = source_schema(arg, *(const uint32_t *)x);
	const struct schema *b = source_schema(arg, *(const uint32_t *)y);
	int d = strcmp(a->name, b->name);

	return d ? d : strcmp(a->system, b->system);
}

static bool chooses_all(const struct scan_choice *c)
{
	return !c->cpus && !c->buffer && !c->from && c->to == UINT64_MAX && !c->types && !c->filter;
}

/* The types that there are events of, those of one name together; with their numbers where these are all that is asked. */
static bool list_types(struct event_cursor *c, struct source *s, bool counted)
{
	struct model_counts *counts = model_count(s);
	size_t i;

	c->by_type = malloc(sizeof(*c->by_type) * (s->nr_schemas + 1));
	if (!counts || !c->by_type) {
		free(counts);
		return false;
	}
	for (i = 0; i < s->nr_schemas; i++) {
		if (s->schemas[i].id >= SOURCE_ID_FAST)
			counted = false; /* not counted by type */
		else if (!counts->by_type[s->schemas[i].id])
			continue;
		c->by_type[c->nr_by_type++] = s->schemas[i].id;
	}
	if (counted)
		c->counts = counts;
	else
		free(counts);
	qsort_r(c->by_type, c->nr_by_type, sizeof(*c->by_type), by_name, s);
	return true;
}

static int begin(struct sql_cursor *base, int plan, const char *text, int argc,
		 sqlite3_value **argv)
{
	struct event_cursor *c = (struct event_cursor *)base;
	const struct sql_table *t = table_of(base);
	int rc;

	c->options =
		(struct scan_options){.order = plan & PLAN_BY_TIME ? SCAN_BY_TIME : SCAN_BY_STREAM,
				      .numbered = plan & PLAN_NUMBERED};
	for (uint32_t i = 0; i < t->q->source->nr_streams; i++)
		if (c->blocks < t->q->source->streams[i].nr_blocks)
			c->blocks = t->q->source->streams[i].nr_blocks;
	rc = narrow(&c->in, columns_of(t), &t->q->choice, text, argc, argv, NULL);
	if (rc != SQLITE_OK || c->in.nothing)
		return rc;
	if (plan & PLAN_BY_TYPE &&
	    !list_types(c, t->q->source,
			plan & PLAN_COUNTED && !c->in.nr_terms && chooses_all(&c->in.choice)))
		return SQLITE_NOMEM;
	if (c->counts)
		return next(base);
	if (c->nr_by_type) {
		c->in.type = c->by_type[c->at_type++];
		c->in.choice.types = &c->in.type;
		c->in.choice.nr_types = 1;
	}
	c->scan = scan_open(t->q->source, &c->in.choice, &c->options);
	return c->scan ? next(base) : SQLITE_NOMEM;
}

/* Where the event is. */
static sqlite3_int64 rowid(const struct sql_cursor *base)
{
	const struct event_cursor *c = (const struct event_cursor *)base;

	return (sqlite3_int64)((c->event->stream * c->blocks + c->event->at.block) << 32 |
			       (c->event->at.skip & UINT32_MAX));
}

static bool at_end(const struct sql_cursor *base)
{
	return !((const struct event_cursor *)base)->event;
}

/* ---- values ---- */

static void array_text(sqlite3_context *ctx, const struct row_value *v, bool big)
{
	sqlite3_str *s = sqlite3_str_new(NULL);
	uint32_t i, k;

	sqlite3_str_appendall(s, "[");
	for (i = 0; v->element && i + v->element <= v->n; i += v->element) {
		uint64_t n = 0;

		for (k = 0; k < v->element; k++)
			n |= (uint64_t)v->bytes[i + (big ? v->element - 1 - k : k)] << k * 8;
		if (v->is_signed && v->element < 8 && n >> (v->element * 8 - 1))
			n |= UINT64_MAX << v->element * 8;
		sqlite3_str_appendf(s, "%s%lld", i ? "," : "", (long long)n);
	}
	sqlite3_str_appendall(s, "]");
	sqlite3_result_text(ctx, sqlite3_str_finish(s), -1, sqlite3_free);
}

static void field(sqlite3_context *ctx, const struct columns *k, const struct event *e, uint32_t n)
{
	struct row_value v;

	if (!row_value(k->row, n, e, &v)) {
		sqlite3_result_null(ctx); /* the record ends before it */
		return;
	}
	switch (v.kind) {
	case ROW_INTEGER: sqlite3_result_int64(ctx, (sqlite3_int64)v.integer); break;
	case ROW_TEXT:
		sqlite3_result_text(ctx, (const char *)v.bytes, (int)v.n, SQLITE_TRANSIENT);
		break;
	case ROW_BYTES: sqlite3_result_blob(ctx, v.bytes, (int)v.n, SQLITE_TRANSIENT); break;
	case ROW_ARRAY: array_text(ctx, &v, k->source->big_endian); break;
	}
}

static void of_all(sqlite3_context *ctx, const struct columns *k, const struct event *e, int column)
{
	const struct schema *s = source_schema(k->source, e->type);

	if (column == COLUMN_PID)
		sqlite3_result_int64(ctx, e->pid);
	else if (!s)
		sqlite3_result_null(ctx);
	else
		sqlite3_result_text(ctx, column == COLUMN_SYSTEM ? s->system : s->name, -1,
				    SQLITE_STATIC);
}

static void column(struct sql_cursor *base, sqlite3_context *ctx, int n)
{
	struct event_cursor *c = (struct event_cursor *)base;
	const struct columns *k = columns_of(table_of(base));
	const struct event *e = c->event;
	uint64_t number;

	switch (n) {
	case COLUMN_N:
		number = scan_number(c->scan);
		if (number == UINT64_MAX)
			sqlite3_result_null(ctx);
		else
			sqlite3_result_int64(ctx, (sqlite3_int64)number);
		break;
	case COLUMN_TIME: sqlite3_result_int64(ctx, (sqlite3_int64)e->time); break;
	case COLUMN_CPU: sqlite3_result_int64(ctx, e->cpu); break;
	case COLUMN_COMM:
		sqlite3_result_text(ctx, source_comm(k->source, e->pid), -1, SQLITE_TRANSIENT);
		break;
	default:
		if (k->row)
			field(ctx, k, e, (uint32_t)(n - COLUMN_FIELDS));
		else
			of_all(ctx, k, e, n);
	}
}

static const struct sql_table_kind event_kind = {
	.table_size = sizeof(struct event_table),
	.cursor_size = sizeof(struct event_cursor),
	.declare = declare,
	.forget = forget,
	.best = best,
	.begin = begin,
	.next = next,
	.at_end = at_end,
	.column = column,
	.empty = empty,
	.rowid = rowid,
};

void sql_add_events(struct sql *q, const char *name, const struct schema *s)
{
	sql_add(q, name, &event_kind, s);
	sql_word(q, name);
}
