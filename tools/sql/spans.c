/* SPDX-License-Identifier: MIT */
/* spans.c -- the tables span and wakeup: what the model makes of the events, given as it comes. */
#include "model/model.h"
#include "base/vec.h"
#include "sql/table.h"

#include <stdlib.h>
#include <string.h>

enum span_column {
	SPAN_COLUMN_KIND,
	SPAN_COLUMN_NAME,
	SPAN_COLUMN_TIME,
	SPAN_COLUMN_END,
	SPAN_COLUMN_DURATION,
	SPAN_COLUMN_SELF,
	SPAN_COLUMN_PID,
	SPAN_COLUMN_COMM,
	SPAN_COLUMN_CPU,
	SPAN_COLUMN_PRIO,
	SPAN_COLUMN_DEPTH,
	SPAN_COLUMN_WHOLE,
	SPAN_COLUMN_BEGIN_EVENT,
	SPAN_COLUMN_END_EVENT,
};

enum edge_column {
	EDGE_COLUMN_TIME,
	EDGE_COLUMN_RUN,
	EDGE_COLUMN_LATENCY,
	EDGE_COLUMN_PID,
	EDGE_COLUMN_COMM,
	EDGE_COLUMN_CPU,
	EDGE_COLUMN_WAKER_PID,
	EDGE_COLUMN_WAKER_COMM,
	EDGE_COLUMN_WAKER_CPU,
	EDGE_COLUMN_WAKE_EVENT,
	EDGE_COLUMN_RUN_EVENT,
};

/* Which table: the module's `what`. */
static const char span_columns[] =
	"CREATE TABLE x(kind TEXT, name TEXT, time INTEGER, \"end\" INTEGER, duration INTEGER, "
	"self INTEGER, pid INTEGER, comm TEXT, cpu INTEGER, prio INTEGER, depth INTEGER, whole "
	"INTEGER, "
	"begin_event INTEGER, end_event INTEGER)";
static const char edge_columns[] =
	"CREATE TABLE x(time INTEGER, run INTEGER, latency INTEGER, pid INTEGER, comm TEXT, "
	"cpu INTEGER, waker_pid INTEGER, waker_comm TEXT, waker_cpu INTEGER, wake_event INTEGER, "
	"run_event INTEGER)";

/* What came out of the model and was not asked for yet. */
struct queue {
	struct made {
		union {
			struct span span;
			struct edge edge;
		};
		sqlite3_int64 number; /* of all that the model made */
	} * v;
	size_t nr, at, cap;
	bool failed;
};

struct span_cursor {
	struct sql_cursor base;
	struct scan *scan;
	struct model_counts *counts;
	struct model *model;
	struct queue queue;
	bool ended;
	int only; /* a kind of span; -1: all */
	sqlite3_int64 made;
};

static char *declare(struct sql_table *t, char **error)
{
	(void)error;
	return sqlite3_mprintf("%s", (const char *)t->what);
}

/* kind = 'wakeup': the others need not be followed. SQLite compares once more. */
static int best(struct sql_table *t, sqlite3_index_info *info)
{
	info->estimatedCost = 1e7;
	for (int i = 0; i < info->nConstraint && t->what == span_columns; i++)
		if (info->aConstraint[i].usable &&
		    info->aConstraint[i].iColumn == SPAN_COLUMN_KIND &&
		    info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ) {
			info->aConstraintUsage[i].argvIndex = 1;
			info->estimatedCost = 1e6;
			break;
		}
	return SQLITE_OK;
}

/* ---- the queue ---- */

static struct made *queue_room(struct queue *q)
{
	if (q->at == q->nr)
		q->at = q->nr = 0;
	if (!VEC_ROOM(q->v, q->nr, q->cap)) {
		q->failed = true;
		return NULL;
	}
	return &q->v[q->nr++];
}

static void take_span(void *arg, const struct span *s)
{
	struct span_cursor *c = arg;
	struct made *to;

	c->made++;
	if (c->only >= 0 && (int)s->kind != c->only)
		return;
	to = queue_room(&c->queue);
	if (to) {
		to->span = *s;
		to->number = c->made;
	}
}

static void take_edge(void *arg, const struct edge *e)
{
	struct made *to;

	if (e->kind != EDGE_WAKEUP)
		return;
	to = queue_room(&((struct span_cursor *)arg)->queue);
	if (to)
		to->edge = *e;
}

static int next(struct sql_cursor *base)
{
	struct span_cursor *c = (struct span_cursor *)base;
	const struct event *e;
	bool wanted;

	c->queue.at += c->queue.at < c->queue.nr;
	while (c->queue.at == c->queue.nr && !c->ended && !c->queue.failed) {
		e = scan_next_any(c->scan, &wanted);
		if (e) {
			model_event(c->model, e, scan_number(c->scan), wanted);
		} else {
			model_end(c->model);
			c->ended = true;
		}
	}
	return c->queue.failed || model_failed(c->model) ? SQLITE_NOMEM : SQLITE_OK;
}

/* ---- the cursor ---- */

static void empty(struct sql_cursor *base)
{
	struct span_cursor *c = (struct span_cursor *)base;

	scan_close(c->scan);
	if (c->model)
		model_free(c->model);
	free(c->counts);
	free(c->queue.v);
}

static int kind_named(sqlite3_value *v)
{
	const char *name = (const char *)sqlite3_value_text(v);
	int i;

	for (i = 0; name && i < SPAN_KINDS; i++)
		if (!strcmp(span_kind_name((enum span_kind)i), name))
			return i;
	return SPAN_KINDS; /* none has it */
}

static int begin(struct sql_cursor *base, int plan, const char *text, int argc,
		 sqlite3_value **argv)
{
	struct span_cursor *c = (struct span_cursor *)base;
	const struct sql_table *t = table_of(base);
	struct scan_options so = {.numbered = true};
	struct model_options mo = {.from = t->q->choice.from, .to = t->q->choice.to};
	struct model_sink sink = {.arg = c};

	(void)plan;
	(void)text;
	c->only = argc ? kind_named(argv[0]) : -1;
	if (t->what == edge_columns)
		sink.edge = take_edge;
	else
		sink.span = take_span;
	c->counts = model_count(t->q->source);
	mo.counts = c->counts;
	c->scan = scan_open(t->q->source, &t->q->choice, &so);
	c->model = c->scan && c->counts ? model_new(t->q->source, &mo, &sink) : NULL;
	return c->model ? next(base) : SQLITE_NOMEM;
}

static sqlite3_int64 rowid(const struct sql_cursor *base)
{
	const struct span_cursor *c = (const struct span_cursor *)base;

	return table_of(base)->what == edge_columns ? base->row : c->queue.v[c->queue.at].number;
}

static bool at_end(const struct sql_cursor *base)
{
	const struct span_cursor *c = (const struct span_cursor *)base;

	return c->ended && c->queue.at == c->queue.nr;
}

/* ---- values ---- */

static void number_or_null(sqlite3_context *ctx, uint64_t v, bool known)
{
	if (known)
		sqlite3_result_int64(ctx, (sqlite3_int64)v);
	else
		sqlite3_result_null(ctx);
}

static void comm(sqlite3_context *ctx, struct span_cursor *c, int32_t pid)
{
	if (pid < 0)
		sqlite3_result_null(ctx);
	else
		sqlite3_result_text(ctx, model_comm(c->model, pid), -1, SQLITE_TRANSIENT);
}

/* A duration is known only if both ends are. */
static void span_column(sqlite3_context *ctx, struct span_cursor *c, const struct span *s, int n)
{
	bool begins = !(s->flags & (SPAN_NO_BEGIN | SPAN_NO_TIME)), whole = SPAN_WHOLE(s->flags);

	switch (n) {
	case SPAN_COLUMN_KIND:
		sqlite3_result_text(ctx, span_kind_name(s->kind), -1, SQLITE_STATIC);
		break;
	case SPAN_COLUMN_NAME:
		sqlite3_result_text(ctx, model_span_name(c->model, s), -1, SQLITE_TRANSIENT);
		break;
	case SPAN_COLUMN_TIME: number_or_null(ctx, s->from, begins); break;
	case SPAN_COLUMN_END:
		number_or_null(ctx, s->to, !(s->flags & (SPAN_NO_END | SPAN_CUT)));
		break;
	case SPAN_COLUMN_DURATION: number_or_null(ctx, s->to - s->from, whole); break;
	case SPAN_COLUMN_SELF: number_or_null(ctx, s->self, whole && s->kind == SPAN_CALL); break;
	case SPAN_COLUMN_PID: number_or_null(ctx, (uint64_t)(int64_t)s->pid, s->pid >= 0); break;
	case SPAN_COLUMN_COMM: comm(ctx, c, s->pid); break;
	case SPAN_COLUMN_CPU: sqlite3_result_int64(ctx, s->cpu); break;
	case SPAN_COLUMN_PRIO: number_or_null(ctx, (uint64_t)s->prio, s->prio >= 0); break;
	case SPAN_COLUMN_DEPTH: sqlite3_result_int64(ctx, s->depth); break;
	case SPAN_COLUMN_WHOLE: sqlite3_result_int(ctx, whole); break;
	case SPAN_COLUMN_BEGIN_EVENT:
		number_or_null(ctx, s->begin, s->begin != MODEL_NO_EVENT);
		break;
	default: number_or_null(ctx, s->end, s->end != MODEL_NO_EVENT);
	}
}

static void edge_column(sqlite3_context *ctx, struct span_cursor *c, const struct edge *e, int n)
{
	switch (n) {
	case EDGE_COLUMN_TIME: sqlite3_result_int64(ctx, (sqlite3_int64)e->from_time); break;
	case EDGE_COLUMN_RUN: sqlite3_result_int64(ctx, (sqlite3_int64)e->to_time); break;
	case EDGE_COLUMN_LATENCY:
		sqlite3_result_int64(ctx, (sqlite3_int64)(e->to_time - e->from_time));
		break;
	case EDGE_COLUMN_PID: sqlite3_result_int64(ctx, e->to_pid); break;
	case EDGE_COLUMN_COMM: comm(ctx, c, e->to_pid); break;
	case EDGE_COLUMN_CPU: sqlite3_result_int64(ctx, e->to_cpu); break;
	case EDGE_COLUMN_WAKER_PID: sqlite3_result_int64(ctx, e->from_pid); break;
	case EDGE_COLUMN_WAKER_COMM: comm(ctx, c, e->from_pid); break;
	case EDGE_COLUMN_WAKER_CPU: sqlite3_result_int64(ctx, e->from_cpu); break;
	case EDGE_COLUMN_WAKE_EVENT:
		number_or_null(ctx, e->from_event, e->from_event != MODEL_NO_EVENT);
		break;
	default: number_or_null(ctx, e->to_event, e->to_event != MODEL_NO_EVENT);
	}
}

static void column(struct sql_cursor *base, sqlite3_context *ctx, int n)
{
	struct span_cursor *c = (struct span_cursor *)base;

	if (table_of(base)->what == edge_columns)
		edge_column(ctx, c, &c->queue.v[c->queue.at].edge, n);
	else
		span_column(ctx, c, &c->queue.v[c->queue.at].span, n);
}

static const struct sql_table_kind span_kind = {
	.table_size = sizeof(struct sql_table),
	.cursor_size = sizeof(struct span_cursor),
	.declare = declare,
	.best = best,
	.begin = begin,
	.next = next,
	.at_end = at_end,
	.column = column,
	.empty = empty,
	.rowid = rowid,
};

void sql_add_spans(struct sql *q)
{
	sql_add(q, "span", &span_kind, span_columns);
	sql_add(q, "wakeup", &span_kind, edge_columns);
	sql_word(q, "span");
	sql_word(q, "wakeup");
}
