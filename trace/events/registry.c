/* SPDX-License-Identifier: MIT */
/* registry.c -- the events of the program: ids, lookup, on and off. */
#include "wire/cold.h"
#include "fathom/inside/errno.h"
#include "fathom/object.h"
#include "fathom/tracepoint.h"
#include "events/lock.h"
#include "events/registry.h"

/*
 * The program itself, then what was added. The linker makes the symbols around a section; fathom.lds has them for linker
 * scripts that name their sections. On an arch without call sites that section is empty.
 */
FATHOM_OBJECT(registry_program);

struct fathom_gate fathom_gate;

#define REGISTRY_ID_MAX 0xffffu
static uint16_t registry_last_id;

static struct fathom_object *registry_next(struct fathom_object *o)
{
	return __atomic_load_n(
		&o->next, __ATOMIC_ACQUIRE); /* pairs with the release in fathom_object_add() */
}

const struct fathom_object *fathom_object_next(const struct fathom_object *o)
{
	return o ? registry_next((struct fathom_object *)o) : &registry_program;
}

static uint32_t registry_events(const struct fathom_object *o)
{
	return (uint32_t)(((uintptr_t)o->events_end - (uintptr_t)o->events) / sizeof(*o->events));
}

uint32_t fathom_event_count(void)
{
	uint32_t n = 0;

	for (struct fathom_object *o = &registry_program; o; o = registry_next(o))
		n += registry_events(o);
	return n;
}

struct fathom_event *fathom_event_at(uint32_t index)
{
	for (struct fathom_object *o = &registry_program; o; o = registry_next(o)) {
		if (index < registry_events(o))
			return o->events[index];
		index -= registry_events(o);
	}
	return NULL;
}

static void registry_forget(struct fathom_event *ev)
{
	if (!fathom_event_is_internal(ev))
		fathom_event_set(ev, 0, ~0u);
	ev->control = NULL;
}

int fathom_object_remove_locked(struct fathom_object *o)
{
	struct fathom_object *before = &registry_program;

	while (before && before->next != o)
		before = before->next;
	if (!before)
		return -FATHOM_ENOENT;
	if (fathom_gate.go && fathom_core.nr_cpus)
		fathom_gate.go(o);
	for (uint32_t i = 0; i < registry_events(o); i++)
		registry_forget(o->events[i]);
	__atomic_store_n(&before->next, o->next, __ATOMIC_RELEASE);
	return 0;
}

int fathom_object_remove(struct fathom_object *o)
{
	int err;

	fathom_lock();
	err = fathom_object_remove_locked(o);
	fathom_unlock();
	return err;
}

static int registry_none(const struct fathom_event *ev, const void *arg)
{
	(void)ev, (void)arg;
	return 0;
}

void fathom_registry_exit(void)
{
	struct fathom_event *ev;

	fathom_event_sites(registry_none, NULL);
	for (uint32_t i = 0; (ev = fathom_event_at(i)); i++)
		registry_forget(ev);
}

static int registry_same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

int fathom_event_is_internal(const struct fathom_event *ev)
{
	return (ev->id && ev->id < WIRE_ID_FIRST) || ev->state & FATHOM_EVENT_FORMER;
}

struct fathom_event *fathom_event_find(const char *system, const char *name)
{
	struct fathom_event *ev;

	for (uint32_t i = 0; (ev = fathom_event_at(i)); i++) {
		if (registry_same(ev->name, name) &&
		    (!system || registry_same(ev->system, system)) &&
		    !(ev->state & FATHOM_EVENT_FORMER))
			return ev;
	}
	return NULL;
}

/* Ids above the fixed ones ascend with the index, so the guess is right but for internal events in between. */
struct fathom_event *fathom_event_by_id(uint16_t id)
{
	uint32_t n = fathom_event_count();
	uint32_t from = id >= WIRE_ID_FIRST ? (uint32_t)(id - WIRE_ID_FIRST) : 0;

	for (uint32_t i = 0; i < n; i++) {
		struct fathom_event *ev = fathom_event_at((from + i) % n);

		if (ev->id == id)
			return ev;
	}
	return NULL;
}

static int registry_this(const struct fathom_event *ev, const void *arg)
{
	return ev == arg ? 1 : -1;
}

static int registry_this_off(const struct fathom_event *ev, const void *arg)
{
	return ev == arg ? 0 : -1;
}

/* Jumps or NOPs at every site of the event. 0 or an error: some sites may be changed. */
static int registry_patch(const struct fathom_event *ev, int on)
{
	return fathom_event_sites(on ? registry_this : registry_this_off, ev);
}

/* Ids are given once and stay, so a buffer kept over fathom_exit() and fathom_init() still reads. */
int fathom_registry_init(void)
{
	struct fathom_event *ev;

	for (struct fathom_object *o = &registry_program; o; o = registry_next(o))
		if (!fathom_event_sites_ok(o))
			return -FATHOM_EINVAL;
	if (registry_last_id < WIRE_ID_FIRST)
		registry_last_id = WIRE_ID_FIRST - 1;
	for (uint32_t i = 0; (ev = fathom_event_at(i)); i++) {
		if (!ev->fields && ev->setup)
			ev->setup(ev);
		if (!ev->id)
			ev->id = ++registry_last_id;
	}
	return 0;
}

int fathom_object_add_locked(struct fathom_object *o)
{
	struct fathom_object *last = &registry_program;

	for (; last != o && last->next; last = last->next)
		;
	if (last == o)
		return -FATHOM_EEXIST;
	if (fathom_core.nr_cpus && registry_events(o) > REGISTRY_ID_MAX - registry_last_id)
		return -FATHOM_E2BIG;
	if (!fathom_event_sites_ok(o))
		return -FATHOM_EINVAL;
	o->next = NULL;
	__atomic_store_n(&last->next, o, __ATOMIC_RELEASE);
	if (!fathom_core.nr_cpus)
		return 0;
	fathom_registry_init();
	return fathom_gate.come ? fathom_gate.come(o) : 0;
}

int fathom_object_add(struct fathom_object *o)
{
	int err;

	fathom_lock();
	err = fathom_object_add_locked(o);
	fathom_unlock();
	return err;
}

int fathom_event_set(struct fathom_event *ev, uint32_t set, uint32_t clear)
{
	uint32_t old = ev->state, now = (old & ~clear) | set;
	int err = 0;

	FATHOM_LOCKED();
	if (now && !old) {
		if (ev->reg)
			err = ev->reg();
		if (err) {
			registry_patch(ev, 0); /* with others it was made ready ahead */
			return err;
		}
		__atomic_store_n(&ev->state, now, __ATOMIC_RELEASE);
		err = registry_patch(ev, 1);
		if (err) {
			registry_patch(ev, 0);
			__atomic_store_n(&ev->state, 0, __ATOMIC_RELEASE);
		}
		if (err && ev->unreg)
			ev->unreg();
		return err;
	}
	if (old && !now) {
		err = registry_patch(ev, 0);
		if (err)
			return err;
	}
	__atomic_store_n(&ev->state, now, __ATOMIC_RELEASE);
	if (old && !now && ev->unreg)
		ev->unreg();
	return 0;
}

static int registry_is(const char *pattern, size_t bytes, const char *name)
{
	return fathom_glob(pattern, bytes, name, fathom_strlen(name));
}

static int registry_turn(struct fathom_event *ev, int on)
{
	if (ev->control && fathom_gate.turn)
		return fathom_gate.turn(ev, on);
	return on ? fathom_event_set(ev, FATHOM_EVENT_ON, 0)
		  : fathom_event_set(ev, 0, FATHOM_EVENT_ON);
}

static int registry_matches(const struct fathom_event *ev, const char *pattern)
{
	size_t bytes = fathom_strlen(pattern), colon = 0;

	if (fathom_event_is_internal(ev))
		return 0;
	while (colon < bytes && pattern[colon] != ':')
		colon++;
	if (colon == bytes)
		return registry_is(pattern, bytes, ev->name) ||
		       registry_is(pattern, bytes, ev->system);
	return registry_is(pattern, colon, ev->system) &&
	       (colon + 1 == bytes ||
		registry_is(pattern + colon + 1, bytes - colon - 1, ev->name));
}

static int registry_matches_on(const struct fathom_event *ev, const void *pattern)
{
	return registry_matches(ev, pattern) ? 1 : -1;
}

/* Of an event that has files the tree decides; else it stays on for its hooks. */
static int registry_matches_off(const struct fathom_event *ev, const void *pattern)
{
	if (ev->control || !registry_matches(ev, pattern))
		return -1;
	return (ev->state & ~(uint32_t)FATHOM_EVENT_ON) != 0;
}

int fathom_event_enable_locked(const char *pattern, int on)
{
	struct fathom_event *ev;
	int matched = 0, err;

	/* All sites at once; the events then find theirs as they shall be, or say why they cannot. */
	fathom_event_sites(on ? registry_matches_on : registry_matches_off, pattern);
	for (uint32_t i = 0; (ev = fathom_event_at(i)); i++) {
		if (!registry_matches(ev, pattern))
			continue;
		err = registry_turn(ev, on);
		if (err)
			return err;
		matched++;
	}
	return matched ? matched : -FATHOM_EINVAL;
}

int fathom_event_enable(const char *pattern, int on)
{
	int n;

	fathom_lock();
	n = fathom_event_enable_locked(pattern, on);
	fathom_unlock();
	return n;
}
