/* SPDX-License-Identifier: MIT */
/* trigger.c -- triggers as they run, in the event's context. */
#include "control/hist.h"
#include "control/str.h"
#include "control/trigger.h"
#include "functions/tracers.h"

static int trigger_is_late(const struct ctl_trigger *t)
{
	return t->kind == CTL_TRIGGER_SNAPSHOT || t->kind == CTL_TRIGGER_STACKTRACE ||
	       t->kind == CTL_TRIGGER_CALL;
}

/* Switching what is switched already does not use up a run, as in Linux. */
static void trigger_switch(struct ctl_trigger *t, int on)
{
	if (fathom_ctl_is_recording(t->tr) != on && ctl_trigger_take(t))
		fathom_ctl_recording(t->tr, on);
}

static void trigger_turn_event(struct ctl_trigger *t, uint32_t on)
{
	struct ctl_event *e = &t->tr->events[t->target];

	if (__atomic_load_n(&e->on, __ATOMIC_RELAXED) != on && ctl_trigger_take(t))
		__atomic_store_n(&e->on, on, __ATOMIC_RELAXED);
}

static void trigger_turn_hists(struct ctl_trigger *t, uint32_t paused)
{
	struct ctl_trigger *h =
		__atomic_load_n(&t->tr->events[t->target].triggers, __ATOMIC_ACQUIRE);

	if (!ctl_trigger_take(t))
		return;
	for (; h; h = __atomic_load_n(&h->next, __ATOMIC_ACQUIRE))
		if (h->kind == CTL_TRIGGER_HIST)
			__atomic_store_n(&h->hist->paused, paused, __ATOMIC_RELAXED);
}

static void trigger_fire(struct ctl_trigger *t, const void *record, uint32_t bytes, uint32_t cpu,
			 uint32_t context)
{
	switch (t->kind) {
	case CTL_TRIGGER_TRACEON:
	case CTL_TRIGGER_TRACEOFF: trigger_switch(t, t->kind == CTL_TRIGGER_TRACEON); break;
	case CTL_TRIGGER_ENABLE:
	case CTL_TRIGGER_DISABLE: trigger_turn_event(t, t->kind == CTL_TRIGGER_ENABLE); break;
	case CTL_TRIGGER_HIST_ENABLE:
	case CTL_TRIGGER_HIST_DISABLE:
		trigger_turn_hists(t, t->kind == CTL_TRIGGER_HIST_DISABLE);
		break;
	case CTL_TRIGGER_HIST: fathom_hist_update(t->hist, record, bytes, cpu); break;
	case CTL_TRIGGER_SNAPSHOT:
		if (ctl_trigger_take(t))
			fathom_ctl_snapshot_ask(t->tr);
		break;
	case CTL_TRIGGER_STACKTRACE:
		if (ctl_trigger_take(t))
			fathom_stack_event_in(fathom_ctl_ring(t->tr, cpu), context);
		break;
	default: break;
	}
}

uint32_t fathom_trigger_run(struct ctl_trigger *first, const void *record, uint32_t bytes,
			    uint32_t cpu, int on)
{
	uint32_t late = 0;

	for (struct ctl_trigger *t = first; t; t = __atomic_load_n(&t->next, __ATOMIC_ACQUIRE)) {
		if (t->kind == CTL_TRIGGER_CALL && !on) /* there is no time to wait for */
			t->call(t->data, record, bytes, cpu, 0);
		else if (trigger_is_late(t))
			late |= t->kind == CTL_TRIGGER_CALL ? FATHOM_GATE_AFTER | FATHOM_GATE_CALL
							    : FATHOM_GATE_AFTER;
		else if (!t->filter || fathom_filter_match(t->filter, record, bytes, cpu))
			trigger_fire(t, record, bytes, cpu, wire_context(record));
	}
	return late;
}

/* A record too large for the scratch is in the ring by now and not here: what needs to look at it does not run. */
void fathom_trigger_run_after(struct ctl_trigger *first, const void *record, uint32_t bytes,
			      uint32_t cpu, uint32_t context, uint64_t time)
{
	for (struct ctl_trigger *t = first; t; t = __atomic_load_n(&t->next, __ATOMIC_ACQUIRE)) {
		if (t->kind == CTL_TRIGGER_CALL && time)
			t->call(t->data, record, bytes, cpu, time);
		if (!trigger_is_late(t) || t->kind == CTL_TRIGGER_CALL)
			continue;
		if (!t->filter || (record && fathom_filter_match(t->filter, record, bytes, cpu)))
			trigger_fire(t, record, bytes, cpu, context);
	}
}
