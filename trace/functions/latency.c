/* SPDX-License-Identifier: MIT */
/* latency.c -- irqsoff, preemptoff, preemptirqsoff, wakeup, wakeup_rt, wakeup_dl: the worst case, with its trace. */
#include "fathom/inside/errno.h"
#include "fathom/inside/event.h"
#include "fathom/inside/snapshot.h"
#include "functions/listeners.h"
#include "functions/tracers.h"
#include "wire/copy.h"

/*
 * While a section is open on a CPU (or a task waits to run) the functions of that CPU are recorded. When it ends and
 * was the longest so far, the live ring is exchanged with the spare: what current_tracer's `trace` shows then is the
 * spare, from report.start on.
 */

#define SWITCH_BYTES 24 /* context_switch and wakeup: common, pids, cpu, prios and states */

enum critical_cause {
	CRITICAL_IRQS = 1,
	CRITICAL_PREEMPT = 2,
};

/* One CPU's open section. Own CPU only. */
static struct {
	uint32_t causes; /* enum critical_cause that hold now */
	uint32_t open;
	uint64_t start;
	uintptr_t started_at;
} critical[FATHOM_CPUS_MAX];
static uint32_t critical_watch; /* causes that the tracer looks at */

/* The task whose wakeup is followed. Under wakeups.lock; read without it by the gate. */
static struct {
	struct fathom_sched_task task;
	uint64_t start;
	uint32_t cpu;
	uint32_t active;
} waking;
static uint8_t wakeup_rt_only, wakeup_dl_only;

/*
 * As in Linux one of the wakeup tracers and one of the others can run at a time, each at the top or in an instance. `in` is
 * the instance that the family's runs in, or last ran in; NULL: the top. Who records looks at it inside fathom_gate, and
 * there only after seeing that the tracer still listens: then the instance is there until the gate is left.
 */
struct latency_family {
	struct fathom_listener *in;
	uint8_t runs; /* task context */
	uint32_t lock;
	int (*gate)(void);
};
static struct latency_family criticals, wakeups;
static struct fathom_listener *latency_starts_in; /* while one is started: `in` of it */
static struct fathom_latency_worst worst_at_top;

static struct latency_family *family_of(const struct fathom_tracer *t)
{
	return t->stop == fathom_wakeup_stop ? &wakeups : &criticals;
}

struct fathom_latency_worst *fathom_latency_worst(struct fathom_listener *l)
{
	return l ? &l->worst : &worst_at_top;
}

static struct fathom_latency_worst *family_worst(const struct latency_family *f)
{
	return fathom_latency_worst(fathom_load(&f->in));
}

void fathom_latency_report(struct fathom_latency_report *out)
{
	*out = worst_at_top.report;
}

uint64_t fathom_max_latency(void)
{
	return fathom_load(&worst_at_top.max_ns);
}

void fathom_max_latency_set(uint64_t ns)
{
	fathom_store(&worst_at_top.max_ns, ns);
}

/* Linux's report_latency(). */
static int latency_counts(const struct latency_family *f, uint64_t ns)
{
	uint64_t thresh = fathom_load(&fathom_thresh_ns);

	return thresh ? ns >= thresh : ns > fathom_load(&family_worst(f)->max_ns);
}

static void latency_enter(uint32_t cpu)
{
	if (fathom_gate.enter)
		fathom_gate.enter(cpu);
}

static void latency_leave(uint32_t cpu)
{
	if (fathom_gate.leave)
		fathom_gate.leave(cpu);
}

static int family_try_lock(struct latency_family *f)
{
	return !__atomic_exchange_n(&f->lock, 1, __ATOMIC_ACQUIRE);
}

static void family_unlock(struct latency_family *f)
{
	__atomic_store_n(&f->lock, 0, __ATOMIC_RELEASE);
}

/* The ring of this CPU where it runs, NULL if there is none. */
static struct fathom_ring *latency_ring(const struct latency_family *f)
{
	const struct fathom_listener *l = fathom_load(&f->in);
	uint32_t cpu = fathom_port_cpu();

	if (!l)
		return fathom_tracer_ring();
	return cpu < fathom_core.nr_cpus ? fathom_load(&l->ring[cpu]) : 0;
}

/* Also of this CPU's ring: tracing_on turns them on one after the other, and a section of which none was written is no trace. */
static int latency_is_recording(const struct latency_family *f)
{
	const struct fathom_listener *l = fathom_load(&f->in);
	const struct fathom_ring *ring = latency_ring(f);

	return ring && fathom_ring_is_enabled(ring) &&
	       (l ? fathom_listener_is_recording(l) : fathom_tracing_is_on());
}

/* Exchange the rings with the spares: of one CPU, which is all that is kept then, or of all. */
static int latency_keep(const struct latency_family *f, uint32_t cpu)
{
	struct fathom_listener *l = fathom_load(&f->in);

	if (l)
		return l->keep(l, cpu);
	return cpu == FATHOM_SNAPSHOT_ALL ? fathom_snapshot_take(cpu)
					  : fathom_snapshot_take_alone(cpu);
}

/* Functions of an instance: its own choice of them, and no graph. */
static int latency_functions_in(struct fathom_listener *l, int (*gate)(void))
{
	uint32_t on = gate && l->options & FATHOM_OPT_FUNCTION_TRACE;

	fathom_store(&l->gate, gate);
	fathom_store(&l->on, on);
	return fathom_tracer_refresh();
}

/* function-trace: functions, or with display-graph calls and returns, are recorded while the gate is open. NULL: none. */
static int latency_functions(struct latency_family *f, int (*gate)(void))
{
	uint32_t options = gate ? fathom_tracer_option_bits : 0;
	uint8_t graph = (options & FATHOM_OPT_DISPLAY_GRAPH) != 0, on;
	int err;

	f->gate = gate;
	if (f->in)
		return latency_functions_in(f->in, gate);
	on = (options & FATHOM_OPT_FUNCTION_TRACE) != 0;
	err = fathom_tracer_want_sites(on && !graph, on && graph, gate);
	return err == -FATHOM_ENOSYS ? 0 : err; /* a kernel without sites has latencies too */
}

/* A function that stands at one end of the section: in the graph a call that took no time, as in Linux. */
static void latency_mark(const struct latency_family *f, uintptr_t ip, uintptr_t parent_ip,
			 uint32_t context)
{
	if (!fathom_load(&f->in) &&
	    fathom_load(&fathom_tracer_option_bits) & FATHOM_OPT_DISPLAY_GRAPH)
		fathom_graph_record(ip, context);
	else
		fathom_function_record_in(latency_ring(f), ip, parent_ip, 0, context);
}

/* An option of a latency tracer that runs was turned: it starts over in another layout, or its functions go on or off. */
int fathom_latency_changed(uint32_t bit)
{
	const struct fathom_tracer *now = fathom_tracer_current();

	if (bit == FATHOM_OPT_FUNCTION_TRACE)
		return latency_functions(family_of(now), family_of(now)->gate);
	if (bit != FATHOM_OPT_DISPLAY_GRAPH)
		return 0;
	now->stop();
	return now->start();
}

int fathom_listener_latency_changed(struct fathom_listener *l)
{
	return latency_functions_in(l, l->gate);
}

static int latency_begin(struct latency_family *f, uint32_t want, int (*gate)(void))
{
	int err = latency_starts_in ? 0 : fathom_snapshot_alloc();

	if (err)
		return err;
	fathom_store(&f->in, latency_starts_in);
	*family_worst(f) = (struct fathom_latency_worst){0};
	if (!f->in) {
		fathom_snapshot_clear();
		if (fathom_tracer_option_bits & FATHOM_OPT_DISPLAY_GRAPH)
			fathom_graph_reset();
	}
	err = latency_functions(f, gate);
	if (err)
		return err;
	f->runs = 1;
	fathom_want_change(want, 0);
	fathom_want_switches();
	return 0;
}

static void latency_end(struct latency_family *f, uint32_t unwant)
{
	fathom_want_change(0, unwant);
	latency_functions(f, 0);
	f->runs = 0;
	fathom_want_switches();
}

static void latency_stop_in(struct fathom_listener *l)
{
	l->latency->stop();
	l->latency = 0;
}

int fathom_latency_is_busy(const struct fathom_tracer *t)
{
	return t->flags & FATHOM_TRACER_LATENCY && family_of(t)->runs;
}

int fathom_listener_latency(struct fathom_listener *l, const struct fathom_tracer *t)
{
	int err;

	if (l->latency)
		latency_stop_in(l);
	if (!t)
		return 0;
	if (fathom_latency_is_busy(t))
		return -FATHOM_EBUSY;
	l->latency = t;
	latency_starts_in = l;
	err = t->start();
	latency_starts_in = 0;
	if (err)
		latency_stop_in(l);
	return err;
}

/* The top's tracer has stopped. */
void fathom_latency_exit(void)
{
	for (uint32_t i = 0; i < FATHOM_INSTANCES_MAX; i++)
		if (fathom_listeners[i] && fathom_listeners[i]->latency)
			latency_stop_in(fathom_listeners[i]);
	criticals.in = wakeups.in = 0;
	worst_at_top = (struct fathom_latency_worst){0}; /* nor does who starts again find it */
}

/* ---- interrupts or preemption off ---- */

static int critical_gate(void)
{
	uint32_t cpu = fathom_port_cpu();

	return cpu < FATHOM_CPUS_MAX && critical[cpu].open;
}

static int critical_start(uint32_t watch, uint32_t want)
{
	for (uint32_t i = 0; i < FATHOM_CPUS_MAX; i++)
		critical[i].causes = critical[i].open = 0;
	critical_watch = watch;
	return latency_begin(&criticals, want, critical_gate);
}

int fathom_irqsoff_start(void)
{
	return critical_start(CRITICAL_IRQS, FATHOM_WANT_IRQS);
}

int fathom_preemptoff_start(void)
{
	return critical_start(CRITICAL_PREEMPT, FATHOM_WANT_PREEMPT);
}

int fathom_preemptirqsoff_start(void)
{
	return critical_start(CRITICAL_IRQS | CRITICAL_PREEMPT,
			      FATHOM_WANT_IRQS | FATHOM_WANT_PREEMPT);
}

void fathom_critical_stop(void)
{
	latency_end(&criticals, FATHOM_WANT_IRQS | FATHOM_WANT_PREEMPT);
	critical_watch = 0;
}

static void critical_open(uint32_t cpu, uintptr_t ip, uintptr_t parent_ip, uint32_t context)
{
	critical[cpu].started_at = parent_ip ? parent_ip : ip;
	critical[cpu].start = fathom_port_clock();
	latency_mark(&criticals, ip, parent_ip, context);
	fathom_store(&critical[cpu].open, 1);
}

static void critical_close(uint32_t cpu, uintptr_t ip, uintptr_t parent_ip, uint32_t context)
{
	uint64_t ns = fathom_to_ns(fathom_port_clock() - critical[cpu].start);
	struct fathom_latency_worst *worst = family_worst(&criticals);

	fathom_store(&critical[cpu].open, 0);
	latency_mark(&criticals, ip, parent_ip, context);
	if (!latency_counts(&criticals, ns) || !family_try_lock(&criticals))
		return;
	if (latency_counts(&criticals, ns)) { /* still, now that nobody else reports */
		fathom_stack_event_in(latency_ring(&criticals), context);
		/* If another CPU has just switched recording off, its end is missing: it is not shown. */
		if (latency_is_recording(&criticals) &&
		    !latency_keep(&criticals, cpu)) { /* only this CPU's part belongs to it */
			wire_fill(&worst->report, 0, sizeof(worst->report));
			worst->report.latency_ns = ns;
			worst->report.start = critical[cpu].start;
			worst->report.pid = fathom_port_task();
			worst->report.cpu = cpu;
			worst->report.started_at = critical[cpu].started_at;
			worst->report.ended_at = parent_ip ? parent_ip : ip;
			fathom_store(&worst->max_ns, ns);
		}
	}
	family_unlock(&criticals);
}

static void critical_change(uint32_t cpu, uint32_t cause, int off, uintptr_t ip,
			    uintptr_t parent_ip, uint32_t context)
{
	uint32_t before = critical[cpu].causes, after = off ? before | cause : before & ~cause;

	/* From before it is open until after it is closed, what an interrupt turns off and on is part of this section. */
	if (after)
		fathom_store(&critical[cpu].causes, after);
	fathom_local_barrier();
	if (!latency_is_recording(&criticals)) /* a section that is not recorded is not reported */
		critical[cpu].open = 0;
	else if (!before && after)
		critical_open(cpu, ip, parent_ip, context);
	else if (before && !after && critical[cpu].open)
		critical_close(cpu, ip, parent_ip, context);
	fathom_local_barrier();
	if (!after)
		fathom_store(&critical[cpu].causes, 0);
}

static void critical_note(uint32_t cause, int off, uintptr_t ip, uintptr_t parent_ip)
{
	uintptr_t pin = fathom_port_pin();
	uint32_t cpu = fathom_port_cpu();

	if (cpu < fathom_core.nr_cpus) {
		latency_enter(cpu);
		if (fathom_load(&critical_watch) & cause)
			critical_change(cpu, cause, off, ip, parent_ip, fathom_port_context(pin));
		latency_leave(cpu);
	}
	fathom_port_unpin(pin);
}

void fathom_note_irqs_slow(int off, uintptr_t ip, uintptr_t parent_ip)
{
	critical_note(CRITICAL_IRQS, off, ip, parent_ip);
}

void fathom_note_preempt_slow(int off, uintptr_t ip, uintptr_t parent_ip)
{
	critical_note(CRITICAL_PREEMPT, off, ip, parent_ip);
}

/* ---- wakeup ---- */

static int wakeup_gate(void)
{
	return fathom_load(&waking.active) && fathom_port_cpu() == fathom_load(&waking.cpu);
}

static int wakeup_begin(uint8_t rt_only, uint8_t dl_only)
{
	waking.active = 0;
	wakeup_rt_only = rt_only;
	wakeup_dl_only = dl_only;
	return latency_begin(&wakeups, FATHOM_WANT_WAKEUP, wakeup_gate);
}

int fathom_wakeup_start(void)
{
	return wakeup_begin(0, 0);
}

int fathom_wakeup_rt_start(void)
{
	return wakeup_begin(1, 0);
}

int fathom_wakeup_dl_start(void)
{
	return wakeup_begin(1, 1);
}

void fathom_wakeup_stop(void)
{
	latency_end(&wakeups, FATHOM_WANT_WAKEUP);
	waking.active = 0;
}

static void write_switch(uint16_t id, const struct fathom_sched_task *prev,
			 const struct fathom_sched_task *next, uint32_t next_cpu, uint32_t context)
{
	struct fathom_ring *ring = latency_ring(&wakeups);
	struct fathom_slot slot;
	uint8_t *to = ring ? fathom_ring_reserve(ring, SWITCH_BYTES, &slot) : 0;

	if (!to)
		return;
	fathom_put64(to, fathom_common_word(id, context));
	fathom_put32(to + 8, (uint32_t)prev->pid);
	fathom_put32(to + 12, (uint32_t)next->pid);
	fathom_put32(to + 16, next_cpu);
	to[20] = (uint8_t)prev->prio;
	to[21] = prev->state;
	to[22] = (uint8_t)next->prio;
	to[23] = next->state;
	fathom_ring_commit(ring, &slot);
}

static void wakeup_ends(uintptr_t pin)
{
	family_unlock(&wakeups);
	latency_leave(fathom_port_cpu());
	fathom_port_unpin(pin);
}

/* 1 if nobody else is at it and a tracer listens; then wakeup_ends() must follow. */
static int wakeup_begins(uintptr_t *pin)
{
	uint32_t cpu;

	*pin = fathom_port_pin();
	cpu = fathom_port_cpu();
	if (cpu < fathom_core.nr_cpus && family_try_lock(&wakeups)) {
		latency_enter(cpu);
		if (fathom_wanted(FATHOM_WANT_WAKEUP))
			return 1;
		wakeup_ends(*pin);
		return 0;
	}
	fathom_port_unpin(*pin);
	return 0;
}

/* A task with a deadline counts whatever runs, others if they are better than what runs and than who is followed. */
static int wakeup_follows(const struct fathom_sched_task *current,
			  const struct fathom_sched_task *t)
{
	if (wakeup_dl_only ? !t->is_dl : wakeup_rt_only && !t->is_rt && !t->is_dl)
		return 0;
	if (waking.active && (waking.task.is_dl || (!t->is_dl && t->prio >= waking.task.prio)))
		return 0;
	return t->is_dl || t->prio < current->prio;
}

/* Context: where the kernel wakes; interrupts are off or the scheduler's lock is held. */
void fathom_note_wakeup_slow(const struct fathom_sched_task *current,
			     const struct fathom_sched_task *woken, uint32_t cpu)
{
	uintptr_t here = (uintptr_t)__builtin_return_address(0), pin;

	if (!wakeup_follows(current, woken) || !wakeup_begins(&pin))
		return;
	if (wakeup_follows(current, woken) && latency_is_recording(&wakeups)) {
		uint32_t context = fathom_port_context(pin);

		waking.task = *woken;
		waking.start = fathom_port_clock();
		fathom_store(&waking.cpu, cpu);
		write_switch(WIRE_ID_WAKEUP, current, woken, cpu, context);
		fathom_stack_event_in(latency_ring(&wakeups), context);
		latency_mark(&wakeups, here, 0, context);
		fathom_store(&waking.active, 1);
	}
	wakeup_ends(pin);
}

/* As in Linux. Whom it is asked for may be another by then: functions of the wrong CPU for a while, and nothing more. */
void fathom_note_migrate_slow(int32_t pid, uint32_t cpu)
{
	if (fathom_load(&waking.active) && fathom_load(&waking.task.pid) == pid)
		fathom_store(&waking.cpu, cpu);
}

/* Linux's numbers of its classes, and what each counts. */
static void report_class(struct fathom_latency_report *report, const struct fathom_sched_task *t)
{
	enum {
		POLICY_FIFO = 1,
		POLICY_DEADLINE = 6
	};

	if (t->is_dl) {
		report->policy = POLICY_DEADLINE;
	} else if (t->is_rt) {
		report->policy = POLICY_FIFO;
		report->rt_prio = 99 - t->prio;
	} else if (t->prio >= 100 && t->prio < 140) {
		report->nice = t->prio - 120;
	}
}

static void wakeup_done(const struct fathom_sched_task *prev, const struct fathom_sched_task *next,
			uint32_t context)
{
	struct fathom_latency_worst *worst = family_worst(&wakeups);
	uint32_t cpu = fathom_port_cpu();
	/* What is recorded of the end is not part of the wait. */
	uint64_t ns = fathom_to_ns(fathom_port_clock() - waking.start);

	latency_mark(&wakeups, (uintptr_t)__builtin_return_address(0), 0, context);
	write_switch(WIRE_ID_CONTEXT_SWITCH, prev, next, cpu, context);
	fathom_stack_event_in(latency_ring(&wakeups), context);
	if (latency_is_recording(&wakeups) && latency_counts(&wakeups, ns) &&
	    !latency_keep(&wakeups, FATHOM_SNAPSHOT_ALL)) {
		wire_fill(&worst->report, 0, sizeof(worst->report));
		worst->report.latency_ns = ns;
		worst->report.start = waking.start;
		worst->report.pid = next->pid;
		worst->report.cpu = cpu;
		report_class(&worst->report, next);
		fathom_store(&worst->max_ns, ns);
	}
	fathom_store(&waking.active, 0);
}

/* sleep-time off: what a task slept is not part of the calls it slept in. */
static void switch_sleep_time(const struct fathom_sched_task *prev,
			      const struct fathom_sched_task *next)
{
	uint64_t now = fathom_port_clock(), slept;

	if (prev->task)
		prev->task->switched_out = now;
	if (!next->task || !next->task->switched_out)
		return;
	slept = now - next->task->switched_out;
	next->task->switched_out = 0;
	if (fathom_load(&fathom_tracer_option_bits) & FATHOM_OPT_GRAPH_SLEEP_TIME)
		return;
	for (uint32_t i = 0; i < next->task->depth && i < FATHOM_SHADOW_DEPTH; i++)
		next->task->shadow[i].calltime += slept;
}

void (*fathom_switch_watch)(void);

void fathom_note_switch_slow(const struct fathom_sched_task *prev,
			     const struct fathom_sched_task *next)
{
	void (*watch)(void) = fathom_load(&fathom_switch_watch);
	uintptr_t pin;

	if (watch)
		watch();
	switch_sleep_time(prev, next);
	if (!fathom_load(&waking.active) || waking.task.pid != next->pid || !wakeup_begins(&pin))
		return;
	if (waking.active && waking.task.pid == next->pid)
		wakeup_done(prev, next, fathom_port_context(pin));
	wakeup_ends(pin);
}
