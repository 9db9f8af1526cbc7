/* SPDX-License-Identifier: MIT */
/* judge.c -- rules against a trace. A pass that loss could hide the opposite of is no pass. */
#include "rules/rules.h"
#include "base/vec.h"

#include "base/diag.h"
#include "model/walk.h"
#include "view/amount.h"
#include "view/dist.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct interval {
	uint64_t from, to;
	int32_t pid;
};

/* What the walk collects for one rule. */
struct evidence {
	struct dist dist;
	uint64_t longest, longest_event; /* a lower bound where an end was not seen */
	uint64_t open, open_event;	 /* spans without an end: how many, one of them */
	bool cut;			 /* a loss ended one, or hid its ends */
	struct interval *inside;	 /* spans of "never" */
	size_t nr_inside, cap_inside;
};

struct judge {
	struct source *source;
	const struct rules *rules;
	struct model *model;
	struct evidence *evidence;
	struct dist_budget budget;
	char **pair_texts; /* what the model calls each pair */
	bool failed;
};

static bool holds(enum compare op, uint64_t a, uint64_t b)
{
	switch (op) {
	case COMPARE_LT: return a < b;
	case COMPARE_LE: return a <= b;
	case COMPARE_GT: return a > b;
	case COMPARE_GE: return a >= b;
	case COMPARE_EQ: return a == b;
	default: return a != b;
	}
}

static bool holds_signed(enum compare op, int64_t a, int64_t b)
{
	return holds(op, (uint64_t)a ^ 1ull << 63, (uint64_t)b ^ 1ull << 63);
}

/* ---- gathering ---- */

static bool condition_fits(struct judge *j, const struct condition *c, const struct span *s)
{
	switch (c->of) {
	case OF_TASK:
		return (s->pid >= 0 && !strcmp(model_comm(j->model, s->pid), c->text)) ==
		       (c->op == COMPARE_EQ);
	case OF_PID: return s->pid >= 0 && holds_signed(c->op, s->pid, c->number);
	case OF_CPU: return holds_signed(c->op, s->cpu, c->number);
	default: return s->prio >= 0 && holds_signed(c->op, s->prio, c->number);
	}
}

static bool concerns(struct judge *j, const struct rule *r, const struct span *s)
{
	uint32_t i;

	if ((r->kind == RULE_COUNT || r->kind == RULE_NO_LOSS) || s->kind != r->span)
		return false;
	if (s->kind == SPAN_PAIR && strcmp(model_span_name(j->model, s), j->pair_texts[r->pair]))
		return false;
	if (r->name && strcmp(model_span_name(j->model, s), r->name))
		return false;
	for (i = 0; i < r->nr_conditions; i++)
		if (!condition_fits(j, &r->conditions[i], s))
			return false;
	return true;
}

static void note_inside(struct judge *j, struct evidence *e, const struct span *s)
{
	if (!VEC_ROOM(e->inside, e->nr_inside, e->cap_inside)) {
		j->failed = true;
		return;
	}
	e->inside[e->nr_inside++] = (struct interval){s->from, s->to, s->pid};
}

static void gather(void *arg, const struct span *s)
{
	struct judge *j = arg;
	uint32_t i;

	for (i = 0; i < j->rules->nr; i++) {
		const struct rule *r = &j->rules->v[i];
		struct evidence *e = &j->evidence[i];
		uint64_t lasted = s->to - s->from;

		if (!concerns(j, r, s))
			continue;
		if (s->flags & (SPAN_CUT | SPAN_UNSURE))
			e->cut = true;
		if (s->flags & SPAN_NO_END) {
			e->open++;
			e->open_event = s->begin;
		}
		if (lasted >= e->longest && !(s->flags & SPAN_NO_TIME)) {
			e->longest = lasted;
			e->longest_event = s->begin != MODEL_NO_EVENT ? s->begin : s->end;
		}
		if (SPAN_WHOLE(s->flags))
			dist_add(&e->dist, &j->budget, lasted);
		if (r->kind == RULE_NEVER)
			note_inside(j, e, s);
	}
	if (j->budget.full) {
		j->budget.full = false;
		for (i = 0; i < j->rules->nr; i++)
			dist_thin(&j->evidence[i].dist, &j->budget);
	}
}

/* ---- judging ---- */

static void say(struct judgement *o, enum verdict v, uint64_t event, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void say(struct judgement *o, enum verdict v, uint64_t event, const char *fmt, ...)
{
	va_list ap;

	o->verdict = v;
	o->event = event;
	va_start(ap, fmt);
	vsnprintf(o->found, sizeof(o->found), fmt, ap);
	va_end(ap);
}

static uint64_t figure_of(struct evidence *e, enum figure f)
{
	static const uint32_t per_mille[FIGURES] = {
		[FIGURE_P50] = 500, [FIGURE_P90] = 900, [FIGURE_P99] = 990, [FIGURE_P999] = 999};

	switch (f) {
	case FIGURE_COUNT: return e->dist.count;
	case FIGURE_TOTAL: return e->dist.total;
	case FIGURE_MIN: return e->dist.min;
	case FIGURE_MEAN: return e->dist.count ? e->dist.total / e->dist.count : 0;
	case FIGURE_MAX: return e->dist.max;
	default: return dist_percentile(&e->dist, per_mille[f]);
	}
}

/* Would further values leave the answer unchanged, whatever they are? Counts, totals and maxima can only grow. */
static bool is_final(const struct rule *r, bool good)
{
	bool grows =
		r->figure == FIGURE_COUNT || r->figure == FIGURE_TOTAL || r->figure == FIGURE_MAX;
	bool upper = r->op == COMPARE_LT || r->op == COMPARE_LE;
	bool lower = r->op == COMPARE_GT || r->op == COMPARE_GE;

	if (grows)
		return good ? lower : upper;
	if (r->figure == FIGURE_MIN)
		return good ? upper : lower;
	return false;
}

static void judge_figure(struct judge *j, const struct rule *r, struct evidence *e, bool lost,
			 struct judgement *o)
{
	static const char *const names[FIGURES] = {"count", "total", "min",   "mean", "p50",
						   "p90",   "p99",   "p99.9", "max"};
	uint64_t v = figure_of(e, r->figure);
	bool time = r->figure != FIGURE_COUNT, good;
	uint64_t event = r->figure == FIGURE_COUNT ? MODEL_NO_EVENT : e->longest_event;

	if (r->figure == FIGURE_MAX && e->longest > v)
		v = e->longest; /* one that began before the trace, or goes on after it, lasts at least that long */
	if (time && !e->dist.count && !e->longest) {
		say(o, VERDICT_INCONCLUSIVE, MODEL_NO_EVENT, "there is no such span in the trace");
		return;
	}
	good = holds(r->op, v, r->amount);
	if (time)
		say(o, good ? VERDICT_OK : VERDICT_FAILED, good ? MODEL_NO_EVENT : event,
		    "%s is %s of %" PRIu64, names[r->figure], amount(j->source, v), e->dist.count);
	else
		say(o, good ? VERDICT_OK : VERDICT_FAILED, MODEL_NO_EVENT, "count is %" PRIu64, v);
	if ((lost || e->cut) && !is_final(r, good))
		o->verdict = VERDICT_INCONCLUSIVE;
}

static void judge_every(struct judge *j, const struct rule *r, struct evidence *e, bool lost,
			struct judgement *o)
{
	uint64_t too_long = e->dist.count && e->dist.max > r->amount ? e->dist.max : 0;

	if (too_long || e->longest > r->amount)
		say(o, VERDICT_FAILED, e->longest_event, "one took %s%s",
		    too_long ? "" : "at least ", amount(j->source, e->longest));
	else if (e->cut || lost)
		say(o, VERDICT_INCONCLUSIVE, MODEL_NO_EVENT,
		    "%" PRIu64 " ended in time, events were lost", e->dist.count);
	else if (!e->dist.count && !e->open)
		say(o, VERDICT_OK, MODEL_NO_EVENT, "there is none");
	else
		say(o, VERDICT_OK, MODEL_NO_EVENT, "%" PRIu64 " ended in time%s", e->dist.count,
		    e->open ? ", the trace ends inside the last" : "");
}

static int by_pid_and_time(const void *x, const void *y)
{
	const struct interval *a = x, *b = y;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

static bool is_inside(const struct evidence *e, const struct event *event)
{
	size_t low = 0, high = e->nr_inside;

	while (low < high) { /* the last that begins before it */
		size_t mid = (low + high) / 2;
		const struct interval *i = &e->inside[mid];

		if (i->pid < event->pid || (i->pid == event->pid && i->from <= event->time))
			low = mid + 1;
		else
			high = mid;
	}
	return low && e->inside[low - 1].pid == event->pid && event->time <= e->inside[low - 1].to;
}

/* An interrupt has the pid of the task that it interrupts, so it is inside what that task is in. */
static int judge_never(struct judge *j, const struct scan_choice *c, const struct rule *r,
		       struct evidence *e, bool lost, struct judgement *o)
{
	const struct schema *k = source_schema_named(j->source, r->event);
	struct scan_options so = {.numbered = true};
	struct scan_choice only = *c;
	const struct event *event;
	uint64_t nr = 0, first = MODEL_NO_EVENT;
	struct scan *sc;

	only.types = &k->id;
	only.nr_types = 1;
	sc = scan_open(j->source, &only, &so);
	if (!sc)
		return -ENOMEM;
	qsort(e->inside, e->nr_inside, sizeof(*e->inside), by_pid_and_time);
	while ((event = scan_next(sc)))
		if (e->nr_inside && is_inside(e, event) && !nr++)
			first = scan_number(sc);
	scan_close(sc);
	if (nr)
		say(o, VERDICT_FAILED, first, "%" PRIu64 " inside", nr);
	else
		say(o, lost || e->cut ? VERDICT_INCONCLUSIVE : VERDICT_OK, MODEL_NO_EVENT,
		    "none inside %zu spans", e->nr_inside);
	return 0;
}

static int judge_count(struct judge *j, const struct scan_choice *c, const struct rule *r,
		       bool lost, struct judgement *o)
{
	struct scan_choice only = *c;
	uint64_t n;
	bool good;

	only.filter = r->filter;
	if (!scan_count(j->source, &only, NULL, &n))
		return -ENOMEM;
	good = holds(r->op, n, r->amount);
	say(o, good ? VERDICT_OK : VERDICT_FAILED, MODEL_NO_EVENT, "there are %" PRIu64, n);
	/* Lost events can only add to it. */
	if (lost && !(good ? r->op == COMPARE_GT || r->op == COMPARE_GE
			   : r->op == COMPARE_LT || r->op == COMPARE_LE))
		o->verdict = VERDICT_INCONCLUSIVE;
	return 0;
}

static void judge_loss(struct judge *j, const struct rule *r, const struct account *a,
		       struct judgement *o)
{
	struct scan_choice window = SCAN_ALL;
	uint64_t calls, lost = 0, i, nr;
	const struct losses *l = model_losses(j->model, &calls);
	bool unknown = false;

	if (r->from)
		scan_window(j->source, r->from, r->to, &window);
	for (i = 0, nr = losses_nr(l); i < nr; i++) {
		const struct loss *g = losses_at(l, i);

		if (g->to < window.from || g->from > window.to)
			continue;
		if (g->lost == UINT64_MAX)
			unknown = true;
		else
			lost += g->lost;
	}
	if (lost || unknown)
		say(o, VERDICT_FAILED, MODEL_NO_EVENT,
		    unknown ? "at least %" PRIu64 " events were lost"
			    : "%" PRIu64 " events were lost",
		    lost + unknown);
	else if (!r->from && account_lost(a))
		say(o, VERDICT_FAILED, MODEL_NO_EVENT, "%" PRIu64 " events were lost", a->lost.n);
	else if (a->lost.more || a->unplaced || a->unplaced_unknown)
		say(o, VERDICT_INCONCLUSIVE, MODEL_NO_EVENT,
		    "the trace does not say where events were lost");
	else
		say(o, VERDICT_OK, MODEL_NO_EVENT, "nothing was lost");
}

static int judge_all(struct judge *j, const struct scan_choice *c, const struct account *a,
		     struct judgement *out)
{
	bool lost = account_lost(a);
	uint32_t i;
	int err = 0;

	for (i = 0; i < j->rules->nr && !err; i++) {
		const struct rule *r = &j->rules->v[i];
		struct evidence *e = &j->evidence[i];

		switch (r->kind) {
		case RULE_FIGURE: judge_figure(j, r, e, lost, &out[i]); break;
		case RULE_EVERY: judge_every(j, r, e, lost, &out[i]); break;
		case RULE_NEVER: err = judge_never(j, c, r, e, lost, &out[i]); break;
		case RULE_COUNT: err = judge_count(j, c, r, lost, &out[i]); break;
		case RULE_NO_LOSS: judge_loss(j, r, a, &out[i]); break;
		}
	}
	return err;
}

static bool pair_texts(struct judge *j)
{
	uint32_t i;

	j->pair_texts = calloc(j->rules->nr_pairs + 1, sizeof(*j->pair_texts));
	for (i = 0; j->pair_texts && i < j->rules->nr_pairs; i++)
		if (asprintf(&j->pair_texts[i], "%s=%s%s%s", j->rules->pairs[i].begin,
			     j->rules->pairs[i].end, j->rules->pairs[i].key ? ":" : "",
			     j->rules->pairs[i].key ? j->rules->pairs[i].key : "") < 0)
			return false;
	return j->pair_texts;
}

int rules_judge(struct source *s, const struct scan_choice *c, const struct rules *r,
		struct judgement *out)
{
	struct judge j = {.source = s, .rules = r, .evidence = calloc(r->nr, sizeof(*j.evidence))};
	struct model_sink sink = {.arg = &j, .span = gather};
	struct model_walk w = {
		.choice = c, .pairs = r->pairs, .nr_pairs = r->nr_pairs, .numbered = true};
	struct account a;
	uint32_t i;
	int err = !rules_known(s, r)		 ? -EINVAL
		  : j.evidence && pair_texts(&j) ? model_walk(s, &w, &sink, &j.model)
						 : -ENOMEM;

	if (!err && j.failed)
		err = -ENOMEM;
	if (!err)
		err = model_account(s, &w, j.model, &a);
	if (!err) {
		err = judge_all(&j, c, &a, out);
		account_free(&a);
	}
	model_free(j.model);
	for (i = 0; j.evidence && i < r->nr; i++) {
		dist_free(&j.evidence[i].dist);
		free(j.evidence[i].inside);
	}
	for (i = 0; j.pair_texts && i < r->nr_pairs; i++)
		free(j.pair_texts[i]);
	free(j.pair_texts);
	free(j.evidence);
	return err;
}
