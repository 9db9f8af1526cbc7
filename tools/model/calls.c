/* SPDX-License-Identifier: MIT */
/* calls.c -- calls of functions: entries and returns of function_graph, on one stack per task or per CPU. */
#include "model/parts.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/*
 * A return carries its own times, so it is right even if its entry was lost. What is not known is the name of a call whose
 * return has not come: frames of which only callees were seen have func 0 until their return, or their entry, names them.
 * The latter happens: Linux takes a call's depth first, then its time, and writes its entry last. The calls of an interrupt
 * in between are written before, one deeper. If they began after the call's time, they are inside it, and its time holds
 * theirs; if not, they are beside it, in the time of its caller. Only the return shows which.
 *
 * The same at the end: Linux gives a call's depth back first, then takes the time, and writes the return last. The calls of an
 * interrupt in between have the depth of the call that is about to return: it waits, pending, until its return comes.
 *
 * Fathom writes the return first, and gives the depth back after it: the calls of an interrupt in between are one deeper than the
 * calls that are open. Neither entry nor return comes for the frame between, so there was none, unless events were lost.
 */
#define DEPTH_MAX   4096u
#define LATE_NS	    100000 /* a return's record may come so much later than the time in it */
#define LATE_WINDOW 64

void calls_free(struct model_stack *k)
{
	if (k)
		free(k->v);
	free(k);
}

/* The idle tasks all have pid 0: each CPU has its own. */
static struct model_stack *stack_of(struct model *m, struct cpu *c, const struct event *e)
{
	struct task *t = m->s->cpu_stacks ? NULL : model_task(m, c, e->pid);
	struct model_stack **at = t ? &t->calls : &c->calls;

	if (!t && !m->s->cpu_stacks)
		return NULL;
	if (!*at)
		*at = calloc(1, sizeof(**at));
	m->failed |= !*at;
	if (*at) {
		(*at)->pid = e->pid;
		(*at)->cpu = c->id;
	}
	return *at;
}

static bool push(struct model *m, struct model_stack *k, uint64_t func, uint64_t from,
		 uint64_t event)
{
	if (!VEC_ROOM(k->v, k->nr, k->cap)) {
		m->failed = true;
		return false;
	}
	k->v[k->nr++] =
		(struct model_frame){.func = func, .from = from, .entered = from, .event = event};
	if (m->sink.enter && func != UINT64_MAX)
		m->sink.enter(m->sink.arg, k, false);
	return true;
}

static void give(struct model *m, struct model_stack *k, uint64_t from, uint64_t to, uint32_t flags)
{
	const struct model_frame *f = &k->v[k->nr - 1];
	uint64_t time = to > from ? to - from : 0;
	struct span s = {.kind = SPAN_CALL,
			 .flags = flags,
			 .from = from,
			 .to = to,
			 .pid = k->pid,
			 .cpu = k->cpu,
			 .prio = -1,
			 .depth = k->nr - 1,
			 .key = f->func,
			 .self = time > f->children ? time - f->children : 0,
			 .begin = f->event,
			 .end = m->number};

	m->stack = k;
	model_give(m, &s);
}

/* No call was made here: what it seems to have called was called by its caller. */
static void drop_none(struct model *m, struct model_stack *k, uint64_t now)
{
	const struct model_frame *f = &k->v[k->nr - 1];

	if (k->nr > 1)
		k->v[k->nr - 2].children += f->children;
	if (m->sink.enter)
		give(m, k, f->from, now, SPAN_NO_CALL);
}

/* Frames from `depth` on are over, and their returns were not seen: when they ended is not known. */
static void drop(struct model *m, struct model_stack *k, uint32_t depth, uint64_t now,
		 uint32_t flags)
{
	while (k->nr > depth) {
		const struct model_frame *f = &k->v[k->nr - 1];
		uint64_t cut;

		if (!f->func && f->entry_to_come && !model_lost(m, f->from, now, &cut))
			drop_none(m, k, now);
		else
			give(m, k, f->from, now, flags);
		k->nr--;
	}
}

static struct model_pending *waiting(struct model_stack *k)
{
	return k->nr_pending ? &k->pending[k->nr_pending - 1] : NULL;
}

/* The call that waits for its return comes back to its place. */
static bool resume(struct model *m, struct model_stack *k)
{
	struct model_pending *p = waiting(k);

	if (!p || k->nr != p->depth || !push(m, k, UINT64_MAX, 0, 0))
		return false;
	k->v[k->nr - 1] = p->frame;
	k->nr_pending--;
	return true;
}

/* Those that wait at `depth` or deeper are over without a return. */
static void drop_pending(struct model *m, struct model_stack *k, uint32_t depth, uint64_t now)
{
	while (k->nr_pending && waiting(k)->depth >= depth) {
		drop(m, k, waiting(k)->depth, now, SPAN_CUT);
		if (resume(m, k))
			drop(m, k, k->nr - 1, now, SPAN_CUT);
		else
			k->nr_pending--;
	}
}

/* Another call begins where this one is: it waits. */
static void suspend(struct model *m, struct model_stack *k, uint64_t now)
{
	if (k->nr_pending == MODEL_PENDING_MAX) {
		drop(m, k, k->nr - 1, now, SPAN_CUT);
		return;
	}
	k->nr--;
	k->pending[k->nr_pending++] = (struct model_pending){.frame = k->v[k->nr], .depth = k->nr};
}

/* A frame gets its name: what was added up until now is early. */
static void name_frame(struct model *m, struct model_stack *k, uint64_t func)
{
	struct model_frame *f = &k->v[k->nr - 1];

	f->func = func;
	f->early = f->children;
	f->early_from = f->from;
	f->early_inside = true;
	if (m->sink.enter)
		m->sink.enter(m->sink.arg, k, true);
}

static void entry(struct model *m, const struct role *r, struct cpu *c, const struct event *e)
{
	struct model_stack *k = stack_of(m, c, e);
	uint64_t func = row_get(&r->a, e), depth = row_get(&r->b, e), cut;

	if (!k || depth >= DEPTH_MAX)
		return;
	if (k->nr_pending && waiting(k)->depth > depth)
		drop_pending(m, k, (uint32_t)depth + 1, e->time);
	if (k->nr > depth + 1)
		drop(m, k, (uint32_t)depth + 1, e->time, SPAN_CUT);
	if (k->nr == depth + 1) {
		struct model_frame *f = &k->v[depth];

		if (!f->func && f->entry_to_come && !model_lost(m, f->from, e->time, &cut)) {
			name_frame(m, k, func);
			f->event = m->number;
			f->entered = e->time;
			return;
		}
		if (f->func && !model_lost(m, f->from, e->time, &cut))
			suspend(m, k, e->time);
		else
			drop(m, k, (uint32_t)depth, e->time, SPAN_CUT);
	}
	while (k->nr < depth) {
		if (!push(m, k, 0, e->time, MODEL_NO_EVENT))
			return;
		k->v[k->nr - 1].entry_to_come = true;
	}
	push(m, k, func, e->time, m->number);
}

/*
 * The fields may count by another clock than the records, or by a worse idea of its rate: then all returns are recorded late,
 * or early, by about the same. One that is late alone was interrupted. So: the least of the last ones.
 */
static int64_t clock_offset(struct model *m, int64_t late)
{
	if (!m->late_nr || late < m->late_now)
		m->late_now = late;
	if (!m->late_known || late < m->late)
		m->late = late;
	m->late_known = true;
	if (++m->late_nr == LATE_WINDOW) {
		m->late = m->late_now;
		m->late_nr = 0;
	}
	return m->late > LATE_NS || m->late < -LATE_NS ? m->late : 0;
}

/* The times of a return, on the clock of the records; false: when it was called is not known. */
static bool times(struct model *m, const struct role *r, const struct event *e,
		  const struct model_frame *f, bool seen, uint64_t *from, uint64_t *to)
{
	*from = row_get(&r->c, e);
	*to = row_get(&r->d, e);
	if (*from && *to >= *from) {
		bool same = seen && *from <= f->entered && f->entered - *from <= LATE_NS;
		int64_t shift = clock_offset(m, same ? 0 : (int64_t)(e->time - *to));

		*from += (uint64_t)shift;
		*to += (uint64_t)shift;
		return true;
	}
	*from = seen ? f->from : e->time;
	*to = e->time;
	return seen;
}

/* Calls that took this one's place while it waited: in its time, or in its caller's, to which they were added. */
static void settle_late(struct model_stack *k, struct model_frame *f, const struct model_pending *p,
			bool known, uint64_t to)
{
	if (!known || p->late_from >= to)
		return;
	f->children += p->late;
	f->early_inside = true;
	if (k->nr > 1 && k->v[k->nr - 2].children >= p->late)
		k->v[k->nr - 2].children -= p->late;
}

static void exited(struct model *m, const struct role *r, struct cpu *c, const struct event *e)
{
	struct model_stack *k = stack_of(m, c, e);
	uint64_t func = row_get(&r->a, e), depth = row_get(&r->b, e), overrun = row_get(&r->e, e),
		 from, to;
	struct model_pending *p, late = {0};
	struct model_frame *f;
	bool known, seen;

	if (!k || depth >= DEPTH_MAX)
		return;
	if (overrun > k->overrun) { /* a counter of the task, from before the trace on */
		m->calls_lost += k->counted ? overrun - k->overrun : 0;
		k->overrun = overrun;
	}
	k->counted = true;
	drop_pending(m, k, (uint32_t)depth + 1, e->time);
	drop(m, k, (uint32_t)depth + 1, e->time, SPAN_CUT);
	p = waiting(k);
	if (p && k->nr == depth && p->depth == depth && p->frame.func == func) {
		late = *p;
		resume(m, k);
	}
	while (k->nr <= depth)
		if (!push(m, k, 0, e->time, MODEL_NO_EVENT))
			return;
	f = &k->v[depth];
	seen = f->func == func;
	known = times(m, r, e, f, seen, &from, &to);
	if (f->func && (!seen || (known && from > f->entered && from - f->entered > LATE_NS))) {
		/* Another call, whose return was lost as this one's entry was. */
		drop(m, k, (uint32_t)depth, e->time, SPAN_CUT);
		push(m, k, func, from, MODEL_NO_EVENT);
		f = &k->v[depth];
	} else if (!f->func) {
		name_frame(m, k, func);
	}
	f->early_inside = f->early && known && from <= f->early_from;
	if (f->early && known && !f->early_inside) {
		f->children -= f->early;
		if (depth)
			k->v[depth - 1].children += f->early;
	}
	if (late.late)
		settle_late(k, f, &late, known, to);
	give(m, k, from, to, known ? 0 : SPAN_NO_TIME);
	p = waiting(k);
	if (p && p->depth == depth && known) {
		p->late_from = p->late ? p->late_from : from;
		p->late += to - from;
	}
	if (depth && known) {
		f = &k->v[depth - 1];
		f->children += to - from;
		if (f->from > from) /* a call begins before its callees */
			f->from = from;
	}
	k->nr = (uint32_t)depth;
}

/* seL4's kernel was left, or is entered again: its stack is empty, and what was called has ended without returning. */
static void kernel_left(struct model *m, const struct role *r, struct cpu *c, const struct event *e)
{
	(void)r;
	if (!c->calls || !m->s->cpu_stacks)
		return;
	while (c->calls->nr) {
		struct model_frame f = c->calls->v[c->calls->nr - 1];

		if (f.func)
			give(m, c->calls, f.from, e->time, 0);
		c->calls->nr--;
		if (c->calls->nr && f.func)
			c->calls->v[c->calls->nr - 1].children +=
				e->time > f.from ? e->time - f.from : 0;
	}
}

void calls_roles(struct model *m, const struct schema *k)
{
	bool is_entry = !strcmp(k->name, "funcgraph_entry") ||
			!strcmp(k->name, "fgraph_retaddr_entry"),
	     is_exit = !strcmp(k->name, "funcgraph_exit");
	bool left = !strcmp(k->system, "sel4") && !strcmp(k->name, "kernel_exit");
	struct role *r = (is_entry || is_exit || left) && model_wants(m, SPAN_CALL)
				 ? model_add_role(m, k->id)
				 : NULL;

	if (!r)
		return;
	r->take = is_entry ? entry : is_exit ? exited : kernel_left;
	r->is_mark = left;
	r->a = row_number_of(m->s, k->id, "func");
	r->b = row_number_of(m->s, k->id, "depth");
	r->c = row_number_of(m->s, k->id, "calltime");
	r->d = row_number_of(m->s, k->id, "rettime");
	r->e = row_number_of(m->s, k->id, "overrun");
}

static void end(struct model *m, struct model_stack *k, uint64_t now)
{
	if (k)
		drop_pending(m, k, 0, now);
	if (k)
		drop(m, k, 0, now, SPAN_NO_END);
}

/* Calls that have not returned, as if they did now; they stay open. */
static void peek(struct model *m, struct model_stack *k, uint64_t now)
{
	uint32_t nr = k ? k->nr : 0;

	for (; k && k->nr; k->nr--) {
		const struct model_frame *f = &k->v[k->nr - 1];

		if (f->func)
			give(m, k, f->from, now, SPAN_NO_END);
	}
	if (k)
		k->nr = nr;
}

/* Every stack of calls. */
static void each_stack(struct model *m,
		       void (*f)(struct model *m, struct model_stack *k, uint64_t now))
{
	for (uint32_t i = 0; i < m->nr_cpus; i++) {
		struct cpu *c = &m->cpus[i];
		uint64_t now = c->to < m->finish ? c->to : m->finish;

		f(m, c->calls, now);
		f(m, c->idle.calls, now);
	}
	for (size_t i = 0; i < m->tasks.cap; i++) {
		struct task *t = m->tasks.slots[i].value;

		if (t)
			f(m, t->calls, task_end(m, t));
	}
}

void calls_peek(struct model *m)
{
	each_stack(m, peek);
}

void calls_end(struct model *m)
{
	each_stack(m, end);
}
