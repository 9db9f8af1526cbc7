/* SPDX-License-Identifier: MIT */
/* sched.c -- who runs: a queue per CPU, three classes in one order, wakeups across CPUs, idle CPUs that steal. */
#include "kernel.h"
#include "lock.h"
#include "machine.h"
#include "task.h"
#include "stream.h"
#include "trace_points.h"
#include "fathom/task.h"

/*
 * S1. A ready task is in exactly one queue, that of its home CPU (task->cpu), or runs there.
 * S2. The lock of a run queue is held across switch_to(): taken by the task that leaves, released by the one that
 *     comes (finish_switch). So whoever holds it sees no task of that CPU half-switched.
 * S3. A task's state changes to running only in wakeup(), under its home's lock; to anything else only by itself.
 * S4. A blocked task does not change its home. A ready one does when another CPU steals it: it is then in no queue for
 *     a moment, and nobody touches it, for wakeup() ignores what is running.
 */
#define SLICE 2 /* ticks an ordinary task runs before its equals */

/* Order of the queue: priority, then the nearer deadline, then who came first. */
static int better(const struct task *a, const struct task *b)
{
	if (a->prio != b->prio)
		return a->prio < b->prio;
	return a->class == SCHED_DEADLINE && a->deadline < b->deadline;
}

static void enqueue(struct runq *rq, struct task *t)
{
	struct task **at = &rq->ready;

	while (*at && !better(t, *at))
		at = &(*at)->next;
	t->next = *at;
	*at = t;
	rq->nr_ready++;
}

static struct task *dequeue(struct runq *rq)
{
	struct task *t = rq->ready;

	if (t) {
		rq->ready = t->next;
		t->next = NULL;
		rq->nr_ready--;
	}
	return t;
}

/* What the wakeup tracers want to know; filled in only when one of them runs. */
static struct fathom_sched_task note(const struct task *t)
{
	struct fathom_sched_task n = {
		.task = t->trace,
		.pid = t->pid,
		.prio = t->prio,
		.state = t->state & TASK_SLEEPING  ? 1
			 : t->state & TASK_BLOCKED ? 2
			 : t->state		   ? 5
						   : 0,
		.is_rt = t->class == SCHED_REALTIME,
		.is_dl = t->class == SCHED_DEADLINE,
	};

	copy_name(n.comm, t->name, sizeof(n.comm));
	return n;
}

static void note_switch(const struct task *prev, const struct task *next)
{
	struct fathom_sched_task p = note(prev), n = note(next);

	fathom_task_switch(&p, &n);
}

static void note_wakeup(const struct task *t, uint32_t cpu)
{
	struct fathom_sched_task me = note(current_task()), woken = note(t);

	fathom_note_wakeup(&me, &woken, cpu);
}

/* The second half of every switch, run by the task that came (keeps S2). */
static void finish_switch(void)
{
	struct cpu *c = this_cpu();
	struct task *from = c->switched_from;
	/* Asked under the lock: behind it another CPU may run `from` to its end, and tell of that itself. */
	int died = from && from->state == TASK_DEAD;

	c->switched_from = NULL;
	raw_unlock(&c->rq.lock);
	if (died)
		task_died(from);
}

static void switch_tasks(struct cpu *c, struct task *prev, struct task *next, int preempted)
{
	c->need_resched = 0;
	if (prev == next) {
		raw_unlock(&c->rq.lock);
		return;
	}
	trace_sched_switch(prev->name, prev->pid, prev->prio,
			   preempted ? FATHOM_TASK_PREEMPTED : (long)prev->state, next->name,
			   next->pid, next->prio);
	if (fathom_wanted(FATHOM_WANT_SWITCH))
		note_switch(prev, next);
	c->current = next;
	cpu_set_stack(&c->arch, (uintptr_t)next->kstack + KSTACK_SIZE);
	c->switched_from = prev;
	vm_load(&next->vm);
	stream_switch(next, next == c->idle);
	switch_to(prev, next);
	finish_switch();
}

void schedule(void)
{
	uint64_t flags = irq_save();

	do {
		struct cpu *c = this_cpu();
		struct task *prev = c->current, *next;

		raw_lock(&c->rq.lock);
		if (prev->state == TASK_RUNNING && prev != c->idle)
			enqueue(&c->rq, prev);
		next = dequeue(&c->rq);
		if (!next)
			next = c->idle;
		if (next->slice <= 0)
			next->slice = SLICE;
		switch_tasks(c, prev, next, prev->state == TASK_RUNNING && prev != c->idle);
	} while (this_cpu()->need_resched);
	irq_restore(flags);
}

/* task_entry's first call: the other half of a switch_to() that this task never made. */
NOTRACE void task_first(void)
{
	finish_switch();
	if (current_task()->vm.root) {
		stream_leave();
		hook_irqs_on(); /* the return to user mode is what turns them on */
	} else {
		irq_enable();
	}
}

static void kick(struct cpu *c)
{
	c->need_resched = 1;
	if (c != this_cpu())
		irq_send(c->id, VEC_RESCHED);
}

/* A task became ready on c and c does not take it at once: an idle CPU may come and steal it. */
static void kick_idle(const struct cpu *busy)
{
	for_each_cpu (c)
		if (c != busy && c->online && c->current == c->idle && !c->need_resched) {
			kick(c);
			return;
		}
}

static void make_ready(struct cpu *c, struct task *t)
{
	if (t->class == SCHED_DEADLINE)
		t->deadline = clock_ns() + t->period;
	enqueue(&c->rq, t);
	if (better(t, c->current))
		kick(c);
	else
		kick_idle(c);
}

/* Lock the queue of the task's home, wherever that is by the time we have it. */
static struct cpu *lock_home(const struct task *t, uint64_t *flags)
{
	for (;;) {
		struct cpu *c = &cpus[t->cpu];

		*flags = lock(&c->rq.lock);
		if (t->cpu == c->id)
			return c;
		unlock(&c->rq.lock, *flags);
	}
}

/* Someone else was faster than the timer. */
static void forget_sleeper(struct runq *rq, struct task *t)
{
	struct task **at = &rq->sleepers;

	while (*at && *at != t)
		at = &(*at)->next;
	if (*at) {
		*at = t->next;
		t->next = NULL;
	}
}

void wakeup(struct task *t)
{
	uint64_t flags;
	struct cpu *c = lock_home(t, &flags);

	if (t->state == TASK_SLEEPING || t->state == TASK_BLOCKED) {
		if (t->state == TASK_SLEEPING)
			forget_sleeper(&c->rq, t);
		trace_sched_waking(t->name, t->pid, t->prio, (int)c->id);
		t->state = TASK_RUNNING;
		trace_sched_wakeup(t->name, t->pid, t->prio, (int)c->id);
		if (fathom_wanted(FATHOM_WANT_WAKEUP))
			note_wakeup(t, c->id);
		/* else it was on its way to schedule(), which will now keep it */
		if (c->current != t)
			make_ready(c, t);
	}
	unlock(&c->rq.lock, flags);
}

/* The CPU with the least to do gets a new task. A glance without locks is good enough. */
static struct cpu *least_loaded(void)
{
	struct cpu *best = this_cpu();
	uint32_t least = ~0u;

	for_each_cpu (c) {
		uint32_t load = c->rq.nr_ready + (c->current != c->idle);

		if (c->online && load < least) {
			least = load;
			best = c;
		}
	}
	return best;
}

void sched_start(struct task *t)
{
	struct cpu *c = t->pinned ? &cpus[t->cpu] : least_loaded();
	uint64_t flags = lock(&c->rq.lock);

	t->cpu = c->id;
	t->state = TASK_RUNNING;
	trace_sched_wakeup_new(t->name, t->pid, t->prio, (int)c->id);
	if (fathom_wanted(FATHOM_WANT_WAKEUP))
		note_wakeup(t, c->id);
	make_ready(c, t);
	unlock(&c->rq.lock, flags);
}

/* Sleepers are woken by their CPU's own timer, so the list needs no more than the run queue's lock. */
void sleep_prepare(uint64_t when_ns)
{
	uint64_t flags = irq_save();
	struct cpu *c = this_cpu();
	struct task *t = c->current, **at = &c->rq.sleepers;

	raw_lock(&c->rq.lock);
	t->wake_at = when_ns;
	t->state = TASK_SLEEPING;
	while (*at && (*at)->wake_at <= when_ns)
		at = &(*at)->next;
	t->next = *at;
	*at = t;
	raw_unlock(&c->rq.lock);
	irq_restore(flags);
}

void sleep_until(uint64_t when_ns)
{
	uint64_t flags =
		irq_save(); /* or a preemption in between would be the sleep, and schedule() a second one */

	sleep_prepare(when_ns);
	schedule();
	irq_restore(flags);
}

static struct task *next_sleeper(struct cpu *c, uint64_t now)
{
	raw_lock(&c->rq.lock);
	struct task *t = c->rq.sleepers;

	if (t && t->wake_at <= now) {
		c->rq.sleepers = t->next;
		t->next = NULL;
	} else {
		t = NULL;
	}
	raw_unlock(&c->rq.lock);
	return t;
}

void scheduler_tick(void)
{
	struct cpu *c = this_cpu();
	uint64_t now = clock_ns();
	struct task *t;

	while ((t = next_sleeper(c, now))) {
		if (t->tick)
			t->tick(t->tick_arg);
		wakeup(t);
	}
	if (c->current == c->idle)
		c->need_resched |= c->rq.ready != NULL;
	else if (c->current->class == SCHED_ORDINARY && --c->current->slice <= 0)
		c->need_resched = 1;
}

/* Nothing to do: the interrupt itself makes trap() look at need_resched, which the sender set. */
void sched_resched(void)
{
	this_cpu()->nr_ipis++;
}

/* May current give the CPU straight to `to`? Yes if nobody here is better, and `to` lives here. Interrupts are off. */
NOTRACE int sched_can_handoff(const struct task *to)
{
	const struct cpu *c = this_cpu();
	const struct task *first = c->rq.ready;

	return to->cpu == c->id && (!first || !better(first, to));
}

void sched_handoff(struct task *to)
{
	struct cpu *c = this_cpu();

	raw_lock(&c->rq.lock);
	trace_sched_waking(to->name, to->pid, to->prio, (int)c->id);
	to->state = TASK_RUNNING;
	to->slice = c->current->slice;
	trace_sched_wakeup(to->name, to->pid, to->prio, (int)c->id);
	if (c->current->state ==
	    TASK_RUNNING) /* another CPU has woken it since it said it would block */
		enqueue(&c->rq, c->current);
	switch_tasks(c, c->current, to, 0);
}

int sched_set(struct task *t, int class, int prio, uint64_t period_ns)
{
	if (class == SCHED_ORDINARY)
		t->prio = PRIO_ORDINARY;
	else if (class == SCHED_REALTIME && prio >= 1 && prio <= 99)
		t->prio = PRIO_REALTIME + 99 - prio;
	else if (class == SCHED_DEADLINE && period_ns)
		t->prio = PRIO_DEADLINE;
	else
		return -EINVAL;
	t->class = (enum sched_class) class;
	t->period = period_ns;
	t->deadline = clock_ns() + period_ns;
	return 0;
}

/* The lock of a queue that has something to steal; not taken, and 0, if that is gone before. */
static int lock_to_steal(struct cpu *from, uint64_t *flags)
{
	*flags = irq_save();
	while (!spin_trylock(&from->rq.lock)) {
		if (!__atomic_load_n(&from->rq.nr_ready, __ATOMIC_RELAXED)) {
			irq_restore(*flags);
			return 0;
		}
		cpu_pause();
	}
	return 1;
}

/* Take the last ready task of the busiest other CPU that is not pinned there: the one that would wait longest. */
static struct task *steal(void)
{
	struct cpu *from = NULL;
	struct task *t = NULL;

	for_each_cpu (c)
		if (c != this_cpu() && c->rq.nr_ready &&
		    (!from || c->rq.nr_ready > from->rq.nr_ready))
			from = c;
	uint64_t flags;

	if (!from || !lock_to_steal(from, &flags))
		return NULL;
	struct task **last = NULL;

	for (struct task **at = &from->rq.ready; *at; at = &(*at)->next)
		if (!(*at)->pinned)
			last = at;
	if (last) {
		t = *last;
		*last = t->next;
		t->next = NULL;
		from->rq.nr_ready--;
		trace_sched_migrate_task(t->name, t->pid, t->prio, (int)t->cpu, (int)cpu_id());
		t->cpu = cpu_id();
		fathom_note_migrate(t->pid, t->cpu);
	}
	unlock(&from->rq.lock, flags);
	return t;
}

void sched_init(uint32_t cpu)
{
	struct cpu *c = &cpus[cpu];

	c->id = cpu;
	c->idle = task_idle(cpu);
	c->current = c->idle;
	cpu_set_stack(&c->arch, (uintptr_t)c->idle->kstack + KSTACK_SIZE);
	cpu_init(c);
}

void sched_idle(void)
{
	struct cpu *c = this_cpu();

	irq_enable();
	for (;;) {
		uint64_t flags = irq_save();
		struct task *t = c->rq.ready ? NULL : steal();

		if (t) {
			raw_lock(&c->rq.lock);
			enqueue(&c->rq, t);
			raw_unlock(&c->rq.lock);
		}
		if (c->rq.ready || c->need_resched) {
			irq_restore(flags);
			schedule();
		} else {
			hook_irqs_on();
			cpu_wait();
		}
	}
}
