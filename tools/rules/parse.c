/* SPDX-License-Identifier: MIT */
/* parse.c -- the text of rules. */
#include "rules/rules.h"

#include "base/diag.h"
#include "base/file.h"
#include "base/guess.h"
#include "base/vec.h"

#include <errno.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct rule_line {
	struct rules *r;
	const char *start; /* of the line */
	char *at;
	uint32_t number;
};

void rules_mark(const char *line, const char *at, const char *guess)
{
	size_t i;

	fprintf(stderr, "%s\n", line);
	for (i = 0; line + i < at; i++)
		fputc(line[i] == '\t' ? '\t' : ' ', stderr);
	fputs("^\n", stderr);
	if (guess)
		fprintf(stderr, "        did you mean '%s'?\n", guess);
}

/* Reports a word that is not allowed here, with the most similar one (`guess`, may be NULL). */
static void wrong_word(struct rule_line *l, const char *at, const char *expected, const char *guess)
{
	if (l->r->failed)
		return;
	l->r->failed = true;
	diag_error("%s:%u: expected %s", l->r->file, l->number, expected);
	rules_mark(l->start, at, guess);
}

static void wrong(struct rule_line *l, const char *at, const char *expected)
{
	wrong_word(l, at, expected, NULL);
}

static const char *nearest(const char *word, const char *const *names, size_t nr)
{
	const char *best = NULL;
	unsigned least = UINT_MAX;
	size_t i;

	for (i = 0; i < nr; i++)
		guess_nearer(word, names[i], &least, &best);
	return best;
}

static void *taken(struct rule_line *l, void *p)
{
	if (!p && !l->r->failed) {
		l->r->failed = true;
		diag_error("out of memory");
	}
	return p;
}

static void blanks(struct rule_line *l)
{
	while (isspace((unsigned char)*l->at))
		l->at++;
}

/* A copy of the next word, up to a blank or one of `stops`; NULL at the end of the line. Kept as long as the rules. */
static char *word(struct rule_line *l, const char *stops)
{
	size_t n = 0;
	char *w;

	blanks(l);
	if (*l->at == '"' && strchr(l->at + 1, '"')) { /* a name with blanks in it */
		n = strcspn(++l->at, "\"");
		w = taken(l, strndup(l->at, n));
		l->at += n + 1;
		return w;
	}
	while (l->at[n] && !isspace((unsigned char)l->at[n]) && !strchr(stops, l->at[n]))
		n++;
	if (!n)
		return NULL;
	w = taken(l, malloc(n + 1));
	if (!w)
		return NULL;
	memcpy(w, l->at, n);
	w[n] = 0;
	l->at += n;
	return w;
}

static bool is_next(struct rule_line *l, const char *text)
{
	size_t n = strlen(text);

	blanks(l);
	if (strncmp(l->at, text, n) || (isalnum((unsigned char)text[n - 1]) &&
					(isalnum((unsigned char)l->at[n]) || l->at[n] == '_')))
		return false;
	l->at += n;
	return true;
}

static void need(struct rule_line *l, const char *text)
{
	if (!l->r->failed && !is_next(l, text))
		wrong(l, l->at, text);
}

static char *need_word(struct rule_line *l, const char *stops, const char *what)
{
	char *w = l->r->failed ? NULL : word(l, stops);

	if (!w && !l->r->failed)
		wrong(l, l->at, what);
	return w;
}

static enum compare compare(struct rule_line *l)
{
	static const char *const ops[] = {"<=", ">=", "==", "!=", "<", ">", "="};
	static const enum compare to[] = {COMPARE_LE, COMPARE_GE, COMPARE_EQ, COMPARE_NE,
					  COMPARE_LT, COMPARE_GT, COMPARE_EQ};
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (is_next(l, ops[i]))
			return to[i];
	wrong(l, l->at, "one of < <= > >= = !=");
	return COMPARE_LT;
}

/* 200us, 1.5ms, 300: in nanoseconds, or plain. */
static uint64_t amount(struct rule_line *l, bool time)
{
	char *end;
	double v;

	blanks(l);
	v = strtod(l->at, &end);
	if (end == l->at || v < 0) {
		wrong(l, l->at, time ? "a time: 200us, 5ms, 1s" : "a number");
		return 0;
	}
	l->at = end;
	if (!time || is_next(l, "ns"))
		return (uint64_t)v;
	if (is_next(l, "us"))
		return (uint64_t)(v * 1e3 + 0.5);
	if (is_next(l, "ms"))
		return (uint64_t)(v * 1e6 + 0.5);
	if (is_next(l, "s"))
		return (uint64_t)(v * 1e9 + 0.5);
	wrong(l, l->at, "a unit of time: ns, us, ms or s");
	return 0;
}

/* ---- spans ---- */

static uint32_t add_pair(struct rule_line *l, const char *name, const char *begin, const char *end,
			 const char *key)
{
	struct rules *r = l->r;
	uint32_t i;

	for (i = 0; i < r->nr_pairs; i++) /* the model knows a pair once */
		if (!strcmp(begin, r->pairs[i].begin) && !strcmp(end, r->pairs[i].end) &&
		    !strcmp(key ? key : "", r->pairs[i].key ? r->pairs[i].key : "") &&
		    (!*name || !strcmp(name, r->spans[i].name))) {
			free((char *)begin);
			free((char *)end);
			free((char *)key);
			if (*name)
				free((char *)name);
			return i;
		}
	if (!VEC_MORE(r->pairs, r->nr_pairs) || !VEC_MORE(r->spans, r->nr_pairs)) {
		taken(l, NULL);
		return 0;
	}
	r->pairs[r->nr_pairs] = (struct model_pair){begin, end, key};
	r->spans[r->nr_pairs] = (struct rule_span){name, l->start, l->number};
	return r->nr_pairs++;
}

static void span_line(struct rule_line *l)
{
	char *name = need_word(l, "=", "a name for the span"), *begin, *end, *key = NULL;

	need(l, "=");
	begin = need_word(l, "", "the event that begins it");
	need(l, "to");
	end = need_word(l, "", "the event that ends it");
	if (!l->r->failed && is_next(l, "by"))
		key = need_word(l, "", "a field that both events have");
	if (!l->r->failed)
		add_pair(l, name, begin, end, key);
}

static bool span_named(struct rule_line *l, const char *name, struct rule *out)
{
	uint32_t i;

	for (i = 0; i < SPAN_KINDS; i++)
		if (i != SPAN_PAIR && i != SPAN_LOST &&
		    !strcmp(name, span_kind_name((enum span_kind)i))) {
			out->span = (enum span_kind)i;
			return true;
		}
	for (i = 0; i < l->r->nr_pairs; i++)
		if (!strcmp(name, l->r->spans[i].name)) {
			out->span = SPAN_PAIR;
			out->pair = i;
			return true;
		}
	return false;
}

/* What may begin a rule, or name a span. */
static const char *nearest_span(const struct rule_line *l, const char *word)
{
	static const char *const first[] = {"every", "never", "no", "count", "span"};
	const char *best = nearest(word, first, sizeof(first) / sizeof(*first));
	unsigned least = best ? guess_distance(word, strlen(word), best) : UINT_MAX;
	uint32_t i;

	for (i = 0; i < SPAN_KINDS; i++)
		if (i != SPAN_PAIR && i != SPAN_LOST)
			guess_nearer(word, span_kind_name((enum span_kind)i), &least, &best);
	for (i = 0; i < l->r->nr_pairs; i++)
		guess_nearer(word, l->r->spans[i].name, &least, &best);
	return best;
}

/* ---- rules ---- */

static const char *const figures[FIGURES] = {"count", "total", "min",	"mean", "p50",
					     "p90",   "p99",   "p99.9", "max"};

#define FIGURES_ARE "a figure: count total min mean p50 p90 p99 p99.9 max"

static bool figure_named(const char *w, enum figure *out)
{
	int i;

	for (i = 0; i < FIGURES; i++)
		if (!strcmp(w, figures[i])) {
			*out = (enum figure)i;
			return true;
		}
	return false;
}

static void condition(struct rule_line *l, struct rule *out)
{
	static const char *const names[] = {"task", "pid", "cpu", "prio"};
	struct condition *c;
	int i;

	if (out->nr_conditions == CONDITIONS_MAX) {
		wrong(l, l->at, "no more than 8 conditions");
		return;
	}
	c = &out->conditions[out->nr_conditions++];
	for (i = 0; i < 4 && !is_next(l, names[i]); i++)
		;
	if (i == 4) {
		char *begin = l->at, *w = word(l, "<>=!");

		wrong_word(l, begin, "task, pid, cpu or prio", w ? nearest(w, names, 4) : NULL);
		free(w);
		return;
	}
	c->of = (enum condition_of)i;
	c->op = compare(l);
	if (c->of != OF_TASK)
		c->number = (int64_t)amount(l, false);
	else if (c->op != COMPARE_EQ && c->op != COMPARE_NE)
		wrong(l, l->at, "= or != before a task's name");
	else
		c->text = need_word(l, "", "a task's name");
}

static void figure_rule(struct rule_line *l, struct rule *out)
{
	char *begin = l->at, *w = need_word(l, "", "a rule");

	out->kind = RULE_FIGURE;
	if (!w)
		return;
	if (!span_named(l, w, out)) {
		wrong_word(l, begin,
			   "every, never, no, count(), span, or a kind of span: wakeup, running, "
			   "syscall ...",
			   nearest_span(l, w));
		free(w);
		return;
	}
	free(w);
	blanks(l);
	begin = l->at;
	w = need_word(l, "<>=!", FIGURES_ARE);
	if (w && !figure_named(w, &out->figure)) {
		char *second = (blanks(l), l->at);

		out->name = w;
		if (*second &&
		    strchr("<>=!", *second)) { /* the word before it is the figure, then */
			wrong_word(l, begin, FIGURES_ARE, nearest(w, figures, FIGURES));
			return;
		}
		w = need_word(l, "<>=!", FIGURES_ARE);
		if (w && !figure_named(w, &out->figure))
			wrong_word(l, second, FIGURES_ARE, nearest(w, figures, FIGURES));
	}
	free(w);
	if (!l->r->failed)
		out->op = compare(l);
	if (!l->r->failed)
		out->amount = amount(l, out->figure != FIGURE_COUNT);
	if (!l->r->failed && is_next(l, "where"))
		do {
			condition(l, out);
		} while (!l->r->failed && is_next(l, "and"));
}

static void every_rule(struct rule_line *l, struct rule *out)
{
	char *begin = need_word(l, "", "an event"), *end, *key = NULL;

	out->kind = RULE_EVERY;
	need(l, "has");
	end = need_word(l, "", "an event");
	need(l, "within");
	if (!l->r->failed)
		out->amount = amount(l, true);
	if (!l->r->failed && is_next(l, "by"))
		key = need_word(l, "", "a field that both events have");
	if (!l->r->failed)
		out->pair = add_pair(l, "", begin, end, key);
	out->span = SPAN_PAIR;
}

static void never_rule(struct rule_line *l, struct rule *out)
{
	char *begin, *w;

	out->kind = RULE_NEVER;
	out->event = need_word(l, "", "an event");
	need(l, "inside");
	blanks(l);
	begin = l->at;
	w = need_word(l, "", "a span that the file names");
	if (w && (!span_named(l, w, out) || out->span != SPAN_PAIR))
		wrong_word(l, begin,
			   "a span that a line before this one names: span NAME = EVENT to EVENT",
			   nearest_span(l, w));
	free(w);
}

static void count_rule(struct rule_line *l, struct rule *out)
{
	struct expr_error err;
	char *close;

	out->kind = RULE_COUNT;
	close = strrchr(l->at, ')');
	if (!close) {
		wrong(l, l->at + strlen(l->at), ")");
		return;
	}
	*close = 0;
	out->filter = filter_new(l->at, &err);
	if (!out->filter) {
		char *at = l->at + err.offset;

		*close = ')';
		wrong(l, at, err.what);
		return;
	}
	*close = ')';
	l->at = close + 1;
	out->op = compare(l);
	if (!l->r->failed)
		out->amount = amount(l, false);
}

static void loss_rule(struct rule_line *l, struct rule *out)
{
	char *w, *dots;

	out->kind = RULE_NO_LOSS;
	need(l, "loss");
	if (l->r->failed || !is_next(l, "in"))
		return;
	w = need_word(l, "", "a window: +1.5s..+2.0s");
	dots = w ? strstr(w, "..") : NULL;
	if (!dots) {
		if (w)
			wrong(l, l->at, "a window: +1.5s..+2.0s");
		free(w);
		return;
	}
	*dots = 0;
	out->from = w;
	out->to = dots + 2;
	if (!scan_time_is(out->from) || !scan_time_is(out->to))
		wrong(l, l->at, "two times: +1.5s..+2.0s");
}

static void one_line(struct rule_line *l)
{
	struct rules *r = l->r;
	struct rule rule = {.text = l->start, .line = l->number};

	if (is_next(l, "span")) {
		span_line(l);
	} else {
		if (is_next(l, "every"))
			every_rule(l, &rule);
		else if (is_next(l, "never"))
			never_rule(l, &rule);
		else if (is_next(l, "no"))
			loss_rule(l, &rule);
		else if (is_next(l, "count("))
			count_rule(l, &rule);
		else
			figure_rule(l, &rule);
		if (VEC_MORE(r->v, r->nr))
			r->v[r->nr++] = rule;
		else
			taken(l, NULL);
	}
	blanks(l);
	if (*l->at)
		wrong(l, l->at, "the end of the line");
}

struct rules *rules_parse(const char *file, const char *text, size_t bytes)
{
	struct rules *r = calloc(1, sizeof(*r));
	char *p, *next;
	uint32_t number;

	if (!r || !(r->text = strndup(text, bytes))) {
		free(r);
		return NULL;
	}
	r->file = file;
	for (p = r->text, number = 1; p && !r->failed; p = next, number++) {
		struct rule_line l = {.r = r, .number = number};

		next = strchr(p, '\n');
		if (next)
			*next++ = 0;
		p[strcspn(p, "#")] = 0;
		while (*p && isspace((unsigned char)p[strlen(p) - 1]))
			p[strlen(p) - 1] = 0;
		l.at = p;
		blanks(&l);
		l.start = l.at;
		if (*l.at)
			one_line(&l);
	}
	if (!r->failed && !r->nr) {
		diag_error("%s: contains no rule; see `fathom help check` for the syntax", file);
		r->failed = true;
	}
	if (r->failed) {
		rules_free(r);
		return NULL;
	}
	return r;
}

void rules_free(struct rules *r)
{
	uint32_t i, k;

	if (!r)
		return;
	for (i = 0; i < r->nr; i++) {
		free((char *)r->v[i].name);
		free((char *)r->v[i].event);
		free((char *)r->v[i].from);
		filter_free(r->v[i].filter);
		for (k = 0; k < r->v[i].nr_conditions; k++)
			free((char *)r->v[i].conditions[k].text);
	}
	for (i = 0; i < r->nr_pairs; i++) {
		free((char *)r->pairs[i].begin);
		free((char *)r->pairs[i].end);
		free((char *)r->pairs[i].key);
		if (*r->spans[i].name)
			free((char *)r->spans[i].name);
	}
	free(r->pairs);
	free(r->spans);
	free(r->v);
	free(r->text);
	free(r);
}

struct rules *rules_load(const char *file)
{
	struct rules *r;
	size_t bytes;
	char *text = file_load(file, 1u << 20, &bytes);

	if (!text) {
		diag_error("%s: %s", file, strerror(errno));
		return NULL;
	}
	r = rules_parse(file, text, bytes);
	free(text);
	return r;
}
