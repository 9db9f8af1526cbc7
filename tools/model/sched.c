/* SPDX-License-Identifier: MIT */
/* sched.c -- tasks that run, are ready or wait: from sched_switch and sched_wakeup, cut where events were lost. */
#include "model/parts.h"

#include <string.h>

#define STATE_SLEEP 0xffu /* bits of prev_state: what a task sleeps in */

static void learn_comm(struct task *t, const char *text, uint32_t n)
{
	if (!n || !t->pid)
		return;
	n = n < COMM_MAX ? n : COMM_MAX;
	memcpy(t->comm, text, n);
	t->comm[n] = 0;
}

static void give_lost(struct model *m, const struct task *t, uint64_t from, uint64_t to)
{
	struct span s = {.kind = SPAN_LOST,
			 .from = from,
			 .to = to,
			 .pid = t->pid,
			 .cpu = t->cpu,
			 .prio = t->prio,
			 .begin = MODEL_NO_EVENT,
			 .end = m->number};

	if (to > from)
		model_give(m, &s);
}

/* What the task did until now is a span: M1, M2. */
static void leave(struct model *m, struct task *t, uint64_t now, uint32_t flags)
{
	static const enum span_kind kinds[] = {[TASK_RUNNING] = SPAN_RUNNING,
					       [TASK_READY] = SPAN_READY,
					       [TASK_BLOCKED] = SPAN_BLOCKED};
	struct span s = {.from = t->since,
			 .to = now,
			 .pid = t->pid,
			 .cpu = t->cpu,
			 .prio = t->prio,
			 .key = t->why,
			 .flags = t->flags | flags,
			 .begin = t->event,
			 .end = m->number,
			 .by = t->waker,
			 .by_cpu = t->woken_cpu,
			 .by_flags = t->woken_flags,
			 .queue = t->queue};
	uint64_t cut;

	if (t->state == TASK_UNSEEN || t->state == TASK_GONE || now < t->since)
		return;
	if (t->state == TASK_LOST) {
		give_lost(m, t, t->since, now);
		return;
	}
	s.kind = kinds[t->state];
	if (t->state != TASK_RUNNING && model_lost(m, t->since, now, &cut)) {
		s.to = cut;
		s.flags = (s.flags & ~(uint32_t)SPAN_NO_END) | SPAN_CUT;
		s.end = MODEL_NO_EVENT;
		model_give(m, &s);
		give_lost(m, t, cut, now);
		return;
	}
	if (now > t->since || t->state == TASK_RUNNING)
		model_give(m, &s);
}

static void become(struct model *m, struct task *t, struct cpu *c, enum task_state state,
		   uint64_t now)
{
	/* What a CPU does not idle is not time of its idle task. */
	t->state = state == TASK_LOST && !t->pid ? TASK_GONE : state;
	t->since = now;
	t->event = m->number;
	t->flags = 0;
	t->cpu = t->queue = c->id;
	t->home = c;
}

/* Of a task that is seen for the first time: how it spent the window until now. */
static void first_seen(struct task *t, struct cpu *c, enum task_state state)
{
	if (t->state != TASK_UNSEEN)
		return;
	t->state = state;
	t->since = c->from;
	t->event = MODEL_NO_EVENT;
	t->flags = SPAN_NO_BEGIN;
	t->cpu = c->id;
}

/* Nobody is known to run on the CPU from `at` on. */
static void vacate(struct cpu *c, uint64_t at)
{
	c->running = NULL;
	c->unknown = at;
}

/* Up to now nobody was known to run here. */
static void give_vacant(struct model *m, const struct cpu *c, uint64_t now)
{
	struct span s = {.kind = SPAN_LOST,
			 .from = c->unknown,
			 .to = now,
			 .pid = -1,
			 .cpu = c->id,
			 .prio = -1,
			 .key = LOST_UNKNOWN,
			 .begin = MODEL_NO_EVENT,
			 .end = m->number};

	if (now > c->unknown)
		model_give(m, &s);
}

/* It is seen elsewhere though it was running there: that it left was lost, and is not reported yet. */
static void displace(struct model *m, struct cpu *c, struct task *t)
{
	struct cpu *old = t->home;
	uint64_t at = old->last > t->since ? old->last : t->since;

	if (old == c || old->running != t)
		return;
	leave(m, t, at, SPAN_CUT);
	become(m, t, old, TASK_LOST, at);
	vacate(old, at);
}

/* The task is found running on a CPU; since when is not known, or it is since the window began. */
static void found(struct model *m, struct cpu *c, struct task *t, uint64_t since)
{
	if (!t)
		return;
	if (t->state == TASK_UNSEEN && since > c->from)
		first_seen(t, c, TASK_LOST);
	displace(m, c, t);
	leave(m, t, since, t->state == TASK_RUNNING ? SPAN_CUT : 0);
	become(m, t, c, TASK_RUNNING, since);
	t->event = MODEL_NO_EVENT;
	t->flags = since > c->from ? SPAN_NO_BEGIN | SPAN_CUT : SPAN_NO_BEGIN;
	c->running = t;
	c->left = t->pid;
}

void sched_seen(struct model *m, struct cpu *c, const struct event *e)
{
	struct task *t = model_task(m, c, e->pid);

	if (c->switches) { /* the first event here: the task ran since the window began */
		if (!c->running)
			found(m, c, t, c->from);
		return;
	}
	if (!t || c->running == t)
		return;
	if (c->running) {
		leave(m, c->running, e->time, SPAN_GUESS);
		c->running->state = TASK_GONE;
	}
	become(m, t, c, TASK_RUNNING, e->time);
	t->flags = SPAN_GUESS;
	c->running = t;
}

/* It was switched to at some time since nobody was known to run here: until then it was ready or blocked. */
static void arrive(struct model *m, struct cpu *c, struct task *t, uint64_t now)
{
	give_vacant(m, c, now);
	if (t && (t->state == TASK_READY || t->state == TASK_BLOCKED)) {
		uint64_t at = c->unknown > t->since ? c->unknown : t->since;

		leave(m, t, at, SPAN_CUT);
		become(m, t, c, TASK_LOST, at);
	}
	if (t)
		t->is_woken = false;
	found(m, c, t, now);
}

void sched_resume(struct model *m, struct cpu *c, const struct event *e)
{
	arrive(m, c, model_task(m, c, e->pid), e->time);
}

/* It left the CPU at some time after its last event here, and that was not recorded. */
static void forget_running(struct model *m, struct cpu *c)
{
	struct task *t = c->running;
	uint64_t at = c->last > t->since ? c->last : t->since;

	m->missed++;
	leave(m, t, at, SPAN_CUT);
	become(m, t, c, TASK_LOST, at);
	vacate(c, at);
}

void sched_missed(struct model *m, struct cpu *c, const struct event *e)
{
	forget_running(m, c);
	sched_resume(m, c, e);
}

void sched_gap(struct model *m, struct cpu *c, uint64_t from, const struct event *e)
{
	struct task *t = c->running;

	if (t) {
		leave(m, t, from > t->since ? from : t->since,
		      SPAN_CUT | (c->switches ? 0 : SPAN_GUESS));
		become(m, t, c, c->switches ? TASK_LOST : TASK_GONE,
		       from > t->since ? from : t->since);
		c->running = NULL;
	} else if (c->switches && c->any) {
		give_vacant(m, c, from);
	}
	if (c->switches)
		found(m, c, model_task(m, c, e->pid), e->time);
	c->any = true;
}

/* ---- sched_switch ---- */

static void give_wakeup(struct model *m, struct cpu *c, struct task *t, uint64_t now)
{
	struct span s = {.kind = SPAN_WAKEUP,
			 .from = t->woken,
			 .to = now,
			 .pid = t->pid,
			 .cpu = c->id,
			 .prio = t->prio,
			 .begin = t->woken_event,
			 .end = m->number};
	struct edge g = {.kind = EDGE_WAKEUP,
			 .from_pid = t->waker,
			 .to_pid = t->pid,
			 .from_cpu = t->woken_cpu,
			 .to_cpu = c->id,
			 .from_time = t->woken,
			 .to_time = now,
			 .from_event = t->woken_event,
			 .to_event = m->number};
	uint64_t cut;

	t->is_woken = false;
	if (model_lost(m, t->woken, now, &cut))
		s.flags |= SPAN_UNSURE;
	model_give(m, &s);
	if (m->show && m->sink.edge)
		m->sink.edge(m->sink.arg, &g);
}

static void switch_from(struct model *m, struct cpu *c, struct task *t, uint64_t state,
			uint64_t now)
{
	if (c->running != t) { /* a switch was not seen, and no loss was reported */
		if (c->running)
			forget_running(m, c);
		arrive(m, c, t, now);
	}
	leave(m, t, now, 0);
	become(m, t, c, TASK_READY, now);
	t->why = state;
	c->left = t->pid;
	if (!t->pid)
		t->state = TASK_GONE;
	else if (state & STATE_DEAD)
		t->state = TASK_GONE;
	else if (state & STATE_SLEEP)
		t->state = TASK_BLOCKED;
	c->running = NULL;
}

static void switch_to(struct model *m, struct cpu *c, struct task *t, uint64_t now)
{
	first_seen(t, c, !t->pid ? TASK_UNSEEN : m->wakeups ? TASK_READY : TASK_LOST);
	displace(m, c, t);
	leave(m, t, now,
	      t->state == TASK_BLOCKED	 ? SPAN_NO_WAKE
	      : t->state == TASK_RUNNING ? SPAN_CUT
					 : 0);
	if (t->is_woken)
		give_wakeup(m, c, t, now);
	become(m, t, c, TASK_RUNNING, now);
	c->running = t;
}

/* The first switch of a trace of which nobody knew that it has any: what was guessed until now ends here. */
static void sched_begin(struct model *m, uint64_t now)
{
	for (uint32_t i = 0; i < m->nr_cpus; i++) {
		struct cpu *c = &m->cpus[i];

		if (c->running) {
			leave(m, c->running, now, SPAN_GUESS);
			c->running->state = TASK_UNSEEN;
			c->running = NULL;
		}
		c->switches = true;
		c->any = false;
		c->from = now;
	}
}

static void switched(struct model *m, const struct role *r, struct cpu *c, const struct event *e)
{
	struct task *prev = model_task(m, c, (int32_t)row_get(&r->a, e)),
		    *next = model_task(m, c, (int32_t)row_get(&r->b, e));
	const char *text;
	uint32_t n;

	if (!prev || !next)
		return;
	if (!c->switches)
		sched_begin(m, e->time);
	if (prev->pid)
		c->same_pids = prev->pid == e->pid;
	text = model_text(r, r->text, e, &n);
	learn_comm(prev, text, n);
	text = model_text(r, r->text2, e, &n);
	learn_comm(next, text, n);
	if (r->d.size)
		prev->prio = (int32_t)row_get(&r->d, e);
	switch_from(m, c, prev, row_get(&r->c, e), e->time);
	if (r->e.size)
		next->prio = (int32_t)row_get(&r->e, e);
	switch_to(m, c, next, e->time);
}

/* VeridianOS records both halves separately: the task that leaves the CPU, and the one that it takes. */
static void switched_in(struct model *m, const struct role *r, struct cpu *c, const struct event *e)
{
	struct task *t = model_task(m, c, (int32_t)row_get(&r->a, e));

	if (!t || t == c->running)
		return;
	if (c->running)
		switch_from(m, c, c->running, 0, e->time);
	switch_to(m, c, t, e->time);
}

/* ---- sched_wakeup ---- */

static void get_ready(struct model *m, const struct role *r, struct task *t, struct cpu *c,
		      const struct event *e)
{
	become(m, t, c, TASK_READY, e->time);
	t->queue = r->c.size ? (uint32_t)row_get(&r->c, e) : UINT32_MAX;
}

static void woken(struct model *m, const struct role *r, struct cpu *c, const struct event *e)
{
	struct task *t = model_task(m, c, (int32_t)row_get(&r->a, e));
	const char *text;
	uint32_t n;

	if (!t || !t->pid)
		return;
	text = model_text(r, r->text, e, &n);
	learn_comm(t, text, n);
	if (r->b.size)
		t->prio = (int32_t)row_get(&r->b, e);
	t->is_woken = true;
	t->woken = e->time;
	t->woken_event = m->number;
	t->woken_cpu = c->id;
	t->woken_flags = (uint32_t)row_get(&r->d, e);
	t->waker = e->pid;
	if (r->class) { /* it is new: before, there was nothing */
		if (t->state == TASK_UNSEEN || t->state == TASK_GONE)
			get_ready(m, r, t, c, e);
		return;
	}
	first_seen(t, c, TASK_BLOCKED);
	if (t->state != TASK_BLOCKED && t->state != TASK_LOST)
		return;
	leave(m, t, e->time, 0);
	get_ready(m, r, t, c, e);
}

static void migrated(struct model *m, const struct role *r, struct cpu *c, const struct event *e)
{
	struct edge g = {.kind = EDGE_MIGRATE,
			 .from_pid = (int32_t)row_get(&r->a, e),
			 .to_pid = (int32_t)row_get(&r->a, e),
			 .from_cpu = (uint32_t)row_get(&r->b, e),
			 .to_cpu = (uint32_t)row_get(&r->c, e),
			 .from_time = e->time,
			 .to_time = e->time,
			 .from_event = m->number,
			 .to_event = m->number};

	(void)c;
	if (m->show && m->sink.edge)
		m->sink.edge(m->sink.arg, &g);
}

/* A thread that execs takes the pid of its group's leader, which has died: it runs on under that. */
static void exec(struct model *m, const struct role *r, struct cpu *c, const struct event *e)
{
	struct task *t = model_task(m, c, (int32_t)row_get(&r->a, e)),
		    *old = model_task(m, c, (int32_t)row_get(&r->b, e));

	if (!t || !old || !r->b.size || t == old || c->running != old)
		return;
	leave(m, old, e->time, 0);
	old->state = TASK_GONE;
	if (t->state == TASK_UNSEEN)
		first_seen(t, c, TASK_LOST);
	leave(m, t, e->time, 0);
	become(m, t, c, TASK_RUNNING, e->time);
	c->running = t;
	c->left = old->pid;
}

static void named(struct model *m, const struct role *r, struct cpu *c, const struct event *e)
{
	struct task *t = model_task(m, c, (int32_t)row_get(&r->a, e));
	uint32_t n;
	const char *text = model_text(r, r->text, e, &n);

	if (t)
		learn_comm(t, text, n);
}

/* ---- roles ---- */

static const struct row_field *text_field(const struct role *r, const char *name)
{
	int i = r->type ? row_index(r->type, name) : -1;

	return i < 0 ? NULL : &r->type->fields[i];
}

static void add(struct model *m, const struct schema *k,
		void (*take)(struct model *, const struct role *, struct cpu *,
			     const struct event *),
		const char *const names[7])
{
	struct role *r = model_add_role(m, k->id);

	if (!r)
		return;
	r->take = take;
	r->is_mark = true;
	r->a = row_number_of(m->s, k->id, names[0]);
	r->b = row_number_of(m->s, k->id, names[1]);
	r->c = row_number_of(m->s, k->id, names[2]);
	r->d = row_number_of(m->s, k->id, names[3]);
	r->e = row_number_of(m->s, k->id, names[4]);
	r->text = text_field(r, names[5]);
	r->text2 = text_field(r, names[6]);
	r->class = !strcmp(k->name, "sched_wakeup_new");
	r->renames = take == exec;
}

void sched_roles(struct model *m, const struct schema *k)
{
	static const struct {
		const char *name;
		void (*take)(struct model *, const struct role *, struct cpu *,
			     const struct event *);
		const char *fields[7];
	} known[] = {
		{"sched_switch",
		 switched,
		 {"prev_pid", "next_pid", "prev_state", "prev_prio", "next_prio", "prev_comm",
		  "next_comm"}},
		{"sched_wakeup",
		 woken,
		 {"pid", "prio", "target_cpu", "common_flags", "", "comm", ""}},
		{"sched_wakeup_new",
		 woken,
		 {"pid", "prio", "target_cpu", "common_flags", "", "comm", ""}},
		{"sched_migrate_task", migrated, {"pid", "orig_cpu", "dest_cpu", "", "", "", ""}},
		{"sched_waking", named, {"pid", "", "", "", "", "comm", ""}},
		{"sched_stat_runtime", named, {"pid", "", "", "", "", "comm", ""}},
		{"sched_process_exit", named, {"pid", "", "", "", "", "comm", ""}},
		{"sched_process_fork", named, {"child_pid", "", "", "", "", "child_comm", ""}},
		{"sched_process_exec", exec, {"pid", "old_pid", "", "", "", "", ""}},
		{"sched_switch_in", switched_in, {"pid", "", "", "", "", "", ""}},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(k->name, known[i].name))
			add(m, k, known[i].take, known[i].fields);
}

/* ---- the end ---- */

static uint64_t end_of(const struct model *m, const struct cpu *c)
{
	return c->to < m->finish ? c->to : m->finish;
}

void sched_peek(struct model *m)
{
	for (uint32_t i = 0; i < m->nr_cpus; i++)
		if (m->cpus[i].running && !m->cpus[i].running->pid)
			leave(m, m->cpus[i].running, end_of(m, &m->cpus[i]), SPAN_NO_END);
	for (size_t i = 0; i < m->tasks.cap; i++) {
		struct task *t = m->tasks.slots[i].value;

		if (t)
			leave(m, t, end_of(m, t->home), SPAN_NO_END);
	}
}

void sched_end(struct model *m)
{
	for (uint32_t i = 0; i < m->nr_cpus; i++) {
		struct cpu *c = &m->cpus[i];

		if (!c->running && c->any && c->switches)
			give_vacant(m, c, end_of(m, c));
		if (!c->running)
			continue;
		leave(m, c->running, end_of(m, c), SPAN_NO_END);
		c->running->state = TASK_GONE;
		c->running = NULL;
	}
	for (size_t i = 0; i < m->tasks.cap; i++) {
		struct task *t = m->tasks.slots[i].value;

		if (t)
			leave(m, t, end_of(m, t->home), SPAN_NO_END);
	}
}
