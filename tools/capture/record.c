/* SPDX-License-Identifier: MIT */
/* record.c -- one recording from its first check to its file, whichever way the pages come. */
#include "capture/record.h"
#include "capture/gdb.h"
#include "capture/stop.h"
#include "base/diag.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool record_add_event(struct record_options *o, const char *name, bool off)
{
	if (o->nr_events == RECORD_LIST_MAX) {
		diag_error("'%s': at most %d events can be named; use patterns to name more", name,
			   RECORD_LIST_MAX);
		return false;
	}
	o->events[o->nr_events++] = (struct record_event){.name = name, .off = off};
	return true;
}

bool record_of_event(struct record_options *o, const char *option, const char *value, size_t member)
{
	if (!o->nr_events) {
		diag_error("record: %s '%s': give it after the -e that it belongs to", option,
			   value);
		return false;
	}
	*(const char **)((char *)&o->events[o->nr_events - 1] + member) = value;
	return true;
}

bool record_is_gdb(const struct record_options *o)
{
	return o->target && !strncmp(o->target, GDB_TARGET, strlen(GDB_TARGET));
}

/* Exactly one way to record, and only options that apply to it. */
const char *record_is_wrong(const struct record_options *o)
{
	bool qemu_only = o->nr_run || o->append || o->console || o->has_via;
	bool sets = o->tracer || o->nr_functions || o->nr_not_functions || o->nr_graph ||
		    o->nr_options || o->nr_pids || o->clock || o->buffer_kb || o->only_command ||
		    o->stacks || o->command;
	bool steers = sets || o->instance;
	const char *wrong = NULL;

	if (!!o->target + !!o->qemu + !!o->image > 1)
		wrong = "--target, --qemu and --from-memory exclude each other";
	else if (o->image && !o->kernel)
		wrong = "--from-memory wants --kernel ELF, the file of the kernel whose memory it "
			"is";
	else if (record_is_gdb(o) && !o->kernel)
		wrong = "a gdb: target wants --kernel ELF, the file of its kernel";
	else if (record_is_gdb(o) && (steers || o->nr_events))
		wrong = "a gdb: target is only read: it records the events that are on in it, and "
			"-e, -p and other settings, or a COMMAND, take a line to it";
	else if (!o->qemu && qemu_only)
		wrong = "--run, --append, --console and --via belong to --qemu";
	else if ((o->qemu || o->image) && steers)
		wrong = "--qemu and --from-memory take neither a tracer, functions, options nor a "
			"COMMAND";
	else if (o->last_boot &&
		 (sets || o->qemu || o->image || record_is_gdb(o) || o->nr_events || o->seconds))
		wrong = "--last-boot reads what is there: nothing can be set, and no COMMAND run";
	else if (o->only_command && !o->command)
		wrong = "-F wants a COMMAND";
	return wrong;
}

static int take(const struct record_options *o, struct capture *c, struct recording *r, int *status)
{
	if (o->qemu)
		return record_qemu(o, c, r);
	if (o->image)
		return record_memory(o, o->image, c, r);
	if (record_is_gdb(o))
		return record_gdb(o, c, r);
	return record_tree(o, c, r, status);
}

/*
 * What the target gave away must be in the file. Another reader of its rings may have got some of it. And a change of the
 * tracer, or a write to `trace`, empties the rings: Linux does not count what goes then, but its count of what was read begins again.
 */
static void check_cpu(struct capture_cpu *p)
{
	uint64_t given = p->stats.read - p->read_before;

	p->cleared = p->stats.cleared - p->cleared_before;
	if (p->stats.read >= p->read_before && given > p->events)
		p->taken = given - p->events;
	else
		p->cleared_unknown = given != p->events && !p->cleared;
}

static void check_all_arrived(const struct record_options *o, struct capture *c)
{
	const char *name = o->output ? o->output : o->target;
	uint64_t taken = 0, cleared = 0;
	bool some = false, asked = !o->image && !o->by_memory && !record_is_gdb(o);

	for (uint32_t cpu = 0; cpu < c->nr_cpus && asked; cpu++) {
		struct capture_cpu *p = &c->cpus[cpu];

		if (!p->counted)
			continue;
		check_cpu(p);
		taken += p->taken;
		cleared += p->cleared;
		some |= p->cleared_unknown;
	}
	if (taken && o->live && o->live->cuts)
		diag_warn("%s: %llu events are missing: they were on the line when it was cut",
			  o->target, (unsigned long long)taken);
	else if (taken)
		diag_warn("%s: %llu events are missing: another program read them from the target",
			  name, (unsigned long long)taken);
	if (cleared || some)
		diag_warn("%s: %llu%s events are missing: the target's buffer was cleared before "
			  "they were read",
			  name, (unsigned long long)cleared, some ? " or more" : "");
}

/* Is there such a program? Better asked before everything else than after. */
static bool can_run(const char *name)
{
	const char *path = getenv("PATH");
	char file[4096];
	bool found = strchr(name, '/') && !access(name, X_OK);

	while (!strchr(name, '/') && path && *path && !found) {
		size_t n = strcspn(path, ":");

		if (snprintf(file, sizeof(file), "%.*s/%s", n ? (int)n : 1, n ? path : ".", name) <
		    (int)sizeof(file))
			found = !access(file, X_OK);
		path += n + (path[n] == ':');
	}
	if (!found)
		diag_error("%s: %s", name, errno == EACCES ? strerror(EACCES) : "no such command");
	return found;
}

int record_run(const struct record_options *o, struct capture *c, int *status)
{
	struct recording r;
	char file[32];
	int err;

	*status = o->command && !can_run(o->command[0]) ? 127 : 0; /* as a shell has it */
	if (*status || recording_open(&r, o->output))
		return -1;
	stop_watch();
	err = take(o, c, &r, status);
	if (o->live) { /* pairs with the acquire in live_look() */
		__atomic_store_n(&o->live->whole, r.nr_pages ? r.at : 0, __ATOMIC_RELEASE);
		__atomic_store_n(&o->live->over, true, __ATOMIC_RELEASE);
	}
	if (r.begun && !r.err && (r.is_kept || !o->live) &&
	    !capture_count(c, recording_file(&r, file)))
		check_all_arrived(o, c);
	if (r.begun) {
		if (r.err)
			snprintf(c->ended, sizeof(c->ended), "the file could not be written: %s",
				 strerror(-r.err));
		recording_end(&r, c);
		if (r.err) /* with the last pages, which went into the room for the end */
			capture_count(c, recording_file(&r, file));
	}
	return recording_close(&r) || err ? -1 : 0;
}
