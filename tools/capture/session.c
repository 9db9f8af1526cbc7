/* SPDX-License-Identifier: MIT */
/* session.c -- a recording as a user asks for it: of which target, with what the command itself records, and what came of it. */
#include "capture/session.h"
#include "base/diag.h"
#include "base/json.h"
#include "capture/target.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_demo(const char *name)
{
	return !strncmp(name, "demo", 4) && (!name[4] || name[4] == '-') && !strchr(name, '/');
}

/* `demo` and `demo-ARCH` are found beside this program: build/fathom, build/demo/L6/kernel.elf. */
static const char *demo_kernel(const char *name)
{
	static char path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
	char *slash;

	path[n > 0 ? n : 0] = 0;
	slash = strrchr(path, '/');
	sprintf(slash ? slash + 1 : path, "%s%.32s/L6/kernel.elf", slash ? "" : "build/", name);
	return path;
}

/* One object per CPU: what the ring counted, what is in the file, and what the file says is missing. */
static void print_json(const struct record_options *o, const struct capture *c)
{
	struct json j;

	json_init(&j, stdout, false);
	json_open(&j, NULL, '{');
	json_str(&j, "file", o->output);
	json_str(&j, "ended", c->ended);
	json_open(&j, "cpus", '[');
	for (uint32_t i = 0; i < c->nr_cpus; i++) {
		const struct capture_cpu *p = &c->cpus[i];

		json_open(&j, NULL, '{');
		json_u64(&j, "events", p->events);
		json_u64(&j, "missed", p->missed);
		json_u64(&j, "written", p->stats.written);
		json_u64(&j, "read", p->stats.read);
		json_u64(&j, "overwritten", p->stats.overwritten);
		json_u64(&j, "full", p->stats.full);
		json_u64(&j, "nested", p->stats.nested);
		json_u64(&j, "too_big", p->stats.too_big);
		json_u64(&j, "entries", p->stats.entries);
		json_u64(&j, "taken", p->taken);
		json_u64(&j, "cleared", p->cleared);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	if (c->stops) {
		json_open(&j, "halted", '{');
		json_u64(&j, "times", c->stops);
		json_u64(&j, "us", c->stopped_us);
		json_u64(&j, "longest_us", c->longest_stop_us);
		json_u64(&j, "of_us", c->recorded_us);
		json_close(&j, '}');
	}
	json_close(&j, '}');
	json_end(&j);
}

static void print_summary(const struct record_options *o, const struct capture *c)
{
	uint64_t events = 0, lost = 0;
	bool uncounted = false;

	for (uint32_t i = 0; i < c->nr_cpus; i++) {
		const struct wire_stats *s = &c->cpus[i].stats;
		uint64_t counted = s->overwritten + s->full + s->nested + s->too_big +
				   c->cpus[i].taken + c->cpus[i].cleared;

		events += c->cpus[i].events;
		lost += counted > c->cpus[i].missed ? counted : c->cpus[i].missed;
		uncounted |= !c->cpus[i].counted || c->cpus[i].missed_unknown ||
			     c->cpus[i].cleared_unknown;
	}
	/* To stderr where the trace itself goes to stdout. */
	FILE *to = strcmp(o->output, "-") ? stdout : stderr;

	fprintf(to, "%s: %llu events in %llu pages of %u CPUs, %s%llu lost\n", o->output,
		(unsigned long long)events, (unsigned long long)c->nr_pages, c->nr_cpus,
		uncounted ? "at least " : "", (unsigned long long)lost);
	if (c->stops)
		fprintf(to,
			"%s: the target was halted %llu times, %.1f %% of the time, for %.1f ms at "
			"most\n",
			o->target, (unsigned long long)c->stops,
			100.0 * (double)c->stopped_us /
				(double)(c->recorded_us ? c->recorded_us : 1),
			(double)c->longest_stop_us / 1000);
}

/* ---- the command, traced from inside ---- */

/* Only beside this Linux, whose clock the library has too, and unless the user configures the library. */
static bool wants_program(const struct record_options *o)
{
	if (!o->command || o->target || o->no_program || getenv("FATHOM_TRACE"))
		return false;
	if (o->clock && strcmp(o->clock, PRELOAD_CLOCK)) {
		diag_warn("-C %s: COMMAND is not traced from inside, which takes the "
			  "clock " PRELOAD_CLOCK,
			  o->clock);
		return false;
	}
	return strcmp(o->output, "-") != 0;
}

static int merge_program(const struct record_options *o, const struct preload *p, bool alone)
{
	uint64_t events = 0;
	int err = preload_merge(p, o->output, alone, &events);

	if (err == -ENOENT)
		diag_warn(
			"%s: it recorded nothing: the command is static or set-uid, or was killed",
			o->command[0]);
	else if (!err && !o->json)
		printf("%s: %llu events of %s itself\n", o->output, (unsigned long long)events,
		       o->command[0]);
	return err && (err != -ENOENT || alone) ? -1 : 0;
}

/* A user who may not trace this Linux still gets what the command records itself. */
static int record_alone(const struct record_options *o, const struct preload *p)
{
	int status;

	diag_warn(TARGET_TRACEFS ": not permitted; only %s itself is recorded", o->command[0]);
	status = preload_run(p, o->command, o->seconds);
	return status == 127 ? status : merge_program(o, p, true) && !status ? 1 : status;
}

static int record_both(struct record_options *o, const struct preload *p)
{
	struct capture c;
	int err, status;

	o->preload = p;
	if (p && !o->clock)
		o->clock = PRELOAD_CLOCK;
	capture_init(&c);
	err = record_run(o, &c, &status);
	if (c.nr_pages || !err)
		(o->json ? print_json : print_summary)(o, &c);
	capture_free(&c);
	if (p && status != 127 && merge_program(o, p, false))
		err = -1;
	return err && !status ? 1 : status;
}

static int record_local(struct record_options *o)
{
	struct preload p;
	bool traced = wants_program(o) && preload_prepare(&p);
	char switch_file[64];
	int rc;

	o->target = target_this_linux();
	snprintf(switch_file, sizeof(switch_file), "%s/tracing_on", o->target);
	rc = traced && access(switch_file, W_OK) ? record_alone(o, &p)
						 : record_both(o, traced ? &p : NULL);
	if (traced)
		preload_done(&p);
	return rc;
}

int record_session(struct record_options *o)
{
	if (o->qemu) {
		o->kernel = is_demo(o->qemu) ? demo_kernel(o->qemu) : o->qemu;
		o->seconds = o->seconds ? o->seconds : 60;
	}
	return o->qemu || o->image || o->target ? record_both(o, NULL) : record_local(o);
}
