/* SPDX-License-Identifier: MIT */
/* function_cmd.c -- function probes that belong to control: snapshot, enable_event, disable_event. */
#include "control/control.h"
#include "control/pool.h"
#include "control/str.h"
#include "fathom/tracer.h"

struct function_event {
	uint32_t event;
	char text[96]; /* "sys:event", for the list */
};

static void snapshot_run(uintptr_t ip, uintptr_t parent_ip, void *data)
{
	(void)ip;
	(void)parent_ip;
	(void)data;
	fathom_ctl_snapshot_take(&fathom_ctl.top, ~0u);
}

static int snapshot_open_cmd(const char *arg, size_t bytes, void **data)
{
	(void)arg;
	*data = 0;
	return bytes ? -FATHOM_EINVAL : fathom_ctl_snapshot_alloc(&fathom_ctl.top);
}

/* `sys:event`: the event runs its sites from now on, so that it can be turned in any context. */
static int event_open_cmd(const char *arg, size_t bytes, void **data)
{
	size_t colon = ctl_find(arg, bytes, ':');
	struct function_event *e;

	if (colon == bytes || bytes >= sizeof(e->text))
		return -FATHOM_EINVAL;
	for (uint32_t i = 0; i < fathom_ctl.nr_events; i++) {
		const struct fathom_event *ev = fathom_event_at(i);

		if (!ctl_is(arg, colon, ev->system) || fathom_event_is_internal(ev) ||
		    !ctl_is(arg + colon + 1, bytes - colon - 1, ev->name))
			continue;
		e = fathom_pool_get(sizeof(*e));
		if (!e)
			return -FATHOM_ENOMEM;
		e->event = i;
		__builtin_memcpy(e->text, arg, bytes);
		fathom_ctl.top.events[i].soft++;
		*data = e;
		return fathom_ctl_event_update(i);
	}
	return -FATHOM_EINVAL;
}

static void event_close_cmd(void *data)
{
	struct function_event *e = data;

	if (!e)
		return;
	if (fathom_ctl.top.events[e->event].soft)
		fathom_ctl.top.events[e->event].soft--;
	fathom_ctl_event_update(e->event);
	fathom_pool_retire(e);
}

static void event_turn(void *data, uint32_t on)
{
	const struct function_event *e = data;

	__atomic_store_n(&fathom_ctl.top.events[e->event].on, on, __ATOMIC_RELAXED);
}

static void enable_run(uintptr_t ip, uintptr_t parent_ip, void *data)
{
	(void)ip;
	(void)parent_ip;
	event_turn(data, 1);
}

static void disable_run(uintptr_t ip, uintptr_t parent_ip, void *data)
{
	(void)ip;
	(void)parent_ip;
	event_turn(data, 0);
}

static const char *event_describe(void *data)
{
	return ((struct function_event *)data)->text;
}

void fathom_ctl_function_commands(void)
{
	static const struct fathom_function_command commands[] = {
		{"snapshot", snapshot_open_cmd, 0, snapshot_run, 0},
		{"enable_event", event_open_cmd, event_close_cmd, enable_run, event_describe},
		{"disable_event", event_open_cmd, event_close_cmd, disable_run, event_describe},
	};

	for (uint32_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		fathom_function_command_add(&commands[i]);
}
