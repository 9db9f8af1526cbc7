/* SPDX-License-Identifier: MIT */
/* gate.c -- what happens to an event that has a filter, triggers, pids or instances; and the state bits that say so. */
#include "control/control.h"
#include "control/pool.h"
#include "control/tree.h"
#include "control/trigger.h"
#include "fathom/inside/emit.h"
#include "functions/tracers.h"
#include "wire/copy.h"

#if !FATHOM_ATTACH
#error "the tree needs FATHOM_ATTACH 1"
#endif

/*
 * G1  An event that has nothing of this kind never comes here: its state is ON alone, and the fast path records it.
 * G2  No lock is taken here. What is pointed to is unlinked before it is retired (pool.h, P1 and P2).
 */

#define GATE_LINE 256 /* of tracepoint_printk, on the stack of what traces */

static int gate_pid_passes(struct ctl_instance *tr, int32_t pid)
{
	const struct fathom_pids *only, *not ;

	only = __atomic_load_n(&tr->pids[CTL_EVENT_PIDS], __ATOMIC_ACQUIRE);
	not = __atomic_load_n(&tr->pids[CTL_EVENT_NOTRACE_PIDS], __ATOMIC_ACQUIRE);
	return (!only || fathom_pids_has(only, pid)) && (!not || !fathom_pids_has(not, pid));
}

/* One instance's answer: FATHOM_GATE_KEEP if it records the event, with what waits for that. */
static uint32_t gate_ask(struct ctl_instance *tr, struct ctl_event *e, const void *record,
			 uint32_t bytes, uint32_t cpu)
{
	struct ctl_trigger *t = __atomic_load_n(&e->triggers, __ATOMIC_ACQUIRE);
	const struct wire_common *common = record;
	struct fathom_filter *f;
	uint32_t answer = 0, on = __atomic_load_n(&e->on, __ATOMIC_RELAXED);

	if (t)
		answer = fathom_trigger_run(t, record, bytes, cpu, on != 0);
	if (!on || !gate_pid_passes(tr, common->pid))
		return answer;
	f = __atomic_load_n(&e->filter, __ATOMIC_ACQUIRE);
	if (!f || fathom_filter_match(f, record, bytes, cpu))
		answer |= FATHOM_GATE_KEEP;
	return answer;
}

static void gate_copy(struct ctl_instance *tr, const void *record, uint32_t bytes, uint32_t cpu)
{
	struct fathom_ring *r = fathom_ctl_ring(tr, cpu);
	struct fathom_slot slot;
	void *to = fathom_ring_reserve(r, bytes, &slot);

	if (!to)
		return;
	wire_copy(to, record, bytes);
	fathom_ring_commit(r, &slot);
	if (__atomic_load_n(&tr->options, __ATOMIC_RELAXED) >> CTL_OPT_STACKTRACE & 1)
		fathom_stack_event_in(r, wire_context(record));
}

/*
 * tracepoint_printk: the event as Linux prints it there, `name: text`. What the console itself traces on the way does not come
 * back here.
 */
static __attribute__((noinline)) void gate_print(struct fathom_event *ev, const void *record,
						 uint32_t bytes, uint32_t cpu)
{
	static uint8_t busy[FATHOM_CPUS_MAX];
	char line[GATE_LINE], scratch[GATE_LINE];
	struct fathom_text t, tmp;

	if (busy[cpu])
		return;
	busy[cpu] = 1;
	fathom_text_init(&t, line, sizeof(line) - 1);
	fathom_text_init(&tmp, scratch, sizeof(scratch));
	fathom_text_str(&t, ev->name);
	fathom_text_str(&t, ": ");
	fathom_event_print(ev, record, bytes, &t, &tmp);
	line[t.len++] = '\n';
	fathom_core.config.sink(fathom_core.config.sink_arg, line, t.len);
	busy[cpu] = 0;
}

static uint32_t gate_decide(struct fathom_event *ev, const void *record, uint32_t bytes)
{
	struct ctl_event *top = ev->control;
	uint32_t cpu = fathom_port_cpu(), at, answer;

	if (!top || bytes < sizeof(struct wire_common))
		return FATHOM_GATE_KEEP;
	at = (uint32_t)(top - fathom_ctl.top.events);
	fathom_pool_enter(cpu);
	answer = gate_ask(&fathom_ctl.top, top, record, bytes, cpu);
	if (fathom_ctl.printk && answer & FATHOM_GATE_KEEP)
		gate_print(ev, record, bytes, cpu);
	for (uint32_t i = 1; i <= FATHOM_INSTANCES_MAX; i++) {
		/* Pairs with the release in state_instance_new(). */
		struct ctl_instance *tr =
			__atomic_load_n(&fathom_ctl.instance[i], __ATOMIC_ACQUIRE);
		uint32_t a;

		if (!tr)
			continue;
		a = gate_ask(tr, &tr->events[at], record, bytes, cpu);
		if (a & FATHOM_GATE_KEEP)
			gate_copy(tr, record, bytes, cpu);
		answer |= a & ~(uint32_t)FATHOM_GATE_KEEP;
	}
	fathom_pool_leave(cpu);
	return answer;
}

static void gate_after(struct fathom_event *ev, const void *record, uint32_t bytes,
		       uint32_t context, uint64_t time)
{
	struct ctl_event *top = ev->control;
	uint32_t cpu = fathom_port_cpu(), at = (uint32_t)(top - fathom_ctl.top.events);

	fathom_pool_enter(cpu);
	for (uint32_t i = 0; i <= FATHOM_INSTANCES_MAX; i++) {
		struct ctl_instance *tr =
			__atomic_load_n(&fathom_ctl.instance[i], __ATOMIC_ACQUIRE);
		struct ctl_trigger *t;

		if (!tr)
			continue;
		t = __atomic_load_n(&tr->events[at].triggers, __ATOMIC_ACQUIRE);
		if (t)
			fathom_trigger_run_after(t, record, bytes, cpu, context, time);
	}
	fathom_pool_leave(cpu);
}

void fathom_ctl_gate_init(void)
{
	fathom_gate.decide = gate_decide;
	fathom_gate.after = gate_after;
	fathom_gate.stack = fathom_stack_event; /* the top's option stacktrace */
	fathom_gate.hold = fathom_ctl_snapshots_hold;
	fathom_gate.release = fathom_ctl_snapshots_release;
	fathom_gate.enter = fathom_pool_enter;
	fathom_gate.leave = fathom_pool_leave;
	fathom_gate.exit = fathom_core.config.dynamic ? fathom_core.config.dynamic->forget : 0;
	fathom_ctl_function_commands();
	fathom_ctl_events_init();
}

/* Does this instance need the gate for the event? The top alone, plainly on, does not. */
static int gate_needed(const struct ctl_instance *tr, const struct ctl_event *e)
{
	if (e->triggers || e->soft || e->probed)
		return 1;
	if (!e->on)
		return 0;
	return tr->index || fathom_ctl.printk || e->filter || tr->pids[CTL_EVENT_PIDS] ||
	       tr->pids[CTL_EVENT_NOTRACE_PIDS];
}

#define GATE_BITS (uint32_t)(FATHOM_EVENT_ON | FATHOM_EVENT_GATE | FATHOM_EVENT_STACK)

/* Which of them the event needs. */
static uint32_t gate_bits(uint32_t event)
{
	uint32_t set = 0;

	for (uint32_t i = 0; i <= FATHOM_INSTANCES_MAX; i++) {
		struct ctl_instance *tr = fathom_ctl.instance[i];

		if (tr && gate_needed(tr, &tr->events[event]))
			set |= FATHOM_EVENT_ON | FATHOM_EVENT_GATE;
	}
	if (fathom_ctl.top.events[event].on)
		set |= FATHOM_EVENT_ON;
	if (set && fathom_ctl_option(&fathom_ctl.top, CTL_OPT_STACKTRACE))
		set |= FATHOM_EVENT_STACK;
	return set;
}

int fathom_ctl_event_update(uint32_t event)
{
	struct fathom_event *ev = fathom_ctl_event(event);
	uint32_t set;
	int err;

	if (fathom_event_is_internal(ev))
		return 0;
	set = gate_bits(event);
	err = fathom_event_set(ev, set, GATE_BITS & ~set);
	return err || !fathom_core.config.dynamic ? err : fathom_core.config.dynamic->turned(ev);
}

static int gate_site(const struct fathom_event *ev, const void *arg)
{
	const struct ctl_events *m = arg;
	const struct ctl_event *top = ev->control;
	uint32_t event = top ? (uint32_t)(top - fathom_ctl.top.events) : 0;

	if (!top || fathom_event_is_internal(ev) || !m->in(m, event))
		return -1;
	return (gate_bits(event) | (ev->state & ~GATE_BITS)) != 0;
}

int fathom_ctl_printk(int on)
{
	int last = 0;

	if (on && !fathom_core.config.sink)
		return -FATHOM_ENODEV;
	fathom_ctl.printk = (uint8_t)on;
	for (uint32_t i = 0; i < fathom_ctl.nr_events; i++) {
		int err = fathom_ctl_event_update(i);

		last = err ? err : last;
	}
	return last;
}

int fathom_ctl_events_enable(const struct ctl_events *m, int on)
{
	int last = 0;

	for (uint32_t i = 0; i < fathom_ctl.nr_events; i++)
		if (m->in(m, i))
			__atomic_store_n(&m->tr->events[i].on, (uint32_t) !!on, __ATOMIC_RELAXED);
	fathom_event_sites(gate_site, m);
	for (uint32_t i = 0; i < fathom_ctl.nr_events; i++) {
		int err = m->in(m, i) ? fathom_ctl_event_update(i) : 0;

		if (!err)
			continue;
		__atomic_store_n(&m->tr->events[i].on, (uint32_t)!on, __ATOMIC_RELAXED);
		last = err;
	}
	return last;
}

int fathom_ctl_event_enable(struct ctl_instance *tr, uint32_t event, int on)
{
	struct ctl_event *e = &tr->events[event];
	uint32_t was = e->on;
	int err;

	__atomic_store_n(&e->on, (uint32_t) !!on, __ATOMIC_RELAXED);
	err = fathom_ctl_event_update(event);
	if (err)
		__atomic_store_n(&e->on, was, __ATOMIC_RELAXED);
	return err;
}

void fathom_ctl_event_clear(struct ctl_instance *tr, uint32_t event)
{
	struct ctl_event *e = &tr->events[event];
	struct fathom_filter *f = e->filter;

	fathom_trigger_remove_all(tr, event);
	__atomic_store_n(&e->filter, (struct fathom_filter *)0, __ATOMIC_SEQ_CST);
	fathom_pool_retire(f);
	fathom_pool_put(e->note);
	e->note = 0;
	e->soft = 0;
	if (e->on)
		fathom_ctl_event_enable(tr, event, 0);
}

void fathom_ctl_events_clear(struct ctl_instance *tr)
{
	for (uint32_t i = 0; i < fathom_ctl.nr_events; i++)
		fathom_ctl_event_clear(tr, i);
	for (uint32_t k = 0; k < CTL_PID_LISTS; k++) {
		struct fathom_pids *p = tr->pids[k];

		__atomic_store_n(&tr->pids[k], (struct fathom_pids *)0, __ATOMIC_SEQ_CST);
		fathom_pool_retire(p);
	}
}
