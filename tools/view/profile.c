/* SPDX-License-Identifier: MIT */
/* profile.c -- where the time went: spans added up by function, task, CPU and interrupt. */
#include "view/profile_int.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The thing of the key, made if it is new: `bytes` of zeros, *fresh is then set. */
static void *thing_of(struct profile *p, struct profile_table *t, uint64_t key, size_t bytes,
		      bool *fresh)
{
	void **at = idmap_at(&t->by_key, key), *k = at ? *at : NULL;

	*fresh = false;
	if (k)
		return k;
	k = at && VEC_ROOM(t->v, t->nr, t->cap) ? calloc(1, bytes) : NULL;
	if (!k) {
		p->failed = true;
		return NULL;
	}
	*fresh = true;
	t->v[t->nr++] = *at = k;
	return k;
}

static uint64_t time_of(const struct span *s)
{
	return s->to - s->from;
}

/* ---- tasks and CPUs ---- */

static struct profile_cpu *cpu_of(struct profile *p, uint32_t id)
{
	bool fresh;
	struct profile_cpu *c = thing_of(p, &p->cpus, 1 + (uint64_t)id, sizeof(*c), &fresh);

	if (c)
		c->id = id;
	return c;
}

static void add_task(struct profile *p, const struct span *s)
{
	bool fresh;
	struct profile_task *t =
		s->pid > 0 ? thing_of(p, &p->tasks, (uint32_t)s->pid, sizeof(*t), &fresh) : NULL;

	if (!t)
		return;
	t->pid = s->pid;
	if (s->flags & SPAN_GUESS)
		t->unseen = true;
	else
		t->time[s->kind] += time_of(s);
	if (fresh || s->from < t->from)
		t->from = s->from;
	if (s->to > t->to)
		t->to = s->to;
	if (s->kind != SPAN_RUNNING || s->flags & SPAN_GUESS)
		return;
	t->switches += !(s->flags & SPAN_NO_BEGIN);
	t->migrations += t->ran && t->cpu != s->cpu;
	t->cpu = s->cpu;
	t->ran = true;
}

static void add_cpu(struct profile *p, const struct span *s)
{
	struct profile_cpu *c = cpu_of(p, s->cpu);

	if (!c)
		return;
	switch (s->kind) {
	case SPAN_RUNNING:
		if (s->flags & SPAN_GUESS) { /* whose events came: who ran between them? */
			c->unseen = true;
			break;
		}
		*(s->pid ? &c->busy : &c->idle) += time_of(s);
		c->switches += !(s->flags & SPAN_NO_BEGIN);
		break;
	case SPAN_IRQ: c->irq += time_of(s); break;
	case SPAN_SOFTIRQ: c->softirq += time_of(s); break;
	case SPAN_LOST: c->lost += s->pid < 0 ? time_of(s) : 0; break;
	default: break;
	}
}

static void add_irq(struct profile *p, const struct span *s)
{
	bool fresh;
	struct profile_irq *k =
		thing_of(p, &p->irqs, 1 + ((uint64_t)s->kind << 32 | s->name), sizeof(*k), &fresh);

	if (!k)
		return;
	k->kind = s->kind;
	k->name = s->name;
	k->count++;
	k->total += time_of(s);
	if (time_of(s) > k->max)
		k->max = time_of(s);
}

/* ---- functions ---- */

static struct profile_function *function_of(struct profile *p, uint64_t addr)
{
	bool fresh;
	struct profile_function *f = thing_of(p, &p->functions, addr, sizeof(*f), &fresh);

	if (f && fresh) {
		f->addr = addr;
		f->name = model_function(p->model, addr);
	}
	return f;
}

static void add_edge(struct profile *p, uint64_t caller, const struct span *s)
{
	/* Two addresses in one number: they are far from random, a product keeps them apart. */
	uint64_t key = caller * 0x9e3779b97f4a7c15ull ^ s->key;
	bool fresh;
	struct profile_edge *e = thing_of(p, &p->edges, key, sizeof(*e), &fresh);

	if (!e)
		return;
	e->caller = caller;
	e->callee = s->key;
	e->calls++;
	e->total += time_of(s);
}

static bool is_inside_itself(const struct model_stack *k)
{
	for (uint32_t i = 0; i + 1 < k->nr; i++)
		if (k->v[i].func == k->v[k->nr - 1].func)
			return true;
	return false;
}

static void thin(struct profile *p)
{
	for (size_t i = 0; i < p->functions.nr; i++)
		dist_thin(&((struct profile_function *)p->functions.v[i])->dist, &p->budget);
	p->budget.full = false;
}

static void add_call(struct profile *p, const struct span *s)
{
	const struct model_stack *k = model_stack(p->model);
	struct profile_function *f;

	if (!s->key)
		return;
	if (!SPAN_WHOLE(s->flags)) {
		p->open++;
		return;
	}
	f = function_of(p, s->key);
	if (!f)
		return;
	dist_add(&f->dist, &p->budget, time_of(s));
	f->calls++;
	f->self += s->self;
	f->total += is_inside_itself(k) ? 0 : time_of(s);
	if (p->o->function)
		add_edge(p, k->nr > 1 ? k->v[k->nr - 2].func : 0, s);
	if (p->budget.full)
		thin(p);
}

static void span(void *arg, const struct span *s)
{
	struct profile *p = arg;

	if (!scan_cpu(p->o->walk.choice, s->cpu))
		return;
	switch (s->kind) {
	case SPAN_CALL: add_call(p, s); break;
	case SPAN_RUNNING:
		add_cpu(p, s);
		add_task(p, s);
		break;
	case SPAN_READY:
	case SPAN_BLOCKED: add_task(p, s); break;
	case SPAN_LOST:
		add_cpu(p, s);
		add_task(p, s);
		break;
	case SPAN_IRQ:
	case SPAN_SOFTIRQ:
		add_cpu(p, s);
		if (SPAN_WHOLE(s->flags))
			add_irq(p, s);
		break;
	default: break;
	}
}

/* ---- the order ---- */

static uint64_t mean(const struct profile_function *f)
{
	return f->calls ? f->dist.total / f->calls : 0;
}

static uint64_t rank(const struct profile_function *f, enum profile_sort by)
{
	switch (by) {
	case PROFILE_TOTAL: return f->total;
	case PROFILE_CALLS: return f->calls;
	case PROFILE_MEAN: return mean(f);
	case PROFILE_P99: return f->p99;
	case PROFILE_MAX: return f->dist.max;
	case PROFILE_NAME: return 0;
	default: return f->self;
	}
}

static int by_rank(const void *a, const void *b, void *arg)
{
	const struct profile_function *x = *(void *const *)a, *y = *(void *const *)b;
	uint64_t p = rank(x, *(const enum profile_sort *)arg),
		 q = rank(y, *(const enum profile_sort *)arg);

	return p != q ? (p < q ? 1 : -1) : strcmp(x->name, y->name);
}

static int by_running(const void *a, const void *b)
{
	const struct profile_task *x = *(void *const *)a, *y = *(void *const *)b;

	if (x->time[SPAN_RUNNING] != y->time[SPAN_RUNNING])
		return x->time[SPAN_RUNNING] < y->time[SPAN_RUNNING] ? 1 : -1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int by_cpu(const void *a, const void *b)
{
	const struct profile_cpu *x = *(void *const *)a, *y = *(void *const *)b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int by_irq(const void *a, const void *b)
{
	const struct profile_irq *x = *(void *const *)a, *y = *(void *const *)b;

	return (x->total < y->total) - (x->total > y->total);
}

static int by_edge(const void *a, const void *b)
{
	const struct profile_edge *x = *(void *const *)a, *y = *(void *const *)b;

	return (x->total < y->total) - (x->total > y->total);
}

/* Without switches, all that nothing else says of a task or CPU is not known. */
static void add_unknown(struct profile *p)
{
	for (size_t i = 0; i < p->tasks.nr; i++) {
		struct profile_task *t = p->tasks.v[i];
		const uint64_t *time = t->time;

		if (t->unseen)
			t->time[SPAN_LOST] = t->to - t->from - time[SPAN_RUNNING] -
					     time[SPAN_READY] - time[SPAN_BLOCKED];
	}
	for (size_t i = 0; i < p->cpus.nr; i++) {
		struct profile_cpu *c = p->cpus.v[i];

		if (c->unseen)
			c->lost =
				model_finish(p->model) - model_start(p->model) - c->busy - c->idle;
	}
}

static void sort(struct profile *p)
{
	enum profile_sort by = p->o->sort;

	for (size_t i = 0; i < p->functions.nr; i++) {
		struct profile_function *f = p->functions.v[i];

		f->p99 = dist_percentile(&f->dist, 990);
	}
	if (p->functions.nr)
		qsort_r(p->functions.v, p->functions.nr, sizeof(void *), by_rank, &by);
	if (p->tasks.nr)
		qsort(p->tasks.v, p->tasks.nr, sizeof(void *), by_running);
	if (p->cpus.nr)
		qsort(p->cpus.v, p->cpus.nr, sizeof(void *), by_cpu);
	if (p->irqs.nr)
		qsort(p->irqs.v, p->irqs.nr, sizeof(void *), by_irq);
	if (p->edges.nr)
		qsort(p->edges.v, p->edges.nr, sizeof(void *), by_edge);
}

static void free_table(struct profile_table *t)
{
	for (size_t i = 0; i < t->nr; i++)
		free(t->v[i]);
	free(t->v);
	idmap_free(&t->by_key);
}

int profile_print(struct source *s, const struct profile_options *o, FILE *out)
{
	struct profile *p = calloc(1, sizeof(*p));
	struct model_sink sink = {.arg = p, .span = span};
	struct account a;
	int err;

	if (!p)
		return -ENOMEM;
	p->s = s;
	p->o = o;
	err = model_walk(s, &o->walk, &sink, &p->model);
	if (!err && p->failed)
		err = -ENOMEM;
	if (!err)
		err = model_account(s, &o->walk, p->model, &a);
	if (!err) {
		add_unknown(p);
		sort(p);
		if (o->json)
			profile_put_json(p, &a, out);
		else if (p->functions.nr || p->tasks.nr || p->cpus.nr || p->irqs.nr)
			profile_put_text(p, &a, out);
		else
			err = -ENODATA;
		account_free(&a);
	}
	for (size_t i = 0; i < p->functions.nr; i++)
		dist_free(&((struct profile_function *)p->functions.v[i])->dist);
	free_table(&p->functions);
	free_table(&p->edges);
	free_table(&p->tasks);
	free_table(&p->cpus);
	free_table(&p->irqs);
	model_free(p->model);
	free(p);
	return err;
}
