/* SPDX-License-Identifier: MIT */
/* function_cmd.c -- function probes that belong to control: snapshot, enable_event, disable_event. */
#include "control/control.h"
#include "control/str.h"
#include "functions/tracer.h"

static struct ctl_instance *function_owner(const struct fathom_listener *l)
{
	return l ? l->owner : &fathom_ctl.top;
}

static void function_snapshot(const struct fathom_function_hit *hit)
{
	fathom_ctl_snapshot_ask(function_owner(hit->instance));
}

static int function_event_open(struct fathom_listener *l, const char *arg, size_t bytes,
			       void **data)
{
	uint32_t i = fathom_ctl_event_find(arg, bytes);

	if (i == fathom_ctl.nr_events)
		return -FATHOM_EINVAL;
	*data = &function_owner(l)->events[i];
	return 0;
}

static void function_event_turn(void *data, uint32_t on)
{
	struct ctl_event *e = data;

	__atomic_store_n(&e->on, on, __ATOMIC_RELAXED);
}

static void function_enable(const struct fathom_function_hit *hit)
{
	function_event_turn(hit->data, 1);
}

static void function_disable(const struct fathom_function_hit *hit)
{
	function_event_turn(hit->data, 0);
}

static int function_is_on(const struct fathom_function_hit *hit)
{
	return __atomic_load_n(&((struct ctl_event *)hit->data)->on, __ATOMIC_RELAXED) != 0;
}

static int function_is_off(const struct fathom_function_hit *hit)
{
	return !function_is_on(hit);
}

/* Lock held: one text at a time. */
static const char *function_event_describe(struct fathom_listener *l, void *data)
{
	static char buf[2 * FATHOM_NAME_MAX + 2];
	const struct fathom_event *ev =
		fathom_ctl_event((uint32_t)((struct ctl_event *)data - function_owner(l)->events));
	struct fathom_text t;

	fathom_text_init(&t, buf, sizeof(buf));
	fathom_text_str(&t, ev->system);
	fathom_text_char(&t, ':');
	fathom_text_str(&t, ev->name);
	return fathom_text_cstr(&t);
}

void fathom_ctl_function_commands(void)
{
	static const struct fathom_function_command commands[] = {
		{"snapshot", 0, function_snapshot, 0, 0},
		{"enable_event", function_event_open, function_enable, function_event_describe,
		 function_is_on},
		{"disable_event", function_event_open, function_disable, function_event_describe,
		 function_is_off},
	};

	for (uint32_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		fathom_function_command_add(&commands[i]);
}

/* Probes came or went: events they may turn run their sites, so that they can be turned in any context. */
void fathom_ctl_function_events(struct ctl_instance *tr)
{
	struct fathom_function_probe p;

	for (uint32_t i = 0; i < fathom_ctl.nr_events; i++)
		tr->events[i].probed &= 1;
	for (uint32_t i = 0; fathom_listener_probe_at(tr->functions, i, &p) == 1; i++) {
		uint32_t event =
			p.arg ? fathom_ctl_event_find(p.arg, ctl_len(p.arg)) : fathom_ctl.nr_events;

		if (event < fathom_ctl.nr_events)
			tr->events[event].probed |= 2;
	}
	for (uint32_t i = 0; i < fathom_ctl.nr_events; i++) {
		struct ctl_event *e = &tr->events[i];
		uint32_t now = e->probed >> 1;

		if (now != (e->probed & 1)) {
			e->probed = now | now << 1;
			fathom_ctl_event_update(i);
		}
	}
}
