/* SPDX-License-Identifier: MIT */
/* groups.c -- events counted and summed by some of their columns, streams in parallel. */
#include "sql/groups.h"

#include "base/strmap.h"
#include "base/vec.h"
#include "model/model.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX \
	(64u << 20) /* of the groups of a stream: who has more reads the rows one by one */

enum {
	SUM_NR,
	SUM_LOW,
	SUM_HIGH,
	SUM_LEAST,
	SUM_GREATEST,
	SUM_WORDS
};

/*
 * A group is some words: its keys, a mask of those that are NULL, the count, SUM_WORDS for each sum. Text is a key by its
 * number in `words`.
 */
struct groups {
	const struct grouping *of;
	struct strmap words;
	uint64_t *rows;
	size_t nr, cap;
	uint32_t *slots; /* number + 1; 0: free */
	size_t nr_slots;
	uint64_t *last; /* the group of the event before */
	int error;
};

static size_t key_words(const struct grouping *g)
{
	return (size_t)g->nr_keys + 1;
}

static size_t row_words(const struct grouping *g)
{
	return key_words(g) + 1 + (size_t)g->nr_sums * SUM_WORDS;
}

static void groups_free(struct groups *t)
{
	strmap_free(&t->words);
	free(t->rows);
	free(t->slots);
}

static uint64_t hash_of(const uint64_t *key, size_t n)
{
	uint64_t h = 0;

	for (size_t i = 0; i < n; i++) {
		h = (h ^ key[i]) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	return h;
}

static bool rehash(struct groups *t)
{
	size_t n = t->nr_slots ? t->nr_slots * 2 : 256, words = row_words(t->of);
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < t->nr; i++) {
		size_t at = hash_of(t->rows + i * words, key_words(t->of)) & (n - 1);

		while (slots[at])
			at = (at + 1) & (n - 1);
		slots[at] = (uint32_t)i + 1;
	}
	free(t->slots);
	t->slots = slots;
	t->nr_slots = n;
	return true;
}

static uint64_t *add_group(struct groups *t, const uint64_t *key, size_t at)
{
	size_t words = row_words(t->of);
	uint64_t *row;

	if ((t->nr + 1) * words * sizeof(*row) > BYTES_MAX) {
		t->error = -E2BIG;
		return NULL;
	}
	if (t->nr == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 64;

		if (!vec_resize(&t->rows, cap * words, sizeof(*row))) {
			t->error = -ENOMEM;
			return NULL;
		}
		t->cap = cap;
	}
	row = t->rows + t->nr * words;
	memset(row, 0, words * sizeof(*row));
	memcpy(row, key, key_words(t->of) * sizeof(*row));
	for (int i = 0; i < t->of->nr_sums; i++) {
		uint64_t *sum = row + key_words(t->of) + 1 + i * SUM_WORDS;

		sum[SUM_LEAST] = (uint64_t)INT64_MAX;
		sum[SUM_GREATEST] = (uint64_t)INT64_MIN;
	}
	t->slots[at] = (uint32_t)++t->nr;
	return row;
}

/* The group of a key, made if it is new. NULL: see `error`. */
static uint64_t *group(struct groups *t, const uint64_t *key)
{
	size_t nr = key_words(t->of), size = nr * sizeof(*key), at;

	if (t->nr * 2 >= t->nr_slots && !rehash(t)) {
		t->error = -ENOMEM;
		return NULL;
	}
	for (at = hash_of(key, nr) & (t->nr_slots - 1); t->slots[at];
	     at = (at + 1) & (t->nr_slots - 1)) {
		uint64_t *row = t->rows + (t->slots[at] - 1) * row_words(t->of);

		if (!memcmp(row, key, size))
			return row;
	}
	return add_group(t, key, at);
}

/* ---- values ---- */

static bool is_all(const struct columns *c, int64_t column)
{
	return !c->row && (column == COLUMN_NAME || column == COLUMN_SYSTEM);
}

enum {
	LOAD_TIME,
	LOAD_CPU,
	LOAD_PID,
	LOAD_TYPE,
	LOAD_NUMBER,
	LOAD_TEXT
};

static int load_of(const struct columns *c, int column)
{
	switch (column) {
	case COLUMN_TIME: return LOAD_TIME;
	case COLUMN_CPU: return LOAD_CPU;
	case COLUMN_COMM: return LOAD_PID;
	}
	if (!c->row)
		return column == COLUMN_PID ? LOAD_PID : LOAD_TYPE;
	return columns_kind(c, column) == ROW_INTEGER ? LOAD_NUMBER : LOAD_TEXT;
}

static void ready(const struct columns *c, struct sum_expr *list, int nr)
{
	for (int i = 0; i < nr; i++)
		for (int k = 0; k < list[i].nr; k++)
			if (list[i].step[k].op == 'c')
				list[i].step[k].load = load_of(c, (int)list[i].step[k].v);
}

void grouping_ready(struct grouping *g)
{
	ready(&g->columns, g->keys, g->nr_keys);
	ready(&g->columns, g->sums, g->nr_sums);
}

static bool load_text(struct groups *t, uint32_t field, const struct event *e, int64_t *out)
{
	struct row_value v;

	if (!row_value(t->of->columns.row, field, e, &v))
		return false;
	*out = strmap_add(&t->words, (const char *)v.bytes, v.n);
	if (*out == STRMAP_NONE)
		t->error = -ENOMEM;
	return true;
}

/* A column as a key. False: it is NULL. */
static inline bool load(struct groups *t, const struct sum_step *s, const struct event *e,
			int64_t *out)
{
	switch (s->load) {
	case LOAD_TIME: *out = (int64_t)e->time; return true;
	case LOAD_CPU: *out = e->cpu; return true;
	case LOAD_PID: *out = e->pid; return true;
	case LOAD_TYPE: *out = e->type; return true;
	case LOAD_NUMBER: return columns_integer(&t->of->columns, (int)s->v, e, out);
	default: return load_text(t, (uint32_t)(s->v - COLUMN_FIELDS), e, out);
	}
}

/* SQLite goes on with floating point where whole numbers overflow: it has to look itself then. */
static bool apply(struct groups *t, int op, int64_t *a, int64_t b)
{
	bool over = false;

	switch (op) {
	case '+': over = __builtin_add_overflow(*a, b, a); break;
	case '-': over = __builtin_sub_overflow(*a, b, a); break;
	case '*': over = __builtin_mul_overflow(*a, b, a); break;
	default:
		if (!b)
			return false;
		over = b == -1;
		if (!over)
			*a = op == '/' ? *a / b : *a % b;
	}
	if (over)
		t->error = -ERANGE;
	return true;
}

/* False: it is NULL. */
static bool calculate(struct groups *t, const struct sum_expr *x, const struct event *e,
		      int64_t *out)
{
	int64_t stack[EXPR_STEPS];
	bool known = true;
	int n = 0;

	stack[0] = 0;
	for (int i = 0; i < x->nr; i++) {
		const struct sum_step *s = &x->step[i];

		if (s->op == '#') {
			stack[n++] = s->v;
		} else if (s->op == 'c') {
			stack[n] = 0;
			known &= load(t, s, e, &stack[n++]);
		} else {
			n--;
			if (known)
				known = apply(t, s->op, &stack[n - 1], stack[n]);
		}
	}
	*out = stack[0];
	return known;
}

static inline bool value(struct groups *t, const struct sum_expr *x, const struct event *e,
			 int64_t *out)
{
	return x->nr == 1 ? load(t, &x->step[0], e, out) : calculate(t, x, e, out);
}

static void add_sum(uint64_t *sum, uint64_t nr, __int128 total, int64_t least, int64_t greatest)
{
	unsigned __int128 all = (unsigned __int128)sum[SUM_HIGH] << 64 | sum[SUM_LOW];

	all += (unsigned __int128)total;
	sum[SUM_NR] += nr;
	sum[SUM_LOW] = (uint64_t)all;
	sum[SUM_HIGH] = (uint64_t)(all >> 64);
	if (least < (int64_t)sum[SUM_LEAST])
		sum[SUM_LEAST] = (uint64_t)least;
	if (greatest > (int64_t)sum[SUM_GREATEST])
		sum[SUM_GREATEST] = (uint64_t)greatest;
}

static __int128 total_of(const uint64_t *sum)
{
	return (__int128)((unsigned __int128)sum[SUM_HIGH] << 64 | sum[SUM_LOW]);
}

static void take(struct groups *t, const struct event *e)
{
	const struct grouping *g = t->of;
	uint64_t key[GROUP_KEYS + 1], *row = t->last, differ = !row;
	int64_t v;

	key[g->nr_keys] = 0;
	for (int i = 0; i < g->nr_keys; i++) {
		bool known = value(t, &g->keys[i], e, &v);

		key[i] = known ? (uint64_t)v : 0;
		key[g->nr_keys] |= (uint64_t)!known << i;
		differ |= row ? row[i] ^ key[i] : 1;
	}
	if (differ || row[g->nr_keys] != key[g->nr_keys])
		row = t->last = group(t, key);
	if (!row)
		return;
	row += key_words(g);
	++*row++;
	for (int i = 0; i < g->nr_sums; i++, row += SUM_WORDS)
		if (value(t, &g->sums[i], e, &v))
			add_sum(row, 1, v, v, v);
}

/* ---- streams in parallel ---- */

struct group_cursor {
	struct sql_cursor base;
	struct narrowed in;
	struct groups all;
	pthread_mutex_t lock; /* of `all` */
	size_t at;
};

static bool is_text_field(const struct grouping *g, int key)
{
	const struct sum_expr *x = &g->keys[key];

	return x->nr == 1 && x->step[0].v >= COLUMN_FIELDS && g->columns.row &&
	       columns_kind(&g->columns, (int)x->step[0].v) == ROW_TEXT;
}

/* One stream's groups join the others; words are renumbered. */
static void merge(struct groups *to, const struct groups *from)
{
	const struct grouping *g = to->of;
	size_t words = row_words(g), keys = key_words(g);

	for (size_t i = 0; i < from->nr && !to->error; i++) {
		uint64_t *f = from->rows + i * words, key[GROUP_KEYS + 1], *row;

		memcpy(key, f, keys * sizeof(*key));
		for (int k = 0; k < g->nr_keys; k++)
			if (is_text_field(g, k) && !(key[g->nr_keys] >> k & 1)) {
				const struct word *w = &from->words.word[key[k]];

				key[k] = strmap_add(&to->words, w->p, w->n);
				if (key[k] == STRMAP_NONE)
					to->error = -ENOMEM;
			}
		row = group(to, key);
		if (!row)
			return;
		row[keys] += f[keys];
		for (size_t at = keys + 1; at < words; at += SUM_WORDS)
			add_sum(row + at, f[at + SUM_NR], total_of(f + at),
				(int64_t)f[at + SUM_LEAST], (int64_t)f[at + SUM_GREATEST]);
	}
}

static int take_stream(void *arg, struct scan *sc, uint32_t stream)
{
	struct group_cursor *c = arg;
	const struct columns *k = &c->all.of->columns;
	struct groups here = {.of = c->all.of, .words.copies = true};
	const struct event *e;
	int err;

	(void)stream;
	while (!here.error && (e = scan_next(sc)))
		if (!c->in.nr_terms || narrow_fits(&c->in, k, e))
			take(&here, e);
	pthread_mutex_lock(&c->lock);
	if (!here.error)
		merge(&c->all, &here);
	err = here.error ? here.error : c->all.error;
	pthread_mutex_unlock(&c->lock);
	groups_free(&here);
	return err;
}

/* Only the types are asked for, of all events: they are counted without reading events. */
static bool only_types(const struct group_cursor *c)
{
	const struct grouping *g = c->all.of;
	const struct source *s = g->columns.source;
	const struct scan_choice *k = &c->in.choice;

	if (c->in.nr_terms || g->nr_sums || k->cpus || k->buffer || k->from ||
	    k->to != UINT64_MAX || k->filter)
		return false;
	for (int i = 0; i < g->nr_keys; i++)
		if (g->keys[i].nr != 1 || !is_all(&g->columns, g->keys[i].step[0].v))
			return false;
	for (size_t i = 0; i < s->nr_schemas; i++)
		if (s->schemas[i].id >= SOURCE_ID_FAST)
			return false; /* not counted by type */
	return true;
}

static int count_types(struct group_cursor *c)
{
	const struct grouping *g = c->all.of;
	struct model_counts *n = model_count(g->columns.source);
	uint64_t key[GROUP_KEYS + 1] = {0}, *row;

	for (uint32_t type = 0; n && type < SOURCE_ID_FAST; type++) {
		if (!n->by_type[type] || (g->columns.schema && type != g->columns.schema->id))
			continue;
		for (int i = 0; i < g->nr_keys; i++)
			key[i] = type;
		row = group(&c->all, key);
		if (row)
			row[key_words(g)] += n->by_type[type];
	}
	free(n);
	return n ? c->all.error : -ENOMEM;
}

/* ---- the table ---- */

static char *declare(struct sql_table *t, char **error)
{
	static const char *const sums[] = {"number", "sum", "min", "max"};
	const struct grouping *g = t->what;
	sqlite3_str *s = sqlite3_str_new(t->q->db);

	(void)error;
	sqlite3_str_appendall(s, "CREATE TABLE x(");
	for (int i = 0; i < g->nr_keys + g->nr_conditions; i++) {
		const struct sum_expr *x = &g->keys[i];
		int column = i < g->nr_keys ? (int)x->step[0].v : g->conditions[i - g->nr_keys];
		char *name;

		if (i < g->nr_keys && x->nr > 1) { /* an expression has no affinity */
			sqlite3_str_appendf(s, "\"fathom key %d\", ", i);
			continue;
		}
		name = columns_name(&g->columns, column);
		sqlite3_str_appendf(s, "\"%w\" %s, ", name ? name : "",
				    columns_type(&g->columns, column));
		sqlite3_free(name);
	}
	sqlite3_str_appendf(s, "\"%s\"", GROUPS_COUNT);
	for (int i = 0; i < g->nr_sums * 4; i++)
		sqlite3_str_appendf(s, ", \"fathom %s %d\"", sums[i % 4], i / 4);
	sqlite3_str_appendall(s, ")");
	return sqlite3_str_finish(s);
}

/* The column of the events, for keys and conditions; -1: something that is made of them. */
static int event_column(const struct grouping *g, int n)
{
	if (n < 0 || n >= g->nr_keys + g->nr_conditions)
		return -1;
	if (n >= g->nr_keys)
		return g->conditions[n - g->nr_keys];
	return g->keys[n].nr == 1 ? (int)g->keys[n].step[0].v : -1;
}

static int best(struct sql_table *t, sqlite3_index_info *info)
{
	const struct grouping *g = t->what;
	char *text = NULL;
	int nr = 0;

	for (int i = 0; i < info->nConstraint; i++) {
		int n = info->aConstraint[i].iColumn;

		if (columns_answer(&g->columns, info, i, event_column(g, n)) &&
		    terms_note(info, i, &text, &nr))
			continue;
		if (n >= g->nr_keys && n < g->nr_keys + g->nr_conditions) {
			sqlite3_free(text);
			return SQLITE_CONSTRAINT; /* SQLite cannot look itself */
		}
	}
	info->idxStr = text;
	info->needToFreeIdxStr = 1;
	info->estimatedCost = 1000;
	info->estimatedRows = 1000;
	return SQLITE_OK;
}

static int begin(struct sql_cursor *base, int plan, const char *text, int argc,
		 sqlite3_value **argv)
{
	struct group_cursor *c = (struct group_cursor *)base;
	const struct sql_table *t = table_of(base);
	const struct grouping *g = t->what;
	int of[GROUP_KEYS + TERMS_MAX], rc, err;

	(void)plan;
	for (int i = 0; i < g->nr_keys + g->nr_conditions; i++)
		of[i] = event_column(g, i);
	c->all = (struct groups){.of = g, .words.copies = true};
	rc = narrow(&c->in, &g->columns, &t->q->choice, text, argc, argv, of);
	if (rc != SQLITE_OK || c->in.nothing)
		return rc;
	if (only_types(c)) {
		err = count_types(c);
	} else {
		pthread_mutex_init(&c->lock, NULL);
		err = scan_each(t->q->source, &c->in.choice, NULL, take_stream, c);
		pthread_mutex_destroy(&c->lock);
	}
	return err == -ENOMEM ? SQLITE_NOMEM : err ? SQLITE_TOOBIG : SQLITE_OK;
}

static int next(struct sql_cursor *base)
{
	((struct group_cursor *)base)->at++;
	return SQLITE_OK;
}

static bool at_end(const struct sql_cursor *base)
{
	const struct group_cursor *c = (const struct group_cursor *)base;

	return c->at >= c->all.nr;
}

static void show_key(sqlite3_context *ctx, const struct groups *t, const uint64_t *row, int n)
{
	const struct grouping *g = t->of;
	int column = event_column(g, n);
	const struct schema *k;

	if (row[g->nr_keys] >> n & 1) {
		sqlite3_result_null(ctx);
	} else if (column == COLUMN_COMM) {
		sqlite3_result_text(ctx, source_comm(g->columns.source, (int32_t)row[n]), -1,
				    SQLITE_TRANSIENT);
	} else if (is_all(&g->columns, column)) {
		k = source_schema(g->columns.source, (uint32_t)row[n]);
		if (k)
			sqlite3_result_text(ctx, column == COLUMN_NAME ? k->name : k->system, -1,
					    SQLITE_STATIC);
	} else if (is_text_field(g, n)) {
		sqlite3_result_text(ctx, t->words.word[row[n]].p, (int)t->words.word[row[n]].n,
				    SQLITE_TRANSIENT);
	} else {
		sqlite3_result_int64(ctx, (sqlite3_int64)row[n]);
	}
}

static void show_sum(sqlite3_context *ctx, const uint64_t *sum, int which)
{
	__int128 total = total_of(sum);

	if (which == 0)
		sqlite3_result_int64(ctx, (sqlite3_int64)sum[SUM_NR]);
	else if (!sum[SUM_NR])
		sqlite3_result_null(ctx);
	else if (which == 1 && total != (int64_t)total)
		sqlite3_result_double(ctx, (double)total);
	else
		sqlite3_result_int64(ctx, which == 1   ? (int64_t)total
					  : which == 2 ? (int64_t)sum[SUM_LEAST]
						       : (int64_t)sum[SUM_GREATEST]);
}

static void column(struct sql_cursor *base, sqlite3_context *ctx, int n)
{
	struct group_cursor *c = (struct group_cursor *)base;
	const struct grouping *g = c->all.of;
	const uint64_t *row = c->all.rows + c->at * row_words(g);
	int sum = n - g->nr_keys - g->nr_conditions - 1;

	if (n < g->nr_keys)
		show_key(ctx, &c->all, row, n);
	else if (sum < -1)
		sqlite3_result_error(ctx, "a condition has no value", -1);
	else if (sum < 0)
		sqlite3_result_int64(ctx, (sqlite3_int64)row[key_words(g)]);
	else
		show_sum(ctx, row + key_words(g) + 1 + sum / 4 * SUM_WORDS, sum % 4);
}

static void empty(struct sql_cursor *base)
{
	struct group_cursor *c = (struct group_cursor *)base;

	groups_free(&c->all);
	narrow_free(&c->in);
}

const struct sql_table_kind sql_group_kind = {
	.table_size = sizeof(struct sql_table),
	.cursor_size = sizeof(struct group_cursor),
	.declare = declare,
	.best = best,
	.begin = begin,
	.next = next,
	.at_end = at_end,
	.column = column,
	.empty = empty,
};
