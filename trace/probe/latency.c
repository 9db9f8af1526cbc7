/* SPDX-License-Identifier: MIT */
/* latency.c -- irqsoff, preemptoff, preemptirqsoff, wakeup, wakeup_rt, wakeup_dl: the worst case, with its trace. */
#include "fathom/errno.h"
#include "fathom/event.h"
#include "fathom/snapshot.h"
#include "probe/listeners.h"
#include "probe/tracers.h"

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

/* The task whose wakeup is followed. Under wakeup_lock; read without it by the gate. */
static struct {
	struct fathom_sched_task task;
	uint64_t start;
	uint32_t cpu;
	uint32_t active;
} waking;
static uint32_t wakeup_lock;
static uint8_t wakeup_rt_only, wakeup_dl_only;

/*
 * The instance that a latency tracer runs in, or last ran in; NULL: the top. Who records looks at it inside fathom_gate, and
 * there only after seeing that the tracer still listens: then the instance is there until the gate is left.
 */
static struct fathom_listener *latency_in;
static uint8_t latency_elsewhere; /* it runs there now. Task context */
static int (*latency_gate)(void);

static struct fathom_latency_report report;
static uint64_t max_latency_ns;

void fathom_latency_report(struct fathom_latency_report *out)
{
	*out = report;
}

uint64_t fathom_max_latency(void)
{
	return fathom_load(&max_latency_ns);
}

void fathom_max_latency_set(uint64_t ns)
{
	fathom_store(&max_latency_ns, ns);
}

/* Linux's report_latency(). */
static int latency_counts(uint64_t ns)
{
	uint64_t thresh = fathom_load(&fathom_thresh_ns);

	return thresh ? ns >= thresh : ns > fathom_load(&max_latency_ns);
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

/* The ring of this CPU where it runs, NULL if there is none. */
static struct fathom_ring *latency_ring(void)
{
	const struct fathom_listener *l = fathom_load(&latency_in);
	uint32_t cpu = fathom_port_cpu();

	if (!l)
		return fathom_tracer_ring();
	return cpu < fathom_core.nr_cpus ? fathom_load(&l->ring[cpu]) : 0;
}

static int latency_is_recording(void)
{
	const struct fathom_listener *l = fathom_load(&latency_in);

	return l ? fathom_listener_is_recording(l) : fathom_tracing_is_on();
}

/* Exchange the rings with the spares: of one CPU, which is all that is kept then, or of all. */
static int latency_keep(uint32_t cpu)
{
	struct fathom_listener *l = fathom_load(&latency_in);

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
static int latency_functions(int (*gate)(void))
{
	uint32_t options = gate ? fathom_tracer_option_bits : 0;
	uint8_t graph = (options & FATHOM_OPT_DISPLAY_GRAPH) != 0, on;
	int err;

	latency_gate = gate;
	if (latency_elsewhere)
		return latency_functions_in(latency_in, gate);
	on = (options & FATHOM_OPT_FUNCTION_TRACE) != 0;
	err = fathom_tracer_want_sites(on && !graph, on && graph, gate);
	return err == -FATHOM_ENOSYS ? 0 : err; /* a kernel without sites has latencies too */
}

/* A function that stands at one end of the section: in the graph a call that took no time, as in Linux. */
static void latency_mark(uintptr_t ip, uintptr_t parent_ip)
{
	if (!fathom_load(&latency_in) &&
	    fathom_load(&fathom_tracer_option_bits) & FATHOM_OPT_DISPLAY_GRAPH)
		fathom_graph_record(ip, fathom_port_context());
	else
		fathom_function_record_in(latency_ring(), ip, parent_ip, fathom_port_context());
}

/* An option of a latency tracer that runs was turned: it starts over in another layout, or its functions go on or off. */
int fathom_latency_changed(uint32_t bit)
{
	const struct fathom_tracer *now = fathom_tracer_current();

	if (bit == FATHOM_OPT_FUNCTION_TRACE)
		return latency_functions(latency_gate);
	if (bit != FATHOM_OPT_DISPLAY_GRAPH)
		return 0;
	now->stop();
	return now->start();
}

static int latency_begin(uint32_t want, int (*gate)(void))
{
	int err = latency_elsewhere ? 0 : fathom_snapshot_alloc();

	if (err)
		return err;
	report = (struct fathom_latency_report){0};
	max_latency_ns = 0;
	if (!latency_elsewhere) {
		fathom_store(&latency_in, (struct fathom_listener *)0);
		fathom_snapshot_clear();
		if (fathom_tracer_option_bits & FATHOM_OPT_DISPLAY_GRAPH)
			fathom_graph_reset();
	}
	err = latency_functions(gate);
	if (err)
		return err;
	fathom_want_change(want, 0);
	fathom_want_switches();
	return 0;
}

static void latency_end(void)
{
	fathom_want_change(0, FATHOM_WANT_WAKEUP | FATHOM_WANT_IRQS | FATHOM_WANT_PREEMPT);
	latency_functions(0);
	fathom_want_switches();
}

static void latency_stop_in(struct fathom_listener *l)
{
	l->latency->stop();
	l->latency = 0;
	latency_elsewhere = 0;
}

int fathom_listener_latency(struct fathom_listener *l, const struct fathom_tracer *t)
{
	int err;

	if (l->latency)
		latency_stop_in(l);
	if (!t)
		return 0;
	if (latency_elsewhere || fathom_tracer_current()->flags & FATHOM_TRACER_LATENCY)
		return -FATHOM_EBUSY;
	l->latency = t;
	fathom_store(&latency_in, l);
	latency_elsewhere = 1;
	err = t->start();
	if (err)
		latency_stop_in(l);
	return err;
}

int fathom_latency_is_elsewhere(void)
{
	return latency_elsewhere;
}

void fathom_latency_exit(void)
{
	if (latency_elsewhere)
		latency_stop_in(latency_in);
	latency_in = 0;
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
	return latency_begin(want, critical_gate);
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
	latency_end();
	critical_watch = 0;
}

static void critical_open(uint32_t cpu, uintptr_t ip, uintptr_t parent_ip)
{
	critical[cpu].started_at = parent_ip ? parent_ip : ip;
	critical[cpu].start = fathom_port_clock();
	latency_mark(ip, parent_ip);
	fathom_store(&critical[cpu].open, 1);
}

static void critical_close(uint32_t cpu, uintptr_t ip, uintptr_t parent_ip)
{
	uint64_t ns = fathom_to_ns(fathom_port_clock() - critical[cpu].start);

	fathom_store(&critical[cpu].open, 0);
	latency_mark(ip, parent_ip);
	if (!latency_counts(ns) || __atomic_exchange_n(&wakeup_lock, 1, __ATOMIC_ACQUIRE))
		return;
	if (latency_counts(ns)) { /* still, now that nobody else reports */
		fathom_stack_event_in(latency_ring());
		if (!latency_keep(cpu)) { /* only this CPU's part belongs to it */
			report = (struct fathom_latency_report){
				.latency_ns = ns,
				.start = critical[cpu].start,
				.pid = fathom_port_task(),
				.cpu = cpu,
				.started_at = critical[cpu].started_at,
				.ended_at = parent_ip ? parent_ip : ip,
			};
			fathom_store(&max_latency_ns, ns);
		}
	}
	__atomic_store_n(&wakeup_lock, 0, __ATOMIC_RELEASE);
}

static void critical_change(uint32_t cpu, uint32_t cause, int off, uintptr_t ip,
			    uintptr_t parent_ip)
{
	uint32_t before = critical[cpu].causes;

	critical[cpu].causes = off ? before | cause : before & ~cause;
	if (!latency_is_recording()) /* a section that is not recorded is not reported */
		critical[cpu].open = 0;
	else if (!before && critical[cpu].causes)
		critical_open(cpu, ip, parent_ip);
	else if (before && !critical[cpu].causes && critical[cpu].open)
		critical_close(cpu, ip, parent_ip);
}

static void critical_note(uint32_t cause, int off, uintptr_t ip, uintptr_t parent_ip)
{
	uintptr_t pin = fathom_port_pin();
	uint32_t cpu = fathom_port_cpu();

	if (cpu < fathom_core.nr_cpus) {
		latency_enter(cpu);
		if (fathom_load(&critical_watch) & cause)
			critical_change(cpu, cause, off, ip, parent_ip);
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
	return latency_begin(FATHOM_WANT_WAKEUP, wakeup_gate);
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
	latency_end();
	waking.active = 0;
}

static void write_switch(uint16_t id, const struct fathom_sched_task *prev,
			 const struct fathom_sched_task *next, uint32_t next_cpu)
{
	struct fathom_ring *ring = latency_ring();
	struct fathom_slot slot;
	uint8_t *to = ring ? fathom_ring_reserve(ring, SWITCH_BYTES, &slot) : 0;

	if (!to)
		return;
	fathom_put64(to, fathom_common_word(id, fathom_port_context()));
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
	__atomic_store_n(&wakeup_lock, 0, __ATOMIC_RELEASE);
	latency_leave(fathom_port_cpu());
	fathom_port_unpin(pin);
}

/* 1 if nobody else is at it and a tracer listens; then wakeup_ends() must follow. */
static int wakeup_begins(uintptr_t *pin)
{
	uint32_t cpu;

	*pin = fathom_port_pin();
	cpu = fathom_port_cpu();
	if (cpu < fathom_core.nr_cpus && !__atomic_exchange_n(&wakeup_lock, 1, __ATOMIC_ACQUIRE)) {
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
	if (wakeup_follows(current, woken)) {
		waking.task = *woken;
		waking.start = fathom_port_clock();
		fathom_store(&waking.cpu, cpu);
		write_switch(WIRE_ID_WAKEUP, current, woken, cpu);
		fathom_stack_event_in(latency_ring());
		latency_mark(here, 0);
		fathom_store(&waking.active, 1);
	}
	wakeup_ends(pin);
}

/* Linux's numbers of its classes, and what each counts. */
static void report_class(const struct fathom_sched_task *t)
{
	enum {
		POLICY_FIFO = 1,
		POLICY_DEADLINE = 6
	};

	if (t->is_dl) {
		report.policy = POLICY_DEADLINE;
	} else if (t->is_rt) {
		report.policy = POLICY_FIFO;
		report.rt_prio = 99 - t->prio;
	} else if (t->prio >= 100 && t->prio < 140) {
		report.nice = t->prio - 120;
	}
}

static void wakeup_done(const struct fathom_sched_task *prev, const struct fathom_sched_task *next)
{
	uint32_t cpu = fathom_port_cpu();
	/* What is recorded of the end is not part of the wait. */
	uint64_t ns = fathom_to_ns(fathom_port_clock() - waking.start);

	latency_mark((uintptr_t)__builtin_return_address(0), 0);
	write_switch(WIRE_ID_CONTEXT_SWITCH, prev, next, cpu);
	fathom_stack_event_in(latency_ring());
	if (latency_is_recording() && latency_counts(ns) && !latency_keep(FATHOM_SNAPSHOT_ALL)) {
		report = (struct fathom_latency_report){
			.latency_ns = ns, .start = waking.start, .pid = next->pid, .cpu = cpu};
		report_class(next);
		fathom_store(&max_latency_ns, ns);
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

void fathom_note_switch_slow(const struct fathom_sched_task *prev,
			     const struct fathom_sched_task *next)
{
	uintptr_t pin;

	switch_sleep_time(prev, next);
	if (!fathom_load(&waking.active) || waking.task.pid != next->pid || !wakeup_begins(&pin))
		return;
	if (waking.active && waking.task.pid == next->pid)
		wakeup_done(prev, next);
	wakeup_ends(pin);
}
