/* SPDX-License-Identifier: MIT */
/* profile_print.c -- a profile as tables, and as JSON. */
#include "base/diag.h"
#include "view/amount.h"
#include "view/profile_int.h"

#include <inttypes.h>
#include <string.h>

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static uint64_t window(const struct profile *p)
{
	return model_finish(p->model) - model_start(p->model);
}

static size_t shown(const struct profile *p, size_t nr)
{
	return p->o->top && nr > p->o->top ? (size_t)p->o->top : nr;
}

static void more(const struct profile *p, size_t nr, FILE *out)
{
	if (shown(p, nr) < nr)
		fprintf(out, "%12s and %s more (--top 0 shows all)\n", "",
			thousands(nr - shown(p, nr)));
}

static const char *name_of(struct profile *p, uint64_t addr)
{
	return addr ? model_function(p->model, addr) : "-";
}

/* ---- text ---- */

static void put_functions(struct profile *p, FILE *out)
{
	fprintf(out, "%s%10s %12s %12s %12s %12s %12s %12s  function%s\n", p->o->bold, "calls",
		"total", "self", "min", "mean", "p99", "max", p->o->plain);
	for (size_t i = 0; i < shown(p, p->functions.nr); i++) {
		const struct profile_function *f = p->functions.v[i];

		fprintf(out, "%10s %12s %12s %12s %12s %12s %12s  %s\n", thousands(f->calls),
			amount(p->s, f->total), amount(p->s, f->self), amount(p->s, f->dist.min),
			amount(p->s, f->dist.total / f->calls), amount(p->s, f->p99),
			amount(p->s, f->dist.max), f->name);
	}
	more(p, p->functions.nr, out);
	if (p->open)
		fprintf(out, "%10s calls more have no end or no beginning in the window\n",
			thousands(p->open));
}

static void put_edges(struct profile *p, bool callers, FILE *out)
{
	fprintf(out, "\n%s%10s %12s  %s %s%s\n", p->o->bold, "calls", "total",
		callers ? "callers of" : "called by", p->o->function, p->o->plain);
	for (size_t i = 0; i < p->edges.nr; i++) {
		const struct profile_edge *e = p->edges.v[i];
		const char *here = name_of(p, callers ? e->callee : e->caller);

		if (!strcmp(here, p->o->function))
			fprintf(out, "%10s %12s  %s\n", thousands(e->calls), amount(p->s, e->total),
				name_of(p, callers ? e->caller : e->callee));
	}
}

static void put_tasks(struct profile *p, FILE *out)
{
	fprintf(out, "\n%s%12s %7s %12s %12s %12s %9s %10s  task%s\n", p->o->bold, "running", "%",
		"ready", "blocked", "not known", "switches", "migrations", p->o->plain);
	for (size_t i = 0; i < shown(p, p->tasks.nr); i++) {
		const struct profile_task *t = p->tasks.v[i];

		fprintf(out, "%12s %7.2f %12s %12s %12s %9s %10s  %s-%d\n",
			amount(p->s, t->time[SPAN_RUNNING]),
			share(t->time[SPAN_RUNNING], window(p)), amount(p->s, t->time[SPAN_READY]),
			amount(p->s, t->time[SPAN_BLOCKED]), amount(p->s, t->time[SPAN_LOST]),
			thousands(t->switches), thousands(t->migrations),
			model_comm(p->model, t->pid), t->pid);
	}
	more(p, p->tasks.nr, out);
}

static void put_cpus(struct profile *p, FILE *out)
{
	bool unseen = false;

	fprintf(out, "\n%s%12s %7s %12s %12s %12s %12s %9s  cpu%s\n", p->o->bold, "busy", "load %",
		"idle", "interrupts", "softirqs", "not known", "switches", p->o->plain);
	for (size_t i = 0; i < p->cpus.nr; i++) {
		const struct profile_cpu *c = p->cpus.v[i];

		char load[16] = "-";

		if (c->busy + c->idle)
			snprintf(load, sizeof(load), "%.2f", share(c->busy, c->busy + c->idle));
		fprintf(out, "%12s %7s %12s %12s %12s %12s %9s  %u%s\n", amount(p->s, c->busy),
			load, amount(p->s, c->idle), amount(p->s, c->irq), amount(p->s, c->softirq),
			amount(p->s, c->lost), thousands(c->switches), c->id,
			c->unseen ? " *" : "");
		unseen |= c->unseen;
	}
	if (unseen)
		fputs("           * no switches were recorded: who ran is not known\n", out);
}

static void put_irqs(struct profile *p, FILE *out)
{
	fprintf(out, "\n%s%10s %12s %12s %12s %7s  interrupt%s\n", p->o->bold, "count", "total",
		"mean", "max", "%", p->o->plain);
	for (size_t i = 0; i < shown(p, p->irqs.nr); i++) {
		const struct profile_irq *k = p->irqs.v[i];

		fprintf(out, "%10s %12s %12s %12s %7.2f  %s %s\n", thousands(k->count),
			amount(p->s, k->total), amount(p->s, k->total / k->count),
			amount(p->s, k->max), share(k->total, window(p)), span_kind_name(k->kind),
			model_name(p->model, k->name));
	}
	more(p, p->irqs.nr, out);
}

void profile_put_text(struct profile *p, const struct account *a, FILE *out)
{
	char lost[512];

	if (p->functions.nr)
		put_functions(p, out);
	if (p->o->function) {
		put_edges(p, true, out);
		put_edges(p, false, out);
	}
	if (p->tasks.nr)
		put_tasks(p, out);
	if (p->cpus.nr)
		put_cpus(p, out);
	if (p->irqs.nr)
		put_irqs(p, out);
	account_text(a, lost, sizeof(lost));
	fprintf(out, "\nwindow %s to %s; lost: %s\n", amount_time(p->s, model_start(p->model)),
		amount_time(p->s, model_finish(p->model)), lost);
}

/* ---- JSON ---- */

static void json_functions(struct profile *p, struct json *j)
{
	json_open(j, "functions", '[');
	for (size_t i = 0; i < p->functions.nr; i++) {
		const struct profile_function *f = p->functions.v[i];

		json_open(j, NULL, '{');
		json_str(j, "name", f->name);
		json_u64(j, "calls", f->calls);
		amount_json(j, p->s, "total", f->total);
		amount_json(j, p->s, "self", f->self);
		amount_json(j, p->s, "min", f->dist.min);
		amount_json(j, p->s, "mean", f->dist.total / f->calls);
		amount_json(j, p->s, "p99", f->p99);
		amount_json(j, p->s, "max", f->dist.max);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_edges(struct profile *p, struct json *j, const char *key, bool callers)
{
	json_open(j, key, '[');
	for (size_t i = 0; i < p->edges.nr; i++) {
		const struct profile_edge *e = p->edges.v[i];

		if (strcmp(name_of(p, callers ? e->callee : e->caller), p->o->function) != 0)
			continue;
		json_open(j, NULL, '{');
		json_str(j, "name", name_of(p, callers ? e->caller : e->callee));
		json_u64(j, "calls", e->calls);
		amount_json(j, p->s, "total", e->total);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_tasks(struct profile *p, struct json *j)
{
	json_open(j, "tasks", '[');
	for (size_t i = 0; i < p->tasks.nr; i++) {
		const struct profile_task *t = p->tasks.v[i];

		json_open(j, NULL, '{');
		json_s64(j, "pid", t->pid);
		json_str(j, "comm", model_comm(p->model, t->pid));
		amount_json(j, p->s, "running", t->time[SPAN_RUNNING]);
		amount_json(j, p->s, "ready", t->time[SPAN_READY]);
		amount_json(j, p->s, "blocked", t->time[SPAN_BLOCKED]);
		amount_json(j, p->s, "unknown", t->time[SPAN_LOST]);
		amount_json(j, p->s, "from", t->from);
		amount_json(j, p->s, "to", t->to);
		amount_json(j, p->s, "window", t->to - t->from);
		json_u64(j, "switches", t->switches);
		json_u64(j, "migrations", t->migrations);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_cpus(struct profile *p, struct json *j)
{
	json_open(j, "cpus", '[');
	for (size_t i = 0; i < p->cpus.nr; i++) {
		const struct profile_cpu *c = p->cpus.v[i];

		json_open(j, NULL, '{');
		json_u64(j, "cpu", c->id);
		amount_json(j, p->s, "busy", c->busy);
		amount_json(j, p->s, "idle", c->idle);
		amount_json(j, p->s, "irq", c->irq);
		amount_json(j, p->s, "softirq", c->softirq);
		amount_json(j, p->s, "unknown", c->lost);
		json_u64(j, "switches", c->switches);
		json_bool(j, "exact", !c->unseen);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_open(j, "interrupts", '[');
	for (size_t i = 0; i < p->irqs.nr; i++) {
		const struct profile_irq *k = p->irqs.v[i];

		json_open(j, NULL, '{');
		json_str(j, "kind", span_kind_name(k->kind));
		json_str(j, "name", model_name(p->model, k->name));
		json_u64(j, "count", k->count);
		amount_json(j, p->s, "total", k->total);
		amount_json(j, p->s, "max", k->max);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void profile_put_json(struct profile *p, const struct account *a, FILE *out)
{
	struct json j;

	json_init(&j, out, true);
	json_open(&j, NULL, '{');
	json_str(&j, "file", p->s->path);
	json_str(&j, "unit", p->s->unit == CLOCK_NS ? "ns" : "ticks");
	amount_json(&j, p->s, "from", model_start(p->model));
	amount_json(&j, p->s, "to", model_finish(p->model));
	amount_json(&j, p->s, "window", window(p));
	account_json(a, &j);
	json_u64(&j, "open_calls", p->open);
	json_functions(p, &j);
	if (p->o->function) {
		json_edges(p, &j, "callers", true);
		json_edges(p, &j, "callees", false);
	}
	json_tasks(p, &j);
	json_cpus(p, &j);
	json_close(&j, '}');
	json_end(&j);
}
