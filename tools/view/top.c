/* SPDX-License-Identifier: MIT */
/* top.c -- what a target does at the moment: tasks by CPU and wait, switches, interrupts, events, loss. */
#include "view/top.h"
#include "base/diag.h"
#include "base/idmap.h"
#include "base/terminal.h"
#include "base/vec.h"
#include "model/model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define STEP_EVENTS 100000u /* neither keys nor a signal wait longer */

/* What is counted of a task: time of each state, and how often it was switched to. */
enum sum {
	RUNNING,
	READY,
	BLOCKED,
	SWITCHES,
	SUMS,
};

/* Since the start: what has ended; with what goes on at the last turn and at the one before it. */
struct counted {
	uint64_t ended[SUMS], now[SUMS], before[SUMS];
};

struct top_task {
	int32_t pid;
	struct counted n;
};

/* Of all CPUs. */
enum total {
	EVENTS,
	SWITCHED,
	INTERRUPTS,
	INTERRUPT_TIME,
	LOST,
	IDLE,
	TOTALS,
};

struct top {
	struct follow *f;
	struct model *model;
	struct idmap by_pid; /* of struct top_task */
	struct top_task **list;
	size_t nr;
	uint64_t total[TOTALS], idle_now, now[TOTALS], before[TOTALS];
	uint64_t time, time_before; /* of the target, at the last two turns */
	uint32_t nr_cpus;
	bool lost_unknown, peeks, failed;
};

static struct top_task *task_of(struct top *t, int32_t pid)
{
	struct top_task *k = idmap_find(&t->by_pid, (uint32_t)pid);
	void **at;

	if (k)
		return k;
	at = idmap_at(&t->by_pid, (uint32_t)pid);
	k = at && VEC_MORE(t->list, t->nr) ? calloc(1, sizeof(*k)) : NULL;
	if (!k) {
		t->failed = true;
		return NULL;
	}
	k->pid = pid;
	t->list[t->nr++] = *at = k;
	return k;
}

static void add_state(struct top *t, const struct span *s, enum sum what)
{
	struct top_task *k = s->pid > 0 ? task_of(t, s->pid) : NULL;
	uint64_t time = s->to - s->from;

	if (!k) {
		if (s->pid == 0 && what == RUNNING)
			*(t->peeks ? &t->idle_now : &t->total[IDLE]) += time;
		return;
	}
	(t->peeks ? k->n.now : k->n.ended)[what] += time;
	if (what == RUNNING && !t->peeks)
		k->n.ended[SWITCHES]++;
}

static void take_span(void *arg, const struct span *s)
{
	struct top *t = arg;

	switch (s->kind) {
	case SPAN_RUNNING:
		t->total[SWITCHED] += !t->peeks;
		add_state(t, s, RUNNING);
		break;
	case SPAN_READY: add_state(t, s, READY); break;
	case SPAN_BLOCKED: add_state(t, s, BLOCKED); break;
	case SPAN_IRQ:
	case SPAN_SOFTIRQ:
		t->total[INTERRUPTS]++;
		t->total[INTERRUPT_TIME] += s->depth ? 0 : s->to - s->from;
		break;
	default: break;
	}
}

int top_step(struct top *t)
{
	const struct event *e = NULL;
	int err = follow_grow(t->f);

	for (uint32_t i = 0; !err && i < STEP_EVENTS && (e = follow_next(t->f)); i++) {
		t->total[EVENTS]++;
		if (e->lost == LOST_UNKNOWN)
			t->lost_unknown = true;
		else
			t->total[LOST] += e->lost;
		model_event(t->model, e, MODEL_NO_EVENT, true);
	}
	return err ? err : t->failed || model_failed(t->model) ? -ENOMEM : e != NULL;
}

void top_turn(struct top *t)
{
	memcpy(t->before, t->now, sizeof(t->before));
	t->time_before = t->time ? t->time : model_start(t->model);
	t->time = model_finish(t->model);
	for (size_t i = 0; i < t->nr; i++) {
		memcpy(t->list[i]->n.before, t->list[i]->n.now, sizeof(t->list[i]->n.before));
		memset(t->list[i]->n.now, 0, sizeof(t->list[i]->n.now));
	}
	t->idle_now = 0;
	t->peeks = true;
	model_peek(t->model);
	t->peeks = false;
	memcpy(t->now, t->total, sizeof(t->now));
	t->now[IDLE] += t->idle_now;
	for (size_t i = 0; i < t->nr; i++)
		for (uint32_t k = 0; k < SUMS; k++)
			t->list[i]->n.now[k] += t->list[i]->n.ended[k];
}

/* ---- as text ---- */

static uint64_t since(const struct top_task *t, enum sum what)
{
	return t->n.now[what] > t->n.before[what] ? t->n.now[what] - t->n.before[what] : 0;
}

static enum top_order sorted_by;

static int by_order(const void *a, const void *b)
{
	static const enum sum keys[] = {RUNNING, READY, BLOCKED, SWITCHES};
	const struct top_task *x = *(struct top_task *const *)a, *y = *(struct top_task *const *)b;
	uint64_t m = sorted_by == TOP_PID ? 0 : since(x, keys[sorted_by]),
		 n = sorted_by == TOP_PID ? 0 : since(y, keys[sorted_by]);

	if (m != n)
		return m > n ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

static void print_head(const struct top *t, const char *state, FILE *out)
{
	uint64_t span = t->time - t->time_before, d[TOTALS];
	bool ns = follow_source(t->f)->unit == CLOCK_NS;
	double per = ns && span ? 1e9 / (double)span : 0;

	for (uint32_t i = 0; i < TOTALS; i++)
		d[i] = t->now[i] > t->before[i] ? t->now[i] - t->before[i] : 0;
	if (ns)
		fprintf(out, "%s; %.3f s of %.3f s\n", state, (double)span / 1e9,
			(double)(t->time - model_start(t->model)) / 1e9);
	else
		fprintf(out, "%s; %s of %s ticks\n", state, thousands(span),
			thousands(t->time - model_start(t->model)));
	fprintf(out,
		"events %.0f/s   switches %.0f/s   interrupts %.0f/s, %.1f %%   idle %.1f %% of %u "
		"CPUs\n",
		(double)d[EVENTS] * per, (double)d[SWITCHED] * per, (double)d[INTERRUPTS] * per,
		percent(d[INTERRUPT_TIME], span * t->nr_cpus), percent(d[IDLE], span * t->nr_cpus),
		t->nr_cpus);
	fprintf(out, "events so far %s   lost %s%s, %s of them now\n", thousands(t->now[EVENTS]),
		thousands(t->now[LOST]), t->lost_unknown ? " and more" : "", thousands(d[LOST]));
	fprintf(out, "%8s %7s %7s %8s %9s  %s\n", "pid", "CPU %", "ready %", "blocked %",
		"switches", "task");
}

void top_print(struct top *t, enum top_order order, const char *state, unsigned rows, FILE *out)
{
	uint64_t span = t->time - t->time_before;

	print_head(t, state, out);
	sorted_by = order;
	if (t->nr)
		qsort(t->list, t->nr, sizeof(struct top_task *), by_order);
	for (size_t i = 0, shown = TOP_HEAD; i < t->nr && shown < rows; i++) {
		const struct top_task *k = t->list[i];
		const char *comm = model_comm(t->model, k->pid);
		char safe[64 * TERMINAL_GROWTH + 1];

		if (!since(k, RUNNING) && !since(k, READY) && !since(k, BLOCKED))
			continue; /* it has ended, or nothing is known of it */
		safe[terminal_escape(safe, comm, strnlen(comm, 64))] = 0;
		fprintf(out, "%8d %7.1f %7.1f %9.1f %9" PRIu64 "  %s\n", k->pid,
			percent(since(k, RUNNING), span), percent(since(k, READY), span),
			percent(since(k, BLOCKED), span), since(k, SWITCHES), safe);
		shown++;
	}
}

struct top *top_new(struct follow *f)
{
	struct top *t = calloc(1, sizeof(*t));
	struct model_sink sink = {.arg = t, .span = take_span};
	struct model_options o = {.to = UINT64_MAX, .without = 1u << SPAN_CALL};

	if (!t)
		return NULL;
	t->f = f;
	t->nr_cpus = (uint32_t)follow_source(f)->nr_streams;
	t->model = model_new(follow_source(f), &o, &sink);
	if (t->model)
		return t;
	free(t);
	return NULL;
}

void top_free(struct top *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->nr; i++)
		free(t->list[i]);
	free(t->list);
	idmap_free(&t->by_pid);
	model_free(t->model);
	free(t);
}
