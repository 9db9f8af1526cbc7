/* SPDX-License-Identifier: MIT */
/* run.c -- a compiled program over events in the order of time, with its intervals. */
#include "program/run.h"
#include "base/vec.h"

#include "wire/glob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- which probes ---- */

static int add_probe(struct runner *r, uint32_t type, const struct probe *p)
{
	struct dispatch *d = &r->by_type[type];

	if (!VEC_MORE(d->probes, d->nr))
		return -ENOMEM;
	d->probes[d->nr++] = p;
	return 0;
}

static int dispatch_fill(struct runner *r)
{
	uint32_t i;
	int err = 0;

	r->by_type = calloc(SOURCE_ID_FAST, sizeof(*r->by_type));
	r->ticks = calloc(r->c->nr_probes + 1, sizeof(*r->ticks));
	r->matched = calloc(r->c->nr_probes + 1, sizeof(*r->matched));
	r->types = calloc(r->c->nr_probes + 1, sizeof(*r->types));
	if (!r->by_type || !r->ticks || !r->matched || !r->types)
		return -ENOMEM;
	for (i = 0; i < r->c->nr_probes && !err; i++) {
		const struct probe *p = &r->c->probes[i];

		r->uses_stack |= p->uses_stack;
		if (p->schema && p->schema->id < SOURCE_ID_FAST) {
			r->types[r->nr_types++] = p->schema->id;
			err = add_probe(r, p->schema->id, p);
		}
		if (p->kind == PROBE_INTERVAL || p->kind == PROBE_PROFILE)
			r->ticks[r->nr_ticks++].probe = p;
	}
	r->choice = *r->o->choice;
	if (!r->nr_ticks && !r->choice.types) { /* for profiles, every event says who runs */
		r->choice.types = r->types;
		r->choice.nr_types = r->nr_types;
	}
	return err;
}

static uint32_t type_named(struct source *s, const char *name)
{
	const struct schema *m = source_schema_named(s, name);

	return m ? m->id : 0;
}

int runner_init(struct runner *r, struct generator *c, const struct program_options *o, FILE *out)
{
	size_t i;
	int err;

	*r = (struct runner){.c = c, .source = c->source, .o = o};
	if (!machine_init(&r->machine, c, out))
		return -ENOMEM;
	err = dispatch_fill(r);
	if (err)
		return err;
	for (i = 0; i < r->source->nr_streams; i++)
		if (r->source->streams[i].cpu >= r->nr_running && r->source->streams[i].cpu < 65536)
			r->nr_running = r->source->streams[i].cpu + 1;
	r->running = malloc(sizeof(*r->running) * (r->nr_running + 1));
	if (!r->running)
		return -ENOMEM;
	memset(r->running, 0xff, sizeof(*r->running) * r->nr_running);
	r->stack_types[0] = type_named(r->source, "ftrace:kernel_stack");
	r->stack_types[1] = type_named(r->source, "ftrace:user_stack");
	return 0;
}

void runner_free(struct runner *r)
{
	uint32_t i;

	for (i = 0; r->by_type && i < SOURCE_ID_FAST; i++)
		free(r->by_type[i].probes);
	for (i = 0; r->matched && i < r->c->nr_probes; i++)
		idmap_free(&r->matched[i]);
	free(r->matched);
	free(r->by_type);
	free(r->ticks);
	free(r->types);
	free(r->running);
	machine_free(&r->machine);
}

/* ---- one event ---- */

static bool function_matches(struct runner *r, const struct probe *p, const struct event *e)
{
	uint64_t at = 0;
	struct symbol s;
	void **known;

	if (!strcmp(p->pattern, "*"))
		return true;
	if (!source_field(r->source, e, "func", &at))
		source_field(r->source, e, "ip", &at);
	known = idmap_at(&r->matched[p - r->c->probes], at);
	if (!known)
		return false;
	if (!*known)
		*known = (void *)(uintptr_t)(1 + (source_symbol(r->source, at, &s) &&
						  fathom_glob(p->pattern, strlen(p->pattern),
							      s.name, strlen(s.name))));
	return *known == (void *)2;
}

void runner_event(struct runner *r, const struct event *e)
{
	const struct dispatch *d = &r->by_type[e->type < SOURCE_ID_FAST ? e->type : 0];
	struct machine *m = &r->machine;
	uint32_t i;

	m->event = e;
	m->now = e->time;
	m->cpu = e->cpu;
	m->pid = e->pid;
	for (i = 0; i < d->nr && !m->done; i++) {
		const struct probe *p = d->probes[i];

		if (e->size < p->record_bytes)
			r->cut++;
		else if (!p->pattern || function_matches(r, p, e))
			machine_run(m, p);
	}
}

/* ---- time ---- */

static void profile(struct runner *r, const struct probe *p)
{
	struct machine *m = &r->machine;
	uint32_t i;

	for (i = 0; i < r->nr_running && !m->done; i++)
		if (r->running[i] >= 0) { /* a CPU of which nothing is known gives no sample */
			m->cpu = i;
			m->pid = r->running[i];
			machine_run(m, p);
		}
}

/* What is due before the time of the next event, in its order. */
static void ticks_until(struct runner *r, uint64_t time)
{
	struct machine *m = &r->machine;
	uint32_t i, first;

	while (!m->done) {
		for (i = 1, first = 0; i < r->nr_ticks; i++)
			if (r->ticks[i].next < r->ticks[first].next)
				first = i;
		if (!r->nr_ticks || r->ticks[first].next > time)
			return;
		m->event = NULL;
		m->kernel_stack = m->user_stack = NULL;
		m->now = r->ticks[first].next;
		m->cpu = 0;
		m->pid = 0;
		if (r->ticks[first].probe->kind == PROBE_PROFILE)
			profile(r, r->ticks[first].probe);
		else
			machine_run(m, r->ticks[first].probe);
		r->ticks[first].next += r->ticks[first].probe->period_ns;
	}
}

/* sched_switch is of the task that leaves; who runs then is in it. */
static void note_running(struct runner *r, const struct event *e, uint32_t switch_type)
{
	uint64_t next;

	if (!r->nr_ticks || e->cpu >= r->nr_running)
		return;
	r->running[e->cpu] = e->pid;
	if (e->type == switch_type && source_field(r->source, e, "next_pid", &next))
		r->running[e->cpu] = (int32_t)next;
}

/* ---- all events ---- */

/* A copy of the event, because a look at the records after it takes its data away. */
static const struct event *with_stack(struct runner *r, struct merge *m, const struct event *e,
				      struct event *copy)
{
	static __thread uint8_t data[65536 * 4];
	struct machine *vm = &r->machine;
	const struct event *next;

	vm->kernel_stack = vm->user_stack = NULL;
	if (!r->by_type[e->type < SOURCE_ID_FAST ? e->type : 0].nr || e->size > sizeof(data))
		return e;
	*copy = *e;
	memcpy(data, e->data, e->size);
	copy->data = data;
	next = merge_peek(m);
	if (next && next->type == r->stack_types[0] && r->stack_types[0])
		vm->kernel_stack = next;
	else if (next && next->type == r->stack_types[1] && r->stack_types[1])
		vm->user_stack = next;
	return copy;
}

static void one(struct runner *r, const struct event *e, uint32_t switch_type)
{
	if (r->nr_ticks)
		ticks_until(r, e->time);
	if (!r->machine.done)
		runner_event(r, e);
	note_running(r, e, switch_type);
}

/* The stack of an event is in the records after it. */
static void in_order_with_stacks(struct runner *r, struct scan *sc, uint32_t switch_type)
{
	struct merge *m = scan_merge(sc);
	const struct event *e;
	struct event copy;

	while (!r->machine.done && (e = merge_next(m)) && e->time <= r->choice.to)
		if (e->time >= r->choice.from && scan_match(sc, e))
			one(r, with_stack(r, m, e, &copy), switch_type);
}

static int in_order(struct runner *r)
{
	struct scan *sc = scan_open(r->source, &r->choice, NULL);
	uint32_t switch_type = type_named(r->source, "sched:sched_switch");
	const struct event *e;

	if (!sc)
		return -ENOMEM;
	if (r->uses_stack)
		in_order_with_stacks(r, sc, switch_type);
	else
		while (!r->machine.done && (e = scan_next(sc)))
			one(r, e, switch_type);
	scan_close(sc);
	return 0;
}

/* Of the trace as it was asked for, whether or not the program has a probe for the event. */
static uint64_t first_time(struct runner *r)
{
	struct scan *sc = scan_open(r->source, r->o->choice, NULL);
	const struct event *e = sc ? scan_next(sc) : NULL;
	uint64_t t = e ? e->time : 0;

	scan_close(sc);
	return t;
}

static void run_kind(struct runner *r, enum probe_kind kind)
{
	uint32_t i;

	r->machine.event = NULL;
	r->machine.pid = 0;
	r->machine.cpu = 0;
	for (i = 0; i < r->c->nr_probes; i++)
		if (r->c->probes[i].kind == kind)
			machine_run(&r->machine, &r->c->probes[i]);
}

int runner_run(struct runner *r)
{
	uint32_t i;
	int err = 0;

	r->machine.now = r->machine.started = first_time(r);
	for (i = 0; i < r->nr_ticks; i++)
		r->ticks[i].next = r->machine.started + r->ticks[i].probe->period_ns;
	run_kind(r, PROBE_BEGIN);
	if (!r->machine.done)
		err = r->o->threads != 1 && parallel_is_possible(r) ? parallel_run(r) : in_order(r);
	r->machine.done = false;
	if (!err)
		run_kind(r, PROBE_END);
	return err;
}
