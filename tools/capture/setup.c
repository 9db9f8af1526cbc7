/* SPDX-License-Identifier: MIT */
/* setup.c -- switch on in a target what was asked for: events with filters and triggers, tracer, functions, options. */
#include "capture/setup.h"
#include "base/diag.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* ---- events ---- */

static const char *pattern_of(const char *name)
{
	return strcmp(name, "*") && strcmp(name, "all") ? name : "*:*";
}

/* The name of the event that a format file describes. */
static void name_of(const struct capture_format *f, char *to, size_t bytes)
{
	const char *name = strncmp(f->text, "name: ", 6) ? "" : f->text + 6;

	snprintf(to, bytes, "%.*s", (int)strcspn(name, "\n"), name);
}

/* Does the argument of -e match this event: "system:event", or either of them alone, with wildcards? */
static bool means(const char *pattern, const char *system, const char *event)
{
	const char *colon = strpbrk(pattern, ":/");
	char first[128];

	if (!colon)
		return !fnmatch(pattern, event, 0) || !fnmatch(pattern, system, 0);
	snprintf(first, sizeof(first), "%.*s", (int)(colon - pattern), pattern);
	return !fnmatch(first, system, 0) && !fnmatch(colon + 1, event, 0);
}

/* One event, or a whole system ("": all of it): set its filter and trigger, and switch it on or off. */
static int set_one(struct steer *s, const struct record_event *e, const char *system,
		   const char *event)
{
	char path[300], text[300];

	snprintf(path, sizeof(path), "events/%s%s%s/filter", system, *event ? "/" : "", event);
	if (e->filter && steer_set(s, path, e->filter))
		return -1;
	snprintf(path, sizeof(path), "events/%s/%s/trigger", system, event);
	if (e->trigger && steer_trigger(s, path, e->trigger))
		return -1;
	snprintf(text, sizeof(text), "%s%s:%s", e->off ? "!" : "", system, *event ? event : "*");
	return steer_add(s, "set_event", text, "no such event");
}

/*
 * Patterns are resolved here: Linux has none but `*` for a whole system. A system is set at once, unless a trigger is for
 * each of its events.
 */
static int set_event(struct steer *s, const struct record_event *e, const struct capture *c)
{
	const char *pattern = pattern_of(e->name), *last = "";
	bool by_system = !e->trigger && !strpbrk(pattern, "*?[:/");
	unsigned found = 0;

	if (!strcmp(pattern, "*:*") && !e->filter && !e->trigger)
		return steer_add(s, "set_event", e->off ? "!*:*" : "*:*", "it has no events");
	for (size_t i = 0; i < c->nr_formats; i++) {
		const char *system = c->formats[i].system;
		bool whole = by_system && !strcmp(pattern, system);
		char event[128];

		name_of(&c->formats[i], event, sizeof(event));
		if (!strcmp(system, "ftrace") || !means(pattern, system, event) ||
		    (whole && !strcmp(last, system)))
			continue;
		if (set_one(s, e, system, whole ? "" : event))
			return -1;
		last = whole ? system : "";
		found++;
	}
	if (!found)
		diag_error("%s: %s: no such event", s->target, e->name);
	return found ? 0 : -1;
}

/* Only the events that were named. If none was named: all, unless a tracer was asked for. */
static int set_events(struct steer *s, const struct record_options *o, const struct capture *c)
{
	if (steer_list(s, "set_event", NULL, 0))
		return -1;
	if (!o->nr_events && !o->tracer)
		return steer_add(s, "set_event", "*:*", "it has no events");
	for (unsigned i = 0; i < o->nr_events; i++)
		if (set_event(s, &o->events[i], c))
			return -1;
	return 0;
}

/* ---- the rest ---- */

static int set_option(struct steer *s, const char *name)
{
	char path[128];
	bool off;

	snprintf(path, sizeof(path), "options/%s", name);
	off = !strncmp(name, "no", 2) && !steer_has(s, path);
	if (off)
		snprintf(path, sizeof(path), "options/%s", name + 2);
	return steer_set(s, path, off ? "0" : "1");
}

static int set_functions(struct steer *s, const struct record_options *o)
{
	if ((o->nr_functions &&
	     steer_list(s, "set_ftrace_filter", o->functions, o->nr_functions)) ||
	    (o->nr_not_functions &&
	     steer_list(s, "set_ftrace_notrace", o->not_functions, o->nr_not_functions)) ||
	    (o->nr_graph && steer_list(s, "set_graph_function", o->graph, o->nr_graph)))
		return -1;
	return 0;
}

static int set_options(struct steer *s, const struct record_options *o)
{
	bool calls = o->tracer && !strcmp(o->tracer, "function");

	for (unsigned i = 0; i < o->nr_options; i++)
		if (set_option(s, o->options[i]))
			return -1;
	if (o->stacks && set_option(s, calls ? "func_stack_trace" : "stacktrace"))
		return -1;
	return 0;
}

int setup_pids(struct steer *s, const struct record_options *o, pid_t child)
{
	const char *pids[RECORD_LIST_MAX + 1];
	unsigned nr = 0;
	char text[16];

	for (unsigned i = 0; i < o->nr_pids; i++)
		pids[nr++] = o->pids[i];
	if (child) {
		snprintf(text, sizeof(text), "%d", (int)child);
		pids[nr++] = text;
	}
	if (!nr)
		return 0;
	if (steer_list(s, "set_event_pid", pids, nr))
		return -1;
	return o->tracer && steer_has(s, "set_ftrace_pid")
		       ? steer_list(s, "set_ftrace_pid", pids, nr)
		       : 0;
}

/* The tracer comes last, and its options after it: some exist only with the tracer. */
int setup_target(struct steer *s, const struct record_options *o, const struct capture *c)
{
	if ((o->clock && steer_set(s, "trace_clock", o->clock)) ||
	    (o->buffer_kb && steer_set(s, "buffer_size_kb", o->buffer_kb)) || set_functions(s, o) ||
	    set_events(s, o, c) || (o->tracer && steer_set(s, "current_tracer", o->tracer)))
		return -1;
	return set_options(s, o);
}
