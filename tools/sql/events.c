/* SPDX-License-Identifier: MIT */
/* events.c -- tables of events: one per type with its fields, and one of all. */
#include "model/model.h"
#include "sql/table.h"

#include <stdlib.h>
#include <string.h>

/* The first columns of every table of events; fields come after them. */
enum column {
	COLUMN_N,
	COLUMN_TIME,
	COLUMN_CPU,
	COLUMN_COMM,
	COLUMN_FIELDS,
	/* of the table of all events instead: */
	COLUMN_PID = COLUMN_FIELDS,
	COLUMN_SYSTEM,
	COLUMN_NAME,
};

struct event_table {
	sqlite3_vtab base;
	struct sql *q;
	const struct schema *schema;
	struct row_type *row; /* NULL: all events */
};

struct event_cursor {
	sqlite3_vtab_cursor base;
	struct scan_choice choice;
	struct scan_options options;
	uint32_t type;
	/* One type after another: */
	uint32_t *by_type;
	size_t nr_by_type, at_type;
	/* PLAN_COUNTED: this many rows of event `counted` are still to come */
	struct model_counts *counts;
	struct event counted;
	uint64_t left;
	uint64_t *cpus;
	struct scan *scan;
	const struct event *event; /* NULL: the end */
	struct term terms[TERMS_MAX];
	int nr_terms;
	sqlite3_value *values[TERMS_MAX]; /* copies: SQLite's do not last */
	sqlite3_int64 row;
};

static const char *type_text(enum row_kind kind)
{
	return kind == ROW_INTEGER ? "INTEGER" : kind == ROW_BYTES ? "BLOB" : "TEXT";
}

/* SQLite does not tell case apart: the second of a name is NAME_2, as in Parquet. */
static unsigned same_before(const struct event_table *t, uint32_t field)
{
	static const char *const first[] = {"n", "time", "cpu", "common_comm"};
	const char *name = t->row->fields[field].name;
	unsigned nr = 0;

	for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
		nr += !sqlite3_stricmp(first[i], name);
	for (uint32_t i = 0; i < field; i++)
		nr += !sqlite3_stricmp(t->row->fields[i].name, name);
	return nr;
}

static char *declaration(const struct event_table *t)
{
	char *text, *more;
	uint32_t i;

	if (!t->row)
		return sqlite3_mprintf("CREATE TABLE x(n INTEGER, time INTEGER, cpu INTEGER, comm "
				       "TEXT, pid INTEGER, "
				       "system TEXT, name TEXT)");
	text = sqlite3_mprintf(
		"CREATE TABLE x(n INTEGER, time INTEGER, cpu INTEGER, common_comm TEXT");
	for (i = 0; i < t->row->nr && text; i++) {
		unsigned same = same_before(t, i);
		char again[16] = "";

		if (same)
			sqlite3_snprintf(sizeof(again), again, "_%u", same + 1);
		more = sqlite3_mprintf("%s, \"%w%s\" %s", text, t->row->fields[i].name, again,
				       type_text(t->row->fields[i].kind));
		sqlite3_free(text);
		text = more;
	}
	more = text ? sqlite3_mprintf("%s)", text) : NULL;
	sqlite3_free(text);
	return more;
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
		   char **error)
{
	struct sql_event_type *type = aux;
	struct event_table *t = sqlite3_malloc(sizeof(*t));
	char *text;
	int rc;

	(void)argc;
	(void)argv;
	if (!t)
		return SQLITE_NOMEM;
	memset(t, 0, sizeof(*t));
	t->q = type->q;
	t->schema = type->schema;
	if (t->schema && !(t->row = row_type_new(t->q->source, t->schema->id))) {
		*error = sqlite3_mprintf("the format of %s is damaged", t->schema->name);
		sqlite3_free(t);
		return SQLITE_ERROR;
	}
	text = declaration(t);
	rc = text ? sqlite3_declare_vtab(db, text) : SQLITE_NOMEM;
	sqlite3_free(text);
	*out = &t->base;
	return rc;
}

static int disconnect(sqlite3_vtab *base)
{
	struct event_table *t = (struct event_table *)base;

	free(t->row);
	sqlite3_free(t);
	return SQLITE_OK;
}

/* ---- which constraints the walk answers ---- */

static bool is_integer(const struct event_table *t, int column)
{
	if (column == COLUMN_TIME || column == COLUMN_CPU)
		return true;
	if (!t->row)
		return column == COLUMN_PID;
	return column >= COLUMN_FIELDS &&
	       t->row->fields[column - COLUMN_FIELDS].kind == ROW_INTEGER;
}

static bool is_text(const struct event_table *t, int column)
{
	return t->row && column >= COLUMN_FIELDS &&
	       t->row->fields[column - COLUMN_FIELDS].kind == ROW_TEXT;
}

static bool answers(const struct event_table *t, sqlite3_index_info *info, int i)
{
	const struct sqlite3_index_constraint *c = &info->aConstraint[i];

	if (is_integer(t, c->iColumn))
		return true;
	return is_text(t, c->iColumn) &&
	       (c->op == SQLITE_INDEX_CONSTRAINT_EQ || c->op == SQLITE_INDEX_CONSTRAINT_NE) &&
	       !sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY");
}

enum plan {
	PLAN_BY_TIME = 1,
	PLAN_NUMBERED = 2,
	PLAN_BY_TYPE =
		4, /* GROUP BY name: the rows of a type one after another, so that nothing must be sorted */
	PLAN_COUNTED = 8, /* and nothing but the type is asked: rows of a type are all equal */
};

static bool groups_by_type(const struct event_table *t, sqlite3_index_info *info)
{
	int i;

	if (t->row || !info->nOrderBy || !sqlite3_vtab_distinct(info))
		return false;
	for (i = 0; i < info->nOrderBy; i++)
		if (info->aOrderBy[i].iColumn != COLUMN_NAME &&
		    info->aOrderBy[i].iColumn != COLUMN_SYSTEM)
			return false;
	return true;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct event_table *t = (struct event_table *)base;
	char *text = NULL;
	int i, nr = 0;

	info->estimatedCost = t->row ? 1e6 : 1e8;
	for (i = 0; i < info->nConstraint; i++)
		if (answers(t, info, i) && terms_note(info, i, &text, &nr))
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
	if (groups_by_type(t, info)) {
		info->orderByConsumed = 1;
		info->idxNum = PLAN_BY_TYPE | (info->idxNum & PLAN_NUMBERED);
		if (!(info->colUsed & ~(1ull << COLUMN_NAME | 1ull << COLUMN_SYSTEM)))
			info->idxNum |= PLAN_COUNTED;
	}
	return SQLITE_OK;
}

/* ---- walking ---- */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct event_cursor *c = sqlite3_malloc(sizeof(*c));

	(void)base;
	if (!c)
		return SQLITE_NOMEM;
	memset(c, 0, sizeof(*c));
	*out = &c->base;
	return SQLITE_OK;
}

static void cursor_end(struct event_cursor *c)
{
	int i;

	scan_close(c->scan);
	c->scan = NULL;
	free(c->by_type);
	c->by_type = NULL;
	c->nr_by_type = c->at_type = 0;
	free(c->counts);
	c->counts = NULL;
	c->left = 0;
	free(c->cpus);
	c->cpus = NULL;
	for (i = 0; i < c->nr_terms; i++)
		sqlite3_value_free(c->values[i]);
	c->nr_terms = 0;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct event_cursor *c = (struct event_cursor *)base;

	cursor_end(c);
	sqlite3_free(c);
	return SQLITE_OK;
}

static bool text_fits(const struct event_table *t, const struct term *term, const struct event *e)
{
	const char *want = (const char *)sqlite3_value_text(term->value);
	struct row_value v;
	bool same;

	if (!want || !row_value(t->row, (uint32_t)(term->column - COLUMN_FIELDS), e, &v))
		return false;
	same = v.n == (uint32_t)sqlite3_value_bytes(term->value) && !memcmp(v.bytes, want, v.n);
	return term_fits(term->op, !same);
}

static bool fits(const struct event_table *t, const struct event_cursor *c, const struct event *e)
{
	int i;

	for (i = 0; i < c->nr_terms; i++) {
		const struct term *term = &c->terms[i];
		int64_t v;

		if (sqlite3_value_type(term->value) == SQLITE_NULL)
			return false;
		if (is_text(t, term->column)) {
			if (!text_fits(t, term, e))
				return false;
			continue;
		}
		if (term->column == COLUMN_TIME)
			v = (int64_t)e->time;
		else if (term->column == COLUMN_CPU)
			v = e->cpu;
		else if (!t->row)
			v = e->pid;
		else
			v = (int64_t)row_get(&t->row->fields[term->column - COLUMN_FIELDS].number,
					     e);
		if (!term_fits(term->op, term_compare(v, term->value)))
			return false;
	}
	return true;
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

static int next(sqlite3_vtab_cursor *base)
{
	struct event_cursor *c = (struct event_cursor *)base;
	const struct event_table *t = (const struct event_table *)base->pVtab;

	c->row++;
	if (c->counts)
		return next_counted(c);
	for (;;) {
		do {
			c->event = scan_next(c->scan);
		} while (c->event && c->nr_terms && !fits(t, c, c->event));
		if (c->event || c->at_type >= c->nr_by_type)
			return SQLITE_OK;
		scan_close(c->scan);
		c->type = c->by_type[c->at_type++];
		c->scan = scan_open(t->q->source, &c->choice, &c->options);
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

/* cpu = N: other streams are not opened. */
static bool one_cpu(struct event_cursor *c, const struct scan_choice *base)
{
	int i;

	for (i = 0; i < c->nr_terms; i++) {
		sqlite3_int64 cpu = sqlite3_value_int64(c->terms[i].value);

		if (c->terms[i].column != COLUMN_CPU ||
		    c->terms[i].op != SQLITE_INDEX_CONSTRAINT_EQ ||
		    sqlite3_value_type(c->terms[i].value) != SQLITE_INTEGER || c->cpus)
			continue;
		if (cpu < 0 || cpu >= SCAN_CPUS || !scan_cpu(base, (uint32_t)cpu))
			return false;
		c->cpus = calloc(SCAN_CPUS / 64, sizeof(*c->cpus));
		if (!c->cpus)
			continue; /* every event is compared anyway */
		c->cpus[cpu / 64] |= 1ull << (cpu & 63);
		c->choice.cpus = c->cpus;
	}
	return true;
}

static int filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
		  sqlite3_value **argv)
{
	struct event_cursor *c = (struct event_cursor *)base;
	const struct event_table *t = (const struct event_table *)base->pVtab;
	int i;

	cursor_end(c);
	c->options =
		(struct scan_options){.order = plan & PLAN_BY_TIME ? SCAN_BY_TIME : SCAN_BY_STREAM,
				      .numbered = plan & PLAN_NUMBERED};
	c->nr_terms = terms_read(text, argc, argv, c->terms);
	for (i = 0; i < c->nr_terms; i++)
		c->terms[i].value = c->values[i] = sqlite3_value_dup(argv[i]);
	for (i = 0; i < c->nr_terms; i++)
		if (!c->values[i])
			return SQLITE_NOMEM;
	c->choice = t->q->choice;
	if (plan & PLAN_BY_TYPE &&
	    !list_types(c, t->q->source,
			plan & PLAN_COUNTED && !c->nr_terms && chooses_all(&c->choice)))
		return SQLITE_NOMEM;
	if (c->counts)
		return next(base);
	if (t->schema || c->nr_by_type) {
		c->type = t->schema ? t->schema->id : c->by_type[c->at_type++];
		c->choice.types = &c->type;
		c->choice.nr_types = 1;
	}
	c->event = NULL;
	if (!terms_window(c->terms, c->nr_terms, COLUMN_TIME, &c->choice) ||
	    !one_cpu(c, &t->q->choice))
		return SQLITE_OK;
	c->scan = scan_open(t->q->source, &c->choice, &c->options);
	return c->scan ? next(base) : SQLITE_NOMEM;
}

static int at_end(sqlite3_vtab_cursor *base)
{
	return !((struct event_cursor *)base)->event;
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

static void field(sqlite3_context *ctx, const struct event_table *t, const struct event *e,
		  uint32_t n)
{
	struct row_value v;

	if (!row_value(t->row, n, e, &v)) {
		sqlite3_result_null(ctx); /* the record ends before it */
		return;
	}
	switch (v.kind) {
	case ROW_INTEGER: sqlite3_result_int64(ctx, (sqlite3_int64)v.integer); break;
	case ROW_TEXT:
		sqlite3_result_text(ctx, (const char *)v.bytes, (int)v.n, SQLITE_TRANSIENT);
		break;
	case ROW_BYTES: sqlite3_result_blob(ctx, v.bytes, (int)v.n, SQLITE_TRANSIENT); break;
	case ROW_ARRAY: array_text(ctx, &v, t->q->source->big_endian); break;
	}
}

static void of_all(sqlite3_context *ctx, const struct event_table *t, const struct event *e,
		   int column)
{
	const struct schema *s = source_schema(t->q->source, e->type);

	if (column == COLUMN_PID)
		sqlite3_result_int64(ctx, e->pid);
	else if (!s)
		sqlite3_result_null(ctx);
	else
		sqlite3_result_text(ctx, column == COLUMN_SYSTEM ? s->system : s->name, -1,
				    SQLITE_STATIC);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int n)
{
	struct event_cursor *c = (struct event_cursor *)base;
	const struct event_table *t = (const struct event_table *)base->pVtab;
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
		sqlite3_result_text(ctx, source_comm(t->q->source, e->pid), -1, SQLITE_TRANSIENT);
		break;
	default:
		if (t->row)
			field(ctx, t, e, (uint32_t)(n - COLUMN_FIELDS));
		else
			of_all(ctx, t, e, n);
	}
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = ((struct event_cursor *)base)->row;
	return SQLITE_OK;
}

/* Without xCreate a table is there by its name alone. */
const sqlite3_module sql_event_module = {
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
