/* SPDX-License-Identifier: MIT */
/* compare.c -- two traces: what takes longer, what happens more often, what is only in one of them. */
#include "view/compare.h"
#include "base/vec.h"

#include "base/idmap.h"
#include "base/json.h"
#include "view/amount.h"
#include "view/dist.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum what {
	WHAT_TIME, /* how long one takes */
	WHAT_RATE, /* how often it happens */
};

#define WINDOWS 20 /* parts of a trace, whose counts show how evenly events come */

/* Spans of one kind and name, in both traces. */
struct compare_group {
	char *kind, *name;
	struct dist dist[2];
	uint64_t count[2]; /* of events, where there are no spans */
	uint64_t windows[2][WINDOWS];
	bool events;
};

struct finding {
	const struct compare_group *g;
	enum what what;
	double from, to; /* median, or per second */
	double p;
	bool differs;
};

struct compare {
	struct source *source[2];
	struct idmap ids; /* hash of kind and name */
	struct compare_group **groups;
	size_t nr, cap;
	struct dist_budget budget;
	struct model *model;
	int side;
	double seconds[2];
	bool lost[2], failed;
};

/* ---- gathering ---- */

static uint64_t hash(const char *kind, const char *name)
{
	uint64_t h = 0xcbf29ce484222325;

	for (; *kind; kind++)
		h = (h ^ (unsigned char)*kind) * 0x100000001b3;
	for (h *= 31; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3;
	return h;
}

static struct compare_group *group_at(struct compare *c, const char *kind, const char *name)
{
	void **at = idmap_at(&c->ids, hash(kind, name));
	struct compare_group *g = at ? *at : NULL;

	if (g)
		return g;
	g = at && VEC_ROOM(c->groups, c->nr, c->cap) ? calloc(1, sizeof(*g)) : NULL;
	if (!g || !(g->kind = strdup(kind)) || !(g->name = strdup(name))) {
		c->failed = true;
		free(g ? g->kind : NULL);
		free(g);
		return NULL;
	}
	*at = c->groups[c->nr++] = g;
	return g;
}

/* What a task does is named after the task, whatever its pid. */
static bool of_task(enum span_kind k)
{
	return k == SPAN_RUNNING || k == SPAN_READY || k == SPAN_BLOCKED || k == SPAN_WAKEUP;
}

static void gather(void *arg, const struct span *s)
{
	struct compare *c = arg;
	struct compare_group *g;
	size_t i;

	if (!SPAN_WHOLE(s->flags) || s->kind == SPAN_LOST || (of_task(s->kind) && !s->pid))
		return;
	g = group_at(c, span_kind_name(s->kind),
		     of_task(s->kind) ? model_comm(c->model, s->pid)
				      : model_span_name(c->model, s));
	if (g)
		dist_add(&g->dist[c->side], &c->budget,
			 s->kind == SPAN_CALL ? s->self : s->to - s->from);
	if (!c->budget.full)
		return;
	c->budget.full = false;
	for (i = 0; i < c->nr; i++) {
		dist_thin(&c->groups[i]->dist[0], &c->budget);
		dist_thin(&c->groups[i]->dist[1], &c->budget);
	}
}

static struct compare_group *group_of_type(struct compare *c, struct source *s, uint32_t type)
{
	const struct schema *k = source_schema(s, type);
	struct compare_group *g = k ? group_at(c, "event", k->name) : NULL;

	if (g)
		g->events = true;
	return g;
}

static int count_events(struct compare *c, struct source *s, const struct model_walk *w)
{
	struct scan_options o = {.order = SCAN_BY_STREAM, .no_index = w->no_index};
	struct scan *sc = scan_open(s, w->choice, &o);
	struct compare_group **by_type = calloc(SOURCE_ID_FAST, sizeof(*by_type));
	uint64_t from = model_start(c->model), length = model_finish(c->model) - from + 1;
	const struct event *e;

	while (sc && by_type && !c->failed && (e = scan_next(sc))) {
		struct compare_group **at = e->type < SOURCE_ID_FAST ? &by_type[e->type] : NULL;
		struct compare_group *g = at && *at ? *at : group_of_type(c, s, e->type);
		double part = (double)(e->time - from) / (double)length * WINDOWS;

		if (at)
			*at = g;
		if (!g)
			continue;
		g->count[c->side]++;
		g->windows[c->side][part < WINDOWS ? (int)part : WINDOWS - 1]++;
	}
	c->failed |= !sc || !by_type;
	free(by_type);
	scan_close(sc);
	return c->failed ? -ENOMEM : 0;
}

static int one_side(struct compare *c, const struct compare_options *o, int side)
{
	struct model_sink sink = {.arg = c, .span = gather};
	struct account a;
	int err;

	c->side = side;
	c->model = NULL;
	err = model_walk(c->source[side], &o->walk[side], &sink, &c->model);
	if (!err)
		err = model_account(c->source[side], &o->walk[side], c->model, &a);
	if (!err) {
		c->lost[side] = account_lost(&a);
		account_free(&a);
		c->seconds[side] = (double)(model_finish(c->model) - model_start(c->model)) / 1e9;
		err = count_events(c, c->source[side], &o->walk[side]);
	}
	if (c->model)
		model_free(c->model);
	return err;
}

/* ---- tests ---- */

struct ranked {
	uint64_t v;
	uint32_t side;
};

static int by_value(const void *x, const void *y)
{
	const struct ranked *a = x, *b = y;

	return a->v < b->v ? -1 : a->v > b->v;
}

static size_t values(const struct dist *d, uint32_t side, struct ranked *out)
{
	size_t i, n = 0;

	for (i = 0; i < d->nr_small; i++)
		out[n++] = (struct ranked){d->small[i], side};
	for (i = 0; i < d->nr_big; i++)
		out[n++] = (struct ranked){d->big[i], side};
	return n;
}

static double two_sided(double z)
{
	return erfc(fabs(z) / sqrt(2));
}

/* Mann-Whitney: how likely so different ranks are if both come from one distribution. Equal values share their ranks. */
static double rank_test(struct dist *a, struct dist *b)
{
	size_t n, m, i, k;
	struct ranked *all;
	double ranks = 0, ties = 0, total, mean, variance;

	dist_settle(a);
	dist_settle(b);
	n = a->nr_small + a->nr_big;
	m = b->nr_small + b->nr_big;
	total = (double)(n + m);
	all = n && m ? malloc((n + m) * sizeof(*all)) : NULL;
	if (!all)
		return 1;
	values(a, 0, all);
	values(b, 1, all + n);
	qsort(all, n + m, sizeof(*all), by_value);
	for (i = 0; i < n + m; i = k) {
		double same;

		for (k = i; k < n + m && all[k].v == all[i].v; k++)
			;
		same = (double)(k - i);
		ties += same * same * same - same;
		for (size_t j = i; j < k; j++)
			if (!all[j].side)
				ranks += (double)(i + k + 1) / 2; /* ranks count from 1 */
	}
	free(all);
	mean = (double)n * (total + 1) / 2;
	variance = (double)n * (double)m / 12 * (total + 1 - ties / (total * (total - 1)));
	return variance > 0 ? two_sided((ranks - mean) / sqrt(variance)) : 1;
}

/* How much more the counts of the parts vary than those of independent events: variance over mean, of both traces. */
static double dispersion(const struct compare_group *g)
{
	double sum = 0;

	for (int side = 0; side < 2; side++) {
		double mean = (double)g->count[side] / WINDOWS;

		for (int i = 0; mean > 0 && i < WINDOWS; i++) {
			double off = (double)g->windows[side][i] - mean;

			sum += off * off / mean;
		}
	}
	sum /= 2 * (WINDOWS - 1);
	return sum > 1 ? sum : 1;
}

/* Two counts over two times: are the rates the same? The dispersion is an estimate, so Student's t, as a normal (Wallace). */
static double rate_test(const struct compare_group *g, double ta, double tb)
{
	double a = (double)g->count[0], n = a + (double)g->count[1], dof = 2 * (WINDOWS - 1);
	double share, t;

	if (ta <= 0 || tb <= 0 || n < 1)
		return 1;
	share = ta / (ta + tb);
	t = (a - n * share) / sqrt(n * share * (1 - share) * dispersion(g));
	return two_sided((8 * dof + 1) / (8 * dof + 3) * sqrt(dof * log1p(t * t / dof)));
}

static int by_chance(const void *x, const void *y)
{
	const struct finding *a = x, *b = y;

	return a->p < b->p ? -1 : a->p > b->p;
}

/* Holm: the smallest must be below chance / all, the next below chance / (all - 1) ... */
static size_t decide(struct finding *f, size_t nr, const struct compare_options *o)
{
	size_t i, differs = 0;

	qsort(f, nr, sizeof(*f), by_chance);
	for (i = 0; i < nr && f[i].p <= o->chance / (double)(nr - i); i++) {
		double change = f[i].from ? fabs(f[i].to / f[i].from - 1) : 1;

		f[i].differs = change >= o->least;
		differs += f[i].differs;
	}
	return differs;
}

static size_t find(struct compare *c, struct finding *f)
{
	size_t i, nr = 0;

	for (i = 0; i < c->nr; i++) {
		struct compare_group *g = c->groups[i];
		uint64_t a = g->events ? g->count[0] : g->dist[0].count,
			 b = g->events ? g->count[1] : g->dist[1].count;

		if (g->events) /* spans follow from events: their number is not another finding */
			f[nr++] = (struct finding){
				.g = g,
				.what = WHAT_RATE,
				.from = c->seconds[0] > 0 ? (double)a / c->seconds[0] : 0,
				.to = c->seconds[1] > 0 ? (double)b / c->seconds[1] : 0,
				.p = rate_test(g, c->seconds[0], c->seconds[1])};
		else if (a >= 8 && b >= 8) /* of fewer, ranks say nothing */
			f[nr++] =
				(struct finding){.g = g,
						 .what = WHAT_TIME,
						 .from = (double)dist_percentile(&g->dist[0], 500),
						 .to = (double)dist_percentile(&g->dist[1], 500),
						 .p = rank_test(&g->dist[0], &g->dist[1])};
	}
	return nr;
}

/* ---- text ---- */

static void print_one(const struct compare *c, const struct finding *f, FILE *out)
{
	double change = f->from ? (f->to / f->from - 1) * 100 : INFINITY;

	fprintf(out, "%c %-10s %-28s ", f->differs ? '*' : ' ', f->g->kind, f->g->name);
	if (f->what == WHAT_RATE)
		fprintf(out, "%12.1f/s -> %12.1f/s ", f->from, f->to);
	else
		fprintf(out, "%14s -> %14s ", amount(c->source[0], (uint64_t)f->from),
			amount(c->source[1], (uint64_t)f->to));
	if (isfinite(change))
		fprintf(out, "%+8.1f %%", change);
	else
		fprintf(out, "%10s", "new");
	fprintf(out, "  p=%.2g\n", f->p);
}

static void print_json(const struct compare *c, const struct finding *f, size_t nr, size_t differs,
		       bool all, FILE *out)
{
	struct json j;
	size_t i;

	json_init(&j, out, true);
	json_open(&j, NULL, '{');
	json_str(&j, "a", c->source[0]->path);
	json_str(&j, "b", c->source[1]->path);
	json_u64(&j, "differences", differs);
	json_bool(&j, "lost", c->lost[0] || c->lost[1]);
	json_open(&j, "compared", '[');
	for (i = 0; i < nr; i++) {
		if (!f[i].differs && !all)
			continue;
		json_open(&j, NULL, '{');
		json_str(&j, "kind", f[i].g->kind);
		json_str(&j, "name", f[i].g->name);
		json_str(&j, "what", f[i].what == WHAT_RATE ? "rate" : "time");
		json_decimal(&j, f[i].what == WHAT_RATE ? "a_per_second" : "a_median", f[i].from,
			     3);
		json_decimal(&j, f[i].what == WHAT_RATE ? "b_per_second" : "b_median", f[i].to, 3);
		json_decimal(&j, "p", f[i].p, 9);
		json_bool(&j, "differs", f[i].differs);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	json_end(&j);
}

static void print(const struct compare *c, const struct finding *f, size_t nr, size_t differs,
		  const struct compare_options *o, FILE *out)
{
	size_t i;

	if (o->json) {
		print_json(c, f, nr, differs, o->all, out);
		return;
	}
	for (i = 0; i < nr; i++)
		if (f[i].differs || o->all)
			print_one(c, &f[i], out);
	if (differs)
		fprintf(out, "%zu of %zu comparisons differ\n", differs, nr);
	else
		fprintf(out, "no difference in %zu comparisons\n", nr);
	if (c->lost[0] || c->lost[1])
		fprintf(out, "events were lost in %s: rates are lower bounds\n",
			c->lost[0] && c->lost[1] ? "both" : c->source[c->lost[1]]->path);
}

static void compare_free(struct compare *c)
{
	size_t i;

	for (i = 0; i < c->nr; i++) {
		dist_free(&c->groups[i]->dist[0]);
		dist_free(&c->groups[i]->dist[1]);
		free(c->groups[i]->kind);
		free(c->groups[i]->name);
		free(c->groups[i]);
	}
	free(c->groups);
	idmap_free(&c->ids);
}

int compare_print(struct source *const s[2], const struct compare_options *o, FILE *out)
{
	struct compare c = {.source = {s[0], s[1]}};
	struct finding *f = NULL;
	size_t nr, differs = 0;
	int err = one_side(&c, o, 0);

	if (!err)
		err = one_side(&c, o, 1);
	if (!err && !c.failed)
		f = calloc(c.nr + 1, sizeof(*f));
	if (f) {
		nr = find(&c, f);
		differs = decide(f, nr, o);
		print(&c, f, nr, differs, o, out);
	} else if (!err) {
		err = -ENOMEM;
	}
	free(f);
	compare_free(&c);
	return err ? err : (int)(differs < 1000 ? differs : 1000);
}
