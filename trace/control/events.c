/* SPDX-License-Identifier: MIT */
/* events.c -- the places that events have in the tree: given when the tree is made or their object comes, left when it goes. */
#include "control/control.h"
#include "control/pool.h"
#include "control/str.h"
#include "control/tree.h"
#include "control/trigger.h"
#include "fathom/object.h"
#include "functions/probes.h"

/* What stands in a place that was left. Its id makes it internal, so nobody lists it or turns it on. */
static struct fathom_event events_gone = {.system = "", .name = "", .print_fmt = "", .id = 1};

static uint32_t events_lasting(struct fathom_event *ev)
{
	return !(ev->state & FATHOM_EVENT_FORMER);
}

/* The place that stands for the system of an event that comes to `at`: that of the others, or its own. */
static uint16_t events_system(uint32_t at, const char *system)
{
	for (uint32_t i = 0; i < fathom_ctl.nr_events; i++)
		if (i != at && !fathom_ctl_is_gone(i) &&
		    ctl_same(fathom_ctl_event(i)->system, system))
			return fathom_ctl.place[i].system;
	return (uint16_t)at;
}

static void events_take(uint32_t at, struct fathom_event *ev)
{
	struct ctl_place *p = &fathom_ctl.place[at];

	p->event = ev;
	p->system = events_system(at, ev->system);
	fathom_ctl.top.events[at].on = !!(ev->state & FATHOM_EVENT_ON);
	ev->control = &fathom_ctl.top.events[at];
}

int fathom_ctl_places_init(void)
{
	uint32_t room = fathom_core.config.module_events +
			(fathom_core.config.dynamic ? FATHOM_DYNAMIC_MAX : 0);
	struct fathom_event *ev;

	for (uint32_t i = 0; (ev = fathom_event_at(i)); i++)
		room += events_lasting(ev);
	if (room > CTL_NO_SYSTEM)
		room = CTL_NO_SYSTEM;
	fathom_ctl.room_events = room;
	fathom_ctl.place = fathom_pool_get(room * sizeof(*fathom_ctl.place) + 1);
	fathom_ctl.top.events = fathom_pool_get(room * sizeof(*fathom_ctl.top.events) + 1);
	if (!fathom_ctl.place || !fathom_ctl.top.events)
		return -FATHOM_ENOMEM;
	for (uint32_t i = 0; (ev = fathom_event_at(i)) && fathom_ctl.nr_events < room; i++)
		if (events_lasting(ev)) {
			events_take(fathom_ctl.nr_events, ev);
			fathom_ctl.nr_events++;
		}
	return 0;
}

uint32_t fathom_ctl_event_find(const char *s, size_t bytes)
{
	size_t colon = ctl_find(s, bytes, ':');
	uint32_t i = 0;

	for (; i < fathom_ctl.nr_events && colon < bytes; i++) {
		const struct fathom_event *ev = fathom_ctl_event(i);

		if (!fathom_event_is_internal(ev) && ctl_is(s, colon, ev->system) &&
		    ctl_is(s + colon + 1, bytes - colon - 1, ev->name))
			return i;
	}
	return fathom_ctl.nr_events;
}

/* ---- objects come and go ---- */

/* A place nobody has; events_free_places() tells whether there is one. */
static uint32_t events_free_place(void)
{
	uint32_t i = 0;

	while (i < fathom_ctl.nr_events && !fathom_ctl_is_gone(i))
		i++;
	return i;
}

static uint32_t events_free_places(void)
{
	uint32_t n = fathom_ctl.room_events - fathom_ctl.nr_events;

	for (uint32_t i = 0; i < fathom_ctl.nr_events; i++)
		n += (uint32_t)fathom_ctl_is_gone(i);
	return n;
}

static int events_come(struct fathom_object *o)
{
	uint32_t n = fathom_core.config.dynamic ? fathom_core.config.dynamic->kept(o) : 0;

	for (struct fathom_event *const *ev = o->events; ev < o->events_end; ev++)
		n += events_lasting(*ev);
	if (!fathom_ctl.ready || fathom_ctl.boot != fathom_core.boot)
		return 0; /* the tree is not made yet */
	if (n > events_free_places())
		return -FATHOM_ENOSPC;
	for (struct fathom_event *const *ev = o->events; ev < o->events_end; ev++) {
		uint32_t at = events_free_place();

		if (!events_lasting(*ev))
			continue;
		events_take(at, *ev);
		if (at == fathom_ctl.nr_events)
			fathom_ctl.nr_events++;
	}
	return 0;
}

/* The place stood for its system: the next of its events does so from now on, and keeps what was noted for all of them. */
static void events_hand_over(uint32_t at)
{
	uint32_t next = at;

	for (uint32_t i = 0; i < fathom_ctl.nr_events; i++) {
		if (i == at || fathom_ctl.place[i].system != at)
			continue;
		if (next == at)
			next = i;
		fathom_ctl.place[i].system = (uint16_t)next;
	}
	for (uint32_t i = 0; i <= FATHOM_INSTANCES_MAX && next != at; i++) {
		struct ctl_instance *tr = fathom_ctl_instance_at(i);

		if (!tr)
			continue;
		tr->events[next].note = tr->events[at].note;
		tr->events[at].note = 0;
	}
}

/* In one instance: what hangs on the event, and what elsewhere would turn it. */
static void events_forget(struct ctl_instance *tr, uint32_t at)
{
	struct ctl_event *e = &tr->events[at];

	if (fathom_probe_drop(e))
		fathom_ctl_function_events(tr);
	fathom_trigger_remove_aimed(tr, at);
	fathom_ctl_event_clear(tr, at);
	__builtin_memset(e, 0, sizeof(*e));
}

static void events_go(struct fathom_object *o)
{
	for (struct fathom_event *const *ev = o->events; ev < o->events_end; ev++) {
		struct ctl_event *top = (*ev)->control;
		uint32_t at = (uint32_t)(top - fathom_ctl.top.events);
		struct ctl_place *p;

		if (!top)
			continue;
		events_hand_over(at);
		for (uint32_t i = 0; i <= FATHOM_INSTANCES_MAX; i++)
			if (fathom_ctl_instance_at(i))
				events_forget(fathom_ctl_instance_at(i), at);
		p = &fathom_ctl.place[at];
		p->event = &events_gone;
		p->system = CTL_NO_SYSTEM;
		p->age++;
	}
}

static int events_turn(struct fathom_event *ev, int on)
{
	struct ctl_event *top = ev->control;

	return fathom_ctl_event_enable(&fathom_ctl.top, (uint32_t)(top - fathom_ctl.top.events),
				       on);
}

void fathom_ctl_events_init(void)
{
	fathom_gate.come = events_come;
	fathom_gate.go = events_go;
	fathom_gate.turn = events_turn;
}
