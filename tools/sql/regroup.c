/* SPDX-License-Identifier: MIT */
/* regroup.c -- rewrites a statement that only wants sums of groups, so that it reads groups instead of events. */
#include "sql/groups.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/*
 *	SELECT name, count(*), max(time) FROM event WHERE cpu = 1 GROUP BY name
 *	SELECT name, coalesce(sum("fathom count"), 0), max("fathom max 0") FROM "fathom groups" AS "event" WHERE cpu = 1 ...
 *
 * Every column that stands outside of an aggregate becomes a key, so groups are at least as fine as the statement asks for,
 * and SQLite joins them. What this file does not understand is run as it was written: one table, one SELECT, functions that
 * are listed below. Rules:
 *
 *   G1  A key too many is never wrong, only slower.
 *   G2  A condition without a key is one that columns_answer() accepts: `column op literal`, joined by AND to all others.
 */
#define TOKENS_MAX 256

struct sql_token {
	enum {
		TOKEN_WORD,   /* a keyword or a name */
		TOKEN_NAME,   /* a quoted name */
		TOKEN_NUMBER, /* whole */
		TOKEN_TEXT,
		TOKEN_OTHER, /* another literal, or an operator */
	} kind;
	const char *p;
	int n;
	int column; /* that it names; -1: none */
	bool condition;
};

struct regroup {
	struct sql *q;
	struct grouping *g;
	struct sql_token t[TOKENS_MAX + 1];
	int nr;
	int from, where, group, having, order, limit; /* clauses; nr: none */
	int table_end;				      /* after FROM and what it names */
	bool sums;				      /* there is an aggregate */
	bool no;				      /* not understood */
	sqlite3_str *out;
};

/* ---- tokens ---- */

static bool is(const struct regroup *r, int i, const char *word)
{
	size_t n = strlen(word);

	return i >= 0 && i < r->nr && r->t[i].kind != TOKEN_NAME && r->t[i].kind != TOKEN_TEXT &&
	       (size_t)r->t[i].n == n && !sqlite3_strnicmp(r->t[i].p, word, (int)n);
}

/* `words` has spaces around each. */
static bool is_of(const struct regroup *r, int i, const char *words)
{
	char word[32];

	if (i < 0 || i >= r->nr || r->t[i].n > 24 || r->t[i].kind == TOKEN_NAME ||
	    r->t[i].kind == TOKEN_TEXT)
		return false;
	sqlite3_snprintf(sizeof(word), word, " %.*s ", r->t[i].n, r->t[i].p);
	for (char *p = word; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return strstr(words, word);
}

static int space(const char *p)
{
	const char *begin = p, *end;

	for (;;) {
		while (isspace((unsigned char)*p))
			p++;
		if (p[0] == '-' && p[1] == '-') {
			p += strcspn(p, "\n");
		} else if (p[0] == '/' && p[1] == '*') {
			end = strstr(p + 2, "*/");
			p = end ? end + 2 : p + strlen(p);
		} else {
			return (int)(p - begin);
		}
	}
}

static int quoted(const char *p, char end)
{
	int n = 1;

	while (p[n] && (p[n] != end || (p[n + 1] == end && end != ']')))
		n += p[n] == end ? 2 : 1;
	return n + !!p[n];
}

static int number(const char *p, bool *whole)
{
	int n = 0;

	while (isdigit((unsigned char)p[n]))
		n++;
	*whole = n <= 18 && !isalnum((unsigned char)p[n]) && p[n] != '.' && p[n] != '_';
	while (isalnum((unsigned char)p[n]) || p[n] == '.' ||
	       ((p[n] == '+' || p[n] == '-') && (p[n - 1] | 32) == 'e' && !strchr("xX", p[1])))
		n++;
	return n;
}

static bool letter(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 128;
}

static void token(struct sql_token *t, const char *p)
{
	static const char *const two[] = {"||", "<<", ">>", "<=", ">=", "==", "!=", "<>", "->"};
	bool whole;

	*t = (struct sql_token){.kind = TOKEN_OTHER, .p = p, .n = 1, .column = -1};
	if (*p == '\'') {
		t->kind = TOKEN_TEXT;
		t->n = quoted(p, '\'');
	} else if (*p == '"' || *p == '`' || *p == '[') {
		t->kind = TOKEN_NAME;
		t->n = quoted(p, *p == '[' ? ']' : *p);
	} else if (isdigit((unsigned char)*p) || (*p == '.' && isdigit((unsigned char)p[1]))) {
		t->n = number(p, &whole);
		if (whole)
			t->kind = TOKEN_NUMBER;
	} else if (letter(*p) && *p != '$') {
		t->kind = TOKEN_WORD;
		while (letter(p[t->n]))
			t->n++;
	}
	for (size_t i = 0; t->n == 1 && i < sizeof(two) / sizeof(*two); i++)
		if (!strncmp(p, two[i], 2))
			t->n = 2;
}

/* False: there are more than a statement that can be understood has. */
static bool tokens(struct regroup *r, const char *p, const char *end)
{
	for (p += space(p); p < end && *p && *p != ';'; p += space(p)) {
		if (r->nr == TOKENS_MAX || strchr("?:@$#", *p))
			return false;
		token(&r->t[r->nr], p);
		p += r->t[r->nr++].n;
	}
	return p + space(p) >= end || *p == ';';
}

/* Of a quoted name, what is inside. */
static void bare(const struct sql_token *t, const char **p, int *n)
{
	bool q = t->kind == TOKEN_NAME;

	*p = t->p + q;
	*n = t->n - 2 * q;
}

static bool same_name(const struct sql_token *t, const char *name)
{
	const char *p;
	int n;

	bare(t, &p, &n);
	return t->kind <= TOKEN_NAME && (int)strlen(name) == n && !sqlite3_strnicmp(p, name, n);
}

/* After the bracket that closes the one at i. */
static int closes(const struct regroup *r, int i)
{
	int depth = 0;

	for (; i < r->nr; i++) {
		depth += is(r, i, "(") - is(r, i, ")");
		if (!depth)
			return i + 1;
	}
	return r->nr;
}

/* ---- clauses ---- */

static void clauses(struct regroup *r)
{
	int i;

	r->from = r->where = r->group = r->having = r->order = r->limit = r->nr;
	for (i = 1; i < r->nr; i++) {
		int *of = is(r, i, "from")     ? &r->from
			  : is(r, i, "where")  ? &r->where
			  : is(r, i, "group")  ? &r->group
			  : is(r, i, "having") ? &r->having
			  : is(r, i, "order")  ? &r->order
			  : is(r, i, "limit")  ? &r->limit
					       : NULL;

		if (is(r, i, "("))
			i = closes(r, i) - 1;
		else if (of)
			*of = *of == r->nr ? i : -1;
	}
	r->no |= !is(r, 0, "select") || r->from >= r->nr - 1 || r->from < 2 || r->where < 0 ||
		 r->group < 0 || r->having < 0 || r->order < 0 || r->limit < 0;
	for (i = 1; i < r->nr; i++)
		r->no |= is_of(r, i,
			       " select join union except intersect over filter window exists "
			       "rowid oid _rowid_ collate values with match regexp indexed ");
}

static int first_of(int a, int b)
{
	return a < b ? a : b;
}

static int where_ends(const struct regroup *r)
{
	return first_of(first_of(r->group, r->having), first_of(r->order, r->limit));
}

/* One table of events, maybe with another name. */
static void table(struct regroup *r)
{
	const struct source *s = r->q->source;
	const struct sql_token *t = &r->t[r->from + 1];
	const struct schema *of = NULL;
	bool all = same_name(t, "event");
	int at = r->from + 2;

	for (size_t i = 0; !all && i < s->nr_schemas; i++) {
		char *full = sqlite3_mprintf("%s_%s", s->schemas[i].system, s->schemas[i].name);
		bool it = same_name(t, s->schemas[i].name) || (full && same_name(t, full));

		sqlite3_free(full);
		r->no |= it && of; /* which of them is SQLite's business */
		if (it)
			of = &s->schemas[i];
	}
	for (size_t i = 1; i < SQL_OWN_TABLES; i++)
		r->no |= same_name(t, sql_own_tables[i]);
	if (is(r, at, "as"))
		at++;
	if (at < r->nr && at != first_of(r->where, where_ends(r)))
		at++;
	r->table_end = at;
	r->no |= r->no || (!all && !of) || at != first_of(r->where, where_ends(r)) ||
		 !columns_init(&r->g->columns, r->q->source, of);
}

/* ---- columns ---- */

static bool ends_value(const struct regroup *r, int i)
{
	return is(r, i, ")") || is(r, i, "end") || r->t[i].kind == TOKEN_NUMBER ||
	       r->t[i].kind == TOKEN_TEXT ||
	       (r->t[i].kind <= TOKEN_NAME &&
		!is_of(r, i,
		       " select distinct all and or not then else when case between like "
		       "glob in is null "));
}

/* The name that a result gets: `AS x`, or a name right after the value. */
static bool names_result(const struct regroup *r, int i)
{
	return i > 1 && i < r->from && r->t[i].kind <= TOKEN_NAME &&
	       (is(r, i - 1, "as") || ends_value(r, i - 1)) &&
	       (i + 1 == r->from || is(r, i + 1, ","));
}

/* ORDER BY the name of a result, and nothing else: that comes before a column of the same name. */
static bool orders_by_result(const struct regroup *r, int i)
{
	const char *p;
	int n;

	if (i <= r->order || !(is(r, i - 1, "by") || is(r, i - 1, ",")) ||
	    !(i + 1 == r->nr || is_of(r, i + 1, " , asc desc nulls limit ")))
		return false;
	bare(&r->t[i], &p, &n);
	for (int k = 1; k < r->from; k++) {
		const char *p2;
		int n2;

		bare(&r->t[k], &p2, &n2);
		if (names_result(r, k) && n == n2 && !sqlite3_strnicmp(p, p2, n))
			return true;
	}
	return false;
}

static void name_columns(struct regroup *r)
{
	for (int c = 0; c < columns_nr(&r->g->columns); c++) {
		char *name = columns_name(&r->g->columns, c);

		for (int i = 1; name && i < r->nr; i++)
			if ((i < r->from || i >= r->table_end) && same_name(&r->t[i], name) &&
			    !is(r, i + 1, ".") && !is(r, i + 1, "(") && !names_result(r, i) &&
			    !orders_by_result(r, i))
				r->t[i].column = c;
		sqlite3_free(name);
	}
}

/* ---- conditions: column op literal AND ... ---- */

static int literal(const struct regroup *r, int i, bool text)
{
	if (text)
		return i < r->nr && r->t[i].kind == TOKEN_TEXT ? i + 1 : -1;
	i += is(r, i, "-");
	return i < r->nr && r->t[i].kind == TOKEN_NUMBER ? i + 1 : -1;
}

/* The end of the condition that begins at i; -1: it is another kind of condition. */
static int condition(struct regroup *r, int i, int *column)
{
	const struct columns *c = &r->g->columns;
	bool text;
	int end;

	i += is(r, i + 1, ".") ? 2 : 0;
	*column = i;
	if (i >= r->nr || r->t[i].column < 0 || r->t[i].column == COLUMN_N)
		return -1;
	text = columns_kind(c, r->t[i].column) == ROW_TEXT;
	if (text && (!c->row || r->t[i].column < COLUMN_FIELDS))
		return -1;
	if (!text && columns_kind(c, r->t[i].column) != ROW_INTEGER)
		return -1;
	if (is(r, i + 1, "between") && !text) {
		end = literal(r, i + 2, false);
		return end > 0 && is(r, end, "and") ? literal(r, end + 1, false) : -1;
	}
	return is_of(r, i + 1, text ? " = == " : " = == < <= > >= ") ? literal(r, i + 2, text) : -1;
}

static void conditions(struct regroup *r)
{
	int end = where_ends(r), i, k;

	for (i = r->where; i < end; i++)
		if (is(r, i, "or") || is(r, i, "case"))
			return;
	for (i = r->where; i < end; i = k) {
		int column, stop = condition(r, i + 1, &column);

		if (stop > 0 && (stop == end || is(r, stop, "and")))
			r->t[column].condition = true;
		/* The next AND; one that belongs to a BETWEEN begins no condition, for it has no column. */
		for (k = stop > 0 ? stop : i + 1; k < end && !is(r, k, "and"); k++)
			k = is(r, k, "(") ? closes(r, k) - 1 : k;
	}
}

/* ---- expressions of whole numbers ---- */

static bool step(struct sum_expr *x, char op, int64_t v)
{
	if (x->nr == EXPR_STEPS)
		return false;
	x->step[x->nr++] = (struct sum_step){.op = op, .v = v};
	return true;
}

static int sum_of(const struct regroup *r, int i, struct sum_expr *x);

/* Each gives the token after what it read; -1: it is something else. */
static int factor(const struct regroup *r, int i, struct sum_expr *x)
{
	if (i >= r->nr)
		return -1;
	if (is(r, i, "(")) {
		i = sum_of(r, i + 1, x);
		return i > 0 && is(r, i, ")") ? i + 1 : -1;
	}
	if (r->t[i].kind == TOKEN_NUMBER)
		return step(x, '#', strtoll(r->t[i].p, NULL, 10)) ? i + 1 : -1;
	i += is(r, i + 1, ".") ? 2 : 0;
	if (i >= r->nr || r->t[i].column <= COLUMN_N ||
	    columns_kind(&r->g->columns, r->t[i].column) != ROW_INTEGER)
		return -1;
	return step(x, 'c', r->t[i].column) ? i + 1 : -1;
}

static int product(const struct regroup *r, int i, struct sum_expr *x)
{
	for (i = factor(r, i, x); i > 0 && is_of(r, i, " * / % ");) {
		char op = *r->t[i].p;

		i = factor(r, i + 1, x);
		if (i > 0 && !step(x, op, 0))
			return -1;
	}
	return i;
}

static int sum_of(const struct regroup *r, int i, struct sum_expr *x)
{
	for (i = product(r, i, x); i > 0 && is_of(r, i, " + - ");) {
		char op = *r->t[i].p;

		i = product(r, i + 1, x);
		if (i > 0 && !step(x, op, 0))
			return -1;
	}
	return i;
}

static bool has_column(const struct sum_expr *x)
{
	for (int i = 0; i < x->nr; i++)
		if (x->step[i].op == 'c')
			return true;
	return false;
}

/* The number of an expression in a list; -1: the list is full. */
static int listed(struct sum_expr *list, int *nr, int max, const struct sum_expr *x)
{
	int i;

	for (i = 0; i < *nr; i++)
		if (list[i].nr == x->nr && !memcmp(list[i].step, x->step, sizeof(x->step)))
			return i;
	if (i == max)
		return -1;
	list[(*nr)++] = *x;
	return i;
}

/* ---- rewriting it ---- */

static void rewrite(struct regroup *r, int from, int to);

static void key_column(struct regroup *r, const struct sql_token *t)
{
	struct sum_expr x = {0};

	step(&x, 'c', t->column);
	/* Nearly every event has a number and a time of its own. */
	r->no |= t->column == COLUMN_N || t->column == COLUMN_TIME ||
		 columns_kind(&r->g->columns, t->column) > ROW_TEXT ||
		 listed(r->g->keys, &r->g->nr_keys, GROUP_KEYS, &x) < 0;
}

/* What an aggregate becomes: %d is the number of its sum, %s the text of its argument. */
static const struct aggregate {
	const char *name, *of_sum, *of_text;
} aggregates[] = {
	{"count", "coalesce(sum(\"fathom number %d\"),0)",
	 "coalesce(sum(((%s) IS NOT NULL)*\"" GROUPS_COUNT "\"),0)"},
	{"sum", "sum(\"fathom sum %d\")", "sum((%s)*\"" GROUPS_COUNT "\")"},
	{"total", "total(\"fathom sum %d\")", "total((%s)*\"" GROUPS_COUNT "\")"},
	{"avg", "(total(\"fathom sum %d\")/nullif(sum(\"fathom number %d\"),0))",
	 "(total((%s)*\"" GROUPS_COUNT "\")/nullif(sum(((%s) IS NOT NULL)*\"" GROUPS_COUNT
	 "\"),0))"},
	{"min", "min(\"fathom min %d\")", "min(%s)"},
	{"max", "max(\"fathom max %d\")", "max(%s)"},
};

static char *part(struct regroup *r, int from, int to)
{
	sqlite3_str *out = r->out;
	char *text;

	r->out = sqlite3_str_new(r->q->db);
	rewrite(r, from, to);
	text = sqlite3_str_finish(r->out);
	r->out = out;
	return text;
}

static void write_aggregate(struct regroup *r, const struct aggregate *a, int from, int to)
{
	struct sum_expr x = {0};
	char *text;
	int n;

	r->sums = true;
	if (is(r, from, "*") && from + 1 == to) {
		sqlite3_str_appendall(r->out, "coalesce(sum(\"" GROUPS_COUNT "\"),0)");
	} else if (is(r, from, "distinct")) {
		text = part(r, from, to); /* groups have the same values as the events */
		sqlite3_str_appendf(r->out, "%s(%s)", a->name, text ? text : "");
		sqlite3_free(text);
	} else if (sum_of(r, from, &x) == to && has_column(&x)) {
		n = listed(r->g->sums, &r->g->nr_sums, GROUP_SUMS, &x);
		r->no |= n < 0;
		sqlite3_str_appendf(r->out, a->of_sum, n, n);
	} else {
		text = part(r, from, to);
		sqlite3_str_appendf(r->out, a->of_text, text ? text : "", text ? text : "");
		sqlite3_free(text);
	}
}

static bool is_scalar(const struct regroup *r, int i)
{
	return is_of(r, i,
		     " abs char coalesce format hex ifnull iif instr length like glob likely lower "
		     "ltrim max min nullif printf quote replace round rtrim sign substr "
		     "substring trim typeof unicode unlikely upper strftime datetime date time "
		     "cast in and or not select by where having when then else case between "
		     "distinct on limit offset as ");
}

/* A call, or a keyword and a bracket: what is inside is rewritten too. */
static int write_call(struct regroup *r, int i)
{
	int end = closes(r, i + 1);
	bool many = false;

	for (int k = i + 2; k < end; k++) {
		many |= is(r, k, ",");
		k = is(r, k, "(") ? closes(r, k) - 1 : k;
	}
	for (size_t k = 0; !many && k < sizeof(aggregates) / sizeof(*aggregates); k++)
		if (is(r, i, aggregates[k].name)) {
			write_aggregate(r, &aggregates[k], i + 2, end - 1);
			return end;
		}
	r->no |= !is_scalar(r, i) && !is_of(r, i, " total ");
	sqlite3_str_append(r->out, r->t[i].p, r->t[i].n);
	return i + 1;
}

/* `time / 1000000`, whole, is a key of its own: of `time` alone there would be too many. */
static int write_expression(struct regroup *r, int i)
{
	struct sum_expr x = {0};
	int end, n;

	if (!is_of(r, i - 1,
		   " ( , = == < > <= >= != <> & | << >> select by where and or having then "
		   "when else not between distinct "))
		return -1;
	if (is(r, i - 1, "(") && is(r, i, "("))
		return -1; /* the inner one is looked at next */
	end = sum_of(r, i, &x);
	if (end < 0 || x.nr < 2 || !has_column(&x) || is_of(r, end, " || -> collate ( . * / % "))
		return -1;
	n = listed(r->g->keys, &r->g->nr_keys, GROUP_KEYS, &x);
	r->no |= n < 0;
	sqlite3_str_appendf(r->out, "\"fathom key %d\"", n);
	return end;
}

static void rewrite(struct regroup *r, int from, int to)
{
	for (int i = from, end; i < to && !r->no; i = end) {
		const struct sql_token *t = &r->t[i];

		sqlite3_str_appendall(r->out, " ");
		end = i == r->from ? -1 : write_expression(r, i);
		if (end > 0)
			continue;
		end = i + 1;
		/* SELECT * wants every column. */
		r->no |= is(r, i, "*") && is_of(r, i - 1, " select , . distinct all ");
		if (i == r->from) {
			bool named = r->table_end > r->from + 2;

			t = &r->t[named ? r->table_end - 1 : r->from + 1];
			sqlite3_str_appendf(r->out, "FROM \"" GROUPS_TABLE "\" AS %.*s", t->n,
					    t->p);
			end = r->table_end;
		} else if (t->kind == TOKEN_WORD && is(r, i + 1, "(")) {
			end = write_call(r, i);
		} else {
			if (t->column >= 0 && !t->condition)
				key_column(r, t);
			sqlite3_str_append(r->out, t->p, t->n);
		}
	}
}

/* Columns that are only compared are no keys. */
static void add_conditions(struct regroup *r)
{
	struct grouping *g = r->g;

	for (int i = r->where; i < r->nr; i++) {
		bool known = !r->t[i].condition;

		for (int k = 0; k < g->nr_keys; k++)
			known |= g->keys[k].nr == 1 && g->keys[k].step[0].v == r->t[i].column;
		for (int k = 0; k < g->nr_conditions; k++)
			known |= g->conditions[k] == r->t[i].column;
		if (known)
			continue;
		if (g->nr_conditions == TERMS_MAX)
			r->no = true;
		else
			g->conditions[g->nr_conditions++] = r->t[i].column;
	}
}

static char *regrouped(struct regroup *r)
{
	char *text;

	clauses(r);
	if (!r->no)
		table(r);
	if (r->no)
		return NULL;
	name_columns(r);
	conditions(r);
	r->out = sqlite3_str_new(r->q->db);
	rewrite(r, 0, r->nr);
	add_conditions(r);
	text = sqlite3_str_finish(r->out);
	if (!r->no && (r->sums || r->group < r->nr || is(r, 1, "distinct")))
		return text;
	sqlite3_free(text);
	return NULL;
}

void grouping_free(struct grouping *g)
{
	if (g)
		columns_free(&g->columns);
	free(g);
}

sqlite3_stmt *sql_grouped(struct sql *q, const char *text, const char *end)
{
	struct regroup *r = calloc(1, sizeof(*r));
	struct grouping *g = calloc(1, sizeof(*g));
	sqlite3_stmt *st = NULL;
	char *other = NULL;

	if (r && g) {
		*r = (struct regroup){.q = q, .g = g};
		if (tokens(r, text, end))
			other = regrouped(r);
	}
	free(r);
	if (!other) {
		grouping_free(g);
		return NULL;
	}
	grouping_ready(g);
	sql_add(q, GROUPS_TABLE, &sql_group_kind, g);
	grouping_free(q->grouping);
	q->grouping = g;
	if (sqlite3_prepare_v2(q->db, other, -1, &st, NULL) != SQLITE_OK)
		st = NULL;
	sqlite3_free(other);
	return st;
}
