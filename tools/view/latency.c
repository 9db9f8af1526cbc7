/* SPDX-License-Identifier: MIT */
/* latency.c -- how long things took: each kind of span with its distribution and the worst of it. */
#include "view/latency.h"
#include "base/vec.h"
#include "base/diag.h"
#include "base/idmap.h"
#include "view/amount.h"
#include "view/dist.h"
#include "view/relay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Spans of one kind that have the same name, task, CPU or priority. */
struct group {
	struct dist dist; /* first: its first line is the one that is written to */
	uint64_t unsure;
	char *name;	   /* made at the end: a task may get another */
	struct span first; /* one of them */
};

struct kind {
	struct idmap by_key; /* of struct group */
	struct group **v;
	size_t nr, cap;
	struct span *worst; /* a heap, the shortest first, until it is sorted */
	uint32_t nr_worst;
	uint64_t unsure, cut, open, no_wake;
	struct dist all;
};

struct latency {
	struct source *s;
	const struct latency_options *o;
	struct model *model;
	struct dist_budget budget;
	struct relay *relay; /* kinds and budget belong to its thread until it ends */
	struct kind kinds[SPAN_KINDS];
	bool failed;
};

/* ---- what the model says ---- */

static bool has_names(enum span_kind k)
{
	return k != SPAN_RUNNING && k != SPAN_READY && k != SPAN_WAKEUP && k != SPAN_IPC &&
	       k != SPAN_IRQSOFF;
}

static uint64_t key_of(struct latency *l, const struct span *s)
{
	switch (l->o->by) {
	case LATENCY_BY_TASK: return 1 + (uint64_t)(uint32_t)s->pid;
	case LATENCY_BY_CPU: return 1 + (uint64_t)s->cpu;
	case LATENCY_BY_PRIO: return 1 + (uint64_t)(uint32_t)s->prio;
	default: break;
	}
	if (!has_names(s->kind))
		return 1;
	return s->kind == SPAN_CALL	 ? s->key
	       : s->kind == SPAN_BLOCKED ? 1 + (s->key & 0xff)
					 : 1 + (uint64_t)s->name;
}

static char *name_of(struct latency *l, const struct span *s)
{
	char *text = NULL;
	int n;

	switch (l->o->by) {
	case LATENCY_BY_TASK:
		n = s->pid < 0 ? asprintf(&text, "cpu")
			       : asprintf(&text, "%s-%d", model_comm(l->model, s->pid), s->pid);
		break;
	case LATENCY_BY_CPU: n = asprintf(&text, "cpu %u", s->cpu); break;
	case LATENCY_BY_PRIO:
		n = s->prio < 0 ? asprintf(&text, "prio ?") : asprintf(&text, "prio %d", s->prio);
		break;
	default:
		n = asprintf(&text, "%s", has_names(s->kind) ? model_span_name(l->model, s) : "");
		break;
	}
	return n < 0 ? NULL : text;
}

static struct group *group_of(struct latency *l, struct kind *k, const struct span *s)
{
	void **at = idmap_at(&k->by_key, key_of(l, s));
	struct group *g = at ? *at : NULL;

	if (g || !at)
		return g;
	if (!VEC_ROOM(k->v, k->nr, k->cap))
		return NULL;
	g = aligned_alloc(64, (sizeof(*g) + 63) & ~(size_t)63);
	if (g) {
		*g = (struct group){.first = *s};
		k->v[k->nr++] = *at = g;
	}
	return g;
}

static uint64_t time_of(const struct span *s)
{
	return s->to - s->from;
}

/* Keep the longest ones: the heap's first is the shortest of them. */
static void note_worst(struct latency *l, struct kind *k, const struct span *s)
{
	uint32_t i = 0;

	if (!l->o->worst || (k->nr_worst == l->o->worst && time_of(s) <= time_of(&k->worst[0])))
		return;
	if (!k->worst && !(k->worst = calloc(l->o->worst, sizeof(*k->worst)))) {
		l->failed = true;
		return;
	}
	if (k->nr_worst < l->o->worst) {
		for (i = k->nr_worst++; i && time_of(&k->worst[(i - 1) / 2]) > time_of(s);
		     i = (i - 1) / 2)
			k->worst[i] = k->worst[(i - 1) / 2];
		k->worst[i] = *s;
		return;
	}
	for (uint32_t c; (c = 2 * i + 1) < k->nr_worst; i = c) {
		if (c + 1 < k->nr_worst && time_of(&k->worst[c + 1]) < time_of(&k->worst[c]))
			c++;
		if (time_of(&k->worst[c]) >= time_of(s))
			break;
		k->worst[i] = k->worst[c];
	}
	k->worst[i] = *s;
}

static void thin(struct latency *l)
{
	for (int i = 0; i < SPAN_KINDS; i++)
		for (size_t g = 0; g < l->kinds[i].nr; g++)
			dist_thin(&l->kinds[i].v[g]->dist, &l->budget);
	l->budget.full = false;
}

static void take(void *arg, const void *item)
{
	const struct span *s = item;
	struct latency *l = arg;
	struct kind *k = &l->kinds[s->kind];
	struct group *g;

	if (!SPAN_WHOLE(s->flags)) {
		k->cut += (s->flags & SPAN_CUT) != 0;
		k->open += !(s->flags & (SPAN_CUT | SPAN_GUESS));
		return;
	}
	g = group_of(l, k, s);
	if (!g) {
		l->failed = true;
		return;
	}
	dist_add(&g->dist, &l->budget, time_of(s));
	g->unsure += (s->flags & SPAN_UNSURE) != 0;
	k->unsure += (s->flags & SPAN_UNSURE) != 0;
	k->no_wake += (s->flags & SPAN_NO_WAKE) != 0;
	note_worst(l, k, s);
	if (l->budget.full)
		thin(l);
}

static void span(void *arg, const struct span *s)
{
	struct latency *l = arg;

	if (!(l->o->kinds >> s->kind & 1) || !scan_cpu(l->o->walk.choice, s->cpu) ||
	    (s->kind == SPAN_RUNNING && !s->pid) || (s->kind == SPAN_CALL && !s->key))
		return;
	relay_put(l->relay, s);
}

/* ---- text ---- */

static const uint32_t per_mille[] = {500, 900, 990, 999};
static const char *const percentile_names[] = {"p50", "p90", "p99", "p99.9"};
static const char *const percentile_keys[] = {"p50", "p90", "p99", "p999"};

static void put_dist(const struct latency *l, const char *name, struct dist *d, const char *bold,
		     FILE *out)
{
	fprintf(out, "%s%-24s%s %10s %12s %12s %12s", bold, name, *bold ? l->o->plain : "",
		thousands(d->count), amount(l->s, d->total), amount(l->s, d->min),
		amount(l->s, d->total / d->count));
	for (int i = 0; i < 4; i++)
		fprintf(out, " %12s", amount(l->s, dist_percentile(d, per_mille[i])));
	fprintf(out, " %12s\n", amount(l->s, d->max));
}

static void put_histogram(const struct latency *l, const struct dist *d, FILE *out)
{
	uint64_t v[64], most = 1;
	int first = 63, last = 0;

	dist_histogram(d, v);
	for (int i = 0; i < 64; i++) {
		if (!v[i])
			continue;
		first = i < first ? i : first;
		last = i;
		most = v[i] > most ? v[i] : most;
	}
	for (int i = first; i <= last; i++) {
		int bar = (int)((double)v[i] * 40 / (double)most + 0.5);

		fprintf(out, "    %12s .. %12s %10s |%.*s%*s|\n", amount(l->s, i ? 1ull << i : 0),
			amount(l->s, (2ull << i) - 1), thousands(v[i]), bar,
			"########################################", 40 - bar, "");
	}
}

static const char *number_of(uint64_t event)
{
	return event == MODEL_NO_EVENT ? "?" : thousands(event);
}

static void put_worst(const struct latency *l, const struct kind *k, FILE *out)
{
	for (uint32_t i = 0; i < k->nr_worst; i++) {
		const struct span *s = &k->worst[i];
		char task[48] = "";

		if (s->pid >= 0)
			snprintf(task, sizeof(task), ", %s-%d", model_comm(l->model, s->pid),
				 s->pid);
		fprintf(out, "    %12s  at %s%s, cpu %u%s%s%s, events %s to %s\n",
			amount(l->s, time_of(s)), amount_time(l->s, s->from), task, s->cpu,
			has_names(s->kind) ? ", " : "",
			has_names(s->kind) ? model_span_name(l->model, s) : "",
			s->flags & SPAN_UNSURE ? ", at most: events were lost meanwhile" : "",
			number_of(s->begin), number_of(s->end));
	}
}

static void put_doubts(const struct latency *l, const struct kind *k, FILE *out)
{
	if (k->unsure)
		fprintf(out, "    %s of them are upper bounds: events were lost meanwhile\n",
			thousands(k->unsure));
	if (k->cut)
		fprintf(out, "    %s more began or ended unseen, and do not count\n",
			thousands(k->cut));
	if (k->open)
		fprintf(out,
			"    %s more are not in the window from beginning to end, and do not "
			"count\n",
			thousands(k->open));
	if (k->no_wake)
		fprintf(out,
			"    of %s the wakeup was not recorded: part of the time the task may have "
			"been ready\n",
			thousands(k->no_wake));
	if (k->all.step > 1)
		fprintf(out, "    percentiles use every %uth value: there are too many to keep\n",
			k->all.step);
	(void)l;
}

static int by_total(const void *a, const void *b)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;

	if (x->dist.total != y->dist.total)
		return x->dist.total < y->dist.total ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = time_of(a), y = time_of(b);

	return (x < y) - (x > y);
}

static bool is_grouped(const struct latency *l, int kind)
{
	return l->o->by != LATENCY_BY_KIND || has_names((enum span_kind)kind);
}

static void put_kind(struct latency *l, int i, FILE *out)
{
	struct kind *k = &l->kinds[i];
	size_t shown = l->o->top && k->nr > l->o->top ? l->o->top : k->nr;

	put_dist(l, span_kind_name((enum span_kind)i), &k->all, l->o->bold, out);
	for (size_t g = 0; is_grouped(l, i) && g < shown; g++) {
		char name[64];

		snprintf(name, sizeof(name), "  %.60s", k->v[g]->name);
		put_dist(l, name, &k->v[g]->dist, "", out);
	}
	if (is_grouped(l, i) && shown < k->nr)
		fprintf(out, "    and %s more (--top 0 shows all)\n", thousands(k->nr - shown));
	put_doubts(l, k, out);
	if (l->o->histogram)
		put_histogram(l, &k->all, out);
	put_worst(l, k, out);
}

static void put_text(struct latency *l, const struct account *a, FILE *out)
{
	char lost[512];

	fprintf(out, "%s%-24s %10s %12s %12s %12s", l->o->bold, "", "count", "total", "min",
		"mean");
	for (int i = 0; i < 4; i++)
		fprintf(out, " %12s", percentile_names[i]);
	fprintf(out, " %12s%s\n", "max", l->o->plain);
	for (int i = 0; i < SPAN_KINDS; i++)
		if (l->kinds[i].all.count || l->kinds[i].cut || l->kinds[i].open) {
			if (l->kinds[i].all.count)
				put_kind(l, i, out);
			else
				fprintf(out, "%-24s %10s\n", span_kind_name((enum span_kind)i),
					"0"),
					put_doubts(l, &l->kinds[i], out);
		}
	if (model_single_faults(l->model) && l->o->kinds >> SPAN_FAULT & 1)
		fprintf(out, "page faults without an end: %s\n",
			thousands(model_single_faults(l->model)));
	if (model_missed(l->model))
		fprintf(out, "missing switches: %s, where the trace reports no loss\n",
			thousands(model_missed(l->model)));
	account_text(a, lost, sizeof(lost));
	fprintf(out, "window %s to %s; lost: %s\n", amount_time(l->s, model_start(l->model)),
		amount_time(l->s, model_finish(l->model)), lost);
}

/* ---- JSON ---- */

static void json_dist(const struct latency *l, struct json *j, struct dist *d)
{
	json_u64(j, "count", d->count);
	if (!d->count)
		return;
	amount_json(j, l->s, "total", d->total);
	amount_json(j, l->s, "min", d->min);
	json_decimal(j, l->s->unit == CLOCK_NS ? "mean_ns" : "mean_ticks",
		     (double)d->total / (double)d->count, 3);
	for (int i = 0; i < 4; i++)
		amount_json(j, l->s, percentile_keys[i], dist_percentile(d, per_mille[i]));
	amount_json(j, l->s, "max", d->max);
	json_bool(j, "percentiles_are_exact", d->step <= 1);
}

static void json_worst(const struct latency *l, struct json *j, const struct kind *k)
{
	json_open(j, "worst", '[');
	for (uint32_t i = 0; i < k->nr_worst; i++) {
		const struct span *s = &k->worst[i];

		json_open(j, NULL, '{');
		amount_json(j, l->s, "time", time_of(s));
		amount_json(j, l->s, "from", s->from);
		amount_json(j, l->s, "to", s->to);
		if (s->pid >= 0) {
			json_s64(j, "pid", s->pid);
			json_str(j, "comm", model_comm(l->model, s->pid));
		}
		json_u64(j, "cpu", s->cpu);
		if (has_names(s->kind))
			json_str(j, "name", model_span_name(l->model, s));
		if (s->begin != MODEL_NO_EVENT)
			json_u64(j, "begin", s->begin);
		if (s->end != MODEL_NO_EVENT)
			json_u64(j, "end", s->end);
		json_bool(j, "exact", !(s->flags & SPAN_UNSURE));
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_kind(struct latency *l, struct json *j, int i)
{
	struct kind *k = &l->kinds[i];

	json_open(j, NULL, '{');
	json_str(j, "kind", span_kind_name((enum span_kind)i));
	json_dist(l, j, &k->all);
	json_u64(j, "upper_bounds", k->unsure);
	json_u64(j, "cut", k->cut);
	json_u64(j, "open", k->open);
	json_u64(j, "without_wakeup", k->no_wake);
	json_worst(l, j, k);
	if (l->o->histogram && k->all.count) {
		uint64_t v[64];

		dist_histogram(&k->all, v);
		json_open(j, "histogram", '[');
		for (int b = 0; b < 64; b++)
			if (v[b]) {
				json_open(j, NULL, '{');
				amount_json(j, l->s, "from", b ? 1ull << b : 0);
				json_u64(j, "count", v[b]);
				json_close(j, '}');
			}
		json_close(j, ']');
	}
	if (is_grouped(l, i)) {
		json_open(j, "groups", '[');
		for (size_t g = 0; g < k->nr; g++) {
			json_open(j, NULL, '{');
			json_str(j, "name", k->v[g]->name);
			json_dist(l, j, &k->v[g]->dist);
			json_u64(j, "upper_bounds", k->v[g]->unsure);
			json_close(j, '}');
		}
		json_close(j, ']');
	}
	json_close(j, '}');
}

static void put_json(struct latency *l, const struct account *a, FILE *out)
{
	struct json j;

	json_init(&j, out, true);
	json_open(&j, NULL, '{');
	json_str(&j, "file", l->s->path);
	json_str(&j, "unit", l->s->unit == CLOCK_NS ? "ns" : "ticks");
	amount_json(&j, l->s, "from", model_start(l->model));
	amount_json(&j, l->s, "to", model_finish(l->model));
	account_json(a, &j);
	json_u64(&j, "missing_switches", model_missed(l->model));
	json_u64(&j, "page_faults_without_end", model_single_faults(l->model));
	json_open(&j, "kinds", '[');
	for (int i = 0; i < SPAN_KINDS; i++)
		if (l->kinds[i].all.count || l->kinds[i].cut || l->kinds[i].open)
			json_kind(l, &j, i);
	json_close(&j, ']');
	json_close(&j, '}');
	json_end(&j);
}

/* ---- all of it ---- */

/* The whole of a kind from its groups; the one group there is needs no copy. 0, -ENODATA or -ENOMEM. */
static int sum_up(struct latency *l)
{
	bool any = false;

	for (int i = 0; i < SPAN_KINDS; i++) {
		struct kind *k = &l->kinds[i];

		for (size_t g = 0; g < k->nr; g++)
			if (!(k->v[g]->name = name_of(l, &k->v[g]->first)))
				return -ENOMEM;
		if (k->nr)
			qsort(k->v, k->nr, sizeof(struct group *), by_total);
		if (k->nr_worst)
			qsort(k->worst, k->nr_worst, sizeof(*k->worst), by_time);
		if (k->nr == 1) {
			dist_settle(&k->v[0]->dist);
			k->all = k->v[0]->dist;
		}
		for (size_t g = 0; k->nr > 1 && g < k->nr; g++)
			dist_join(&k->all, &k->v[g]->dist);
		any |= k->nr || k->cut || k->open;
	}
	return any ? 0 : -ENODATA;
}

static void free_kinds(struct latency *l)
{
	for (int i = 0; i < SPAN_KINDS; i++) {
		struct kind *k = &l->kinds[i];

		if (k->nr > 1)
			dist_free(&k->all);
		for (size_t g = 0; g < k->nr; g++) {
			dist_free(&k->v[g]->dist);
			free(k->v[g]->name);
			free(k->v[g]);
		}
		free(k->v);
		free(k->worst);
		idmap_free(&k->by_key);
	}
}

int latency_print(struct source *s, const struct latency_options *o, FILE *out)
{
	struct latency *l = calloc(1, sizeof(*l));
	struct model_sink sink = {.arg = l, .span = span};
	struct account a;
	int err;

	if (!l)
		return -ENOMEM;
	l->s = s;
	l->o = o;
	l->relay = relay_new(sizeof(struct span), take, l);
	err = l->relay ? model_walk(s, &o->walk, &sink, &l->model) : -ENOMEM;
	relay_end(l->relay);
	if (!err && l->failed)
		err = -ENOMEM;
	if (!err)
		err = model_account(s, &o->walk, l->model, &a);
	if (!err) {
		err = sum_up(l);
		if (o->json && err != -ENOMEM)
			put_json(l, &a, out);
		else if (!err)
			put_text(l, &a, out);
		account_free(&a);
	}
	free_kinds(l);
	model_free(l->model);
	free(l);
	return err;
}
