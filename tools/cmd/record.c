/* SPDX-License-Identifier: MIT */
/* record.c -- fathom record: this Linux, a live target, a kernel under QEMU, or the rings in a kernel's memory. */
#include "base/diag.h"
#include "base/json.h"
#include "capture/record.h"
#include "cmd/cmd.h"
#include "cmd/live.h"
#include "cmd/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct record_options o;
static bool events_are_off; /* -v: those that follow */
static bool no_program;
static const char *via;
static uint64_t seconds, smp, memory_mib;

static bool add(const char **list, unsigned *n, const char *value)
{
	if (*n == RECORD_LIST_MAX) {
		diag_error("record: '%s': an option can be given at most %d times", value,
			   RECORD_LIST_MAX);
		return false;
	}
	list[(*n)++] = value;
	return true;
}

static bool add_event(const char *value)
{
	if (o.nr_events == RECORD_LIST_MAX) {
		diag_error("record: at most %d events can be named; use patterns to name more",
			   RECORD_LIST_MAX);
		return false;
	}
	o.events[o.nr_events++] = (struct record_event){.name = value, .off = events_are_off};
	return true;
}

/* Of the event that was named last. */
static bool of_event(const char *letter, const char *value, size_t member)
{
	if (!o.nr_events) {
		diag_error("record: -%s '%s': give it after the -e that it belongs to", letter,
			   value);
		return false;
	}
	*(const char **)((char *)&o.events[o.nr_events - 1] + member) = value;
	return true;
}

static bool add_filter(const char *value)
{
	return of_event("f", value, offsetof(struct record_event, filter));
}

static bool add_trigger(const char *value)
{
	return of_event("R", value, offsetof(struct record_event, trigger));
}

static bool add_function(const char *value)
{
	return add(o.functions, &o.nr_functions, value);
}

static bool add_not_function(const char *value)
{
	return add(o.not_functions, &o.nr_not_functions, value);
}

static bool add_graph(const char *value)
{
	return add(o.graph, &o.nr_graph, value);
}

static bool add_option(const char *value)
{
	return add(o.options, &o.nr_options, value);
}

static bool add_pid(const char *value)
{
	return add(o.pids, &o.nr_pids, value);
}

static bool add_run(const char *value)
{
	return add(o.run, &o.nr_run, value);
}

static struct option_call call_add_event = {add_event}, call_add_filter = {add_filter},
			  call_add_trigger = {add_trigger}, call_add_function = {add_function},
			  call_add_not_function = {add_not_function}, call_add_graph = {add_graph},
			  call_add_pid = {add_pid}, call_add_option = {add_option},
			  call_add_run = {add_run};

static const struct option_spec own[] = {
	{"output", 'o', "FILE", "the trace (trace.dat)", OPTION_STRING, &o.output, NULL},
	{"event", 'e', "EVENT",
	 "an event to record: system:event, system, a pattern, all; repeatable (all)", OPTION_CALL,
	 &call_add_event, NULL},
	{"filter", 'f', "EXPR", "record the event before it only if this is true: 'prev_pid != 0'",
	 OPTION_CALL, &call_add_filter, NULL},
	{"trigger", 'R', "TEXT", "a trigger for the event before it", OPTION_CALL,
	 &call_add_trigger, NULL},
	{"not", 'v', NULL, "events that follow are not recorded", OPTION_FLAG, &events_are_off,
	 NULL},
	{"tracer", 'p', "NAME", "use this tracer; events then only those given with -e",
	 OPTION_STRING, &o.tracer, NULL},
	{"function", 'l', "NAME", "trace only this function; repeatable", OPTION_CALL,
	 &call_add_function, NULL},
	{"no-function", 'n', "NAME", "do not trace this function", OPTION_CALL,
	 &call_add_not_function, NULL},
	{"graph-function", 'g', "NAME", "function_graph: this function and what it calls",
	 OPTION_CALL, &call_add_graph, NULL},
	{"follow", 'F', NULL, "only what COMMAND does", OPTION_FLAG, &o.only_command, NULL},
	{"no-program", 0, NULL, "this Linux alone, without what COMMAND records of itself",
	 OPTION_FLAG, &no_program, NULL},
	{"pid", 'P', "PID", "only what this task does; repeatable", OPTION_CALL, &call_add_pid,
	 NULL},
	{"buffer-size", 'b', "KB", "of the ring of each CPU", OPTION_STRING, &o.buffer_kb, NULL},
	{"clock", 'C', "NAME", "use this trace clock", OPTION_STRING, &o.clock, NULL},
	{"instance", 'B', "NAME", "record in this instance, which is created if necessary",
	 OPTION_STRING, &o.instance, NULL},
	{"last-boot", 0, NULL, "what the target has of its last boot: its instance boot_map, or -B",
	 OPTION_FLAG, &o.last_boot, NULL},
	{"option", 'O', "NAME", "set a trace option; noNAME clears it", OPTION_CALL,
	 &call_add_option, NULL},
	{"stacks", 'T', NULL, "the stack at each event", OPTION_FLAG, &o.stacks, NULL},
	{"time", 't', "SECONDS", "how long to record; QEMU: the time limit (60)", OPTION_NUMBER,
	 &seconds, NULL},
	{"target", 0, "TARGET",
	 "what to trace instead of this Linux: as in fathom mount, a directory, or gdb:HOST:PORT",
	 OPTION_STRING, &o.target, NULL},
	{"kernel", 'k', "ELF", "the kernel that the symbols come from", OPTION_STRING, &o.kernel,
	 NULL},
	{"json", 0, NULL, "print the counters of each CPU's ring for a script", OPTION_FLAG,
	 &o.json, NULL},
	{"from-memory", 0, "IMAGE", "read the rings from a kernel's memory; needs --kernel",
	 OPTION_STRING, &o.image, NULL},
	{"base", 0, "ADDRESS", "physical address of a raw image's first byte (0)", OPTION_NUMBER,
	 &o.base, NULL},
	{"qemu", 0, "KERNEL", "boot an ELF file, `demo` or `demo-ARCH` under QEMU", OPTION_STRING,
	 &o.qemu, NULL},
	{"run", 'r', "LINE", "QEMU: a line for the kernel's shell; repeatable", OPTION_CALL,
	 &call_add_run, NULL},
	{"smp", 's', "N", "QEMU: CPUs of the guest (4)", OPTION_NUMBER, &smp, NULL},
	{"memory", 'm', "MIB", "QEMU: memory of the guest (256)", OPTION_NUMBER, &memory_mib, NULL},
	{"append", 'a', "TEXT", "QEMU: the kernel's command line", OPTION_STRING, &o.append, NULL},
	{"console", 'c', "FILE", "QEMU: write the console output here", OPTION_STRING, &o.console,
	 NULL},
	{"via", 0, "WAY",
	 "QEMU: pages over a `virtio` console, over the second `serial` port, or out of the "
	 "guest's `memory` (virtio)",
	 OPTION_STRING, &via, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "record",
	.args = "[COMMAND [ARGUMENT]...]",
	.about = "Record a trace: of this Linux, of a live target, of a kernel under QEMU, or out "
		 "of a\n"
		 "kernel's memory after its end. While COMMAND runs, for --time seconds, or until "
		 "it is\n"
		 "interrupted. The file can be read from the first page on, whatever ends the "
		 "recording.",
	.more = "examples:\n"
		"  fathom record -e sched ls -l         this Linux while `ls -l` runs\n"
		"  fathom record -e sched -t 5          ... for 5 seconds\n"
		"  fathom record --target 4711 -t 5     a process with the user port\n"
		"  fathom record --target gdb:localhost:1234 -k kernel.elf\n"
		"                                       a kernel without a line, by QEMU's or "
		"OpenOCD's stub\n"
		"  fathom record --target unix:/tmp/line --last-boot\n"
		"  fathom record --qemu demo --run \"run ipc\"",
	.own = own,
	.shared = OPTIONS_NONE,
	.runs_command = true,
};

static bool in_range(const char *name, uint64_t value, uint64_t max)
{
	if (value && value <= max)
		return true;
	diag_error("record: --%s wants a number from 1 to %llu", name, (unsigned long long)max);
	return false;
}

/* Exactly one way to record, and only options that apply to it. */
static bool sensible(void)
{
	bool qemu_only = o.nr_run || o.append || o.console || via;
	bool sets = o.tracer || o.nr_functions || o.nr_not_functions || o.nr_graph ||
		    o.nr_options || o.nr_pids || o.clock || o.buffer_kb || o.only_command ||
		    o.stacks || o.command;
	bool steers = sets || o.instance;
	const char *wrong = NULL;

	if (!!o.target + !!o.qemu + !!o.image > 1)
		wrong = "--target, --qemu and --from-memory exclude each other";
	else if (o.image && !o.kernel)
		wrong = "--from-memory wants --kernel ELF, the file of the kernel whose memory it "
			"is";
	else if (record_is_gdb(&o) && !o.kernel)
		wrong = "a gdb: target wants --kernel ELF, the file of its kernel";
	else if (record_is_gdb(&o) && (steers || o.nr_events))
		wrong = "a gdb: target is only read: it records the events that are on in it, and "
			"-e, -p and other settings, or a COMMAND, take a line to it";
	else if (!o.qemu && qemu_only)
		wrong = "--run, --append, --console and --via belong to --qemu";
	else if ((o.qemu || o.image) && steers)
		wrong = "--qemu and --from-memory take neither a tracer, functions, options nor a "
			"COMMAND";
	else if (o.last_boot &&
		 (sets || o.qemu || o.image || record_is_gdb(&o) || o.nr_events || seconds))
		wrong = "--last-boot reads what is there: nothing can be set, and no COMMAND run";
	else if (o.only_command && !o.command)
		wrong = "-F wants a COMMAND";
	else if (via && strcmp(via, "virtio") != 0 && strcmp(via, "serial") != 0 &&
		 strcmp(via, "memory") != 0)
		wrong = "--via is `virtio`, `serial` or `memory`";
	if (wrong)
		diag_error("record: %s", wrong);
	return !wrong;
}

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
static void print_json(const struct capture *c)
{
	struct json j;

	json_init(&j, stdout, false);
	json_open(&j, NULL, '{');
	json_str(&j, "file", o.output);
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

static void print_summary(const struct capture *c)
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
	FILE *to = strcmp(o.output, "-") ? stdout : stderr;

	fprintf(to, "%s: %llu events in %llu pages of %u CPUs, %s%llu lost\n", o.output,
		(unsigned long long)events, (unsigned long long)c->nr_pages, c->nr_cpus,
		uncounted ? "at least " : "", (unsigned long long)lost);
	if (c->stops)
		fprintf(to,
			"%s: the target was halted %llu times, %.1f %% of the time, for %.1f ms at "
			"most\n",
			o.target, (unsigned long long)c->stops,
			100.0 * (double)c->stopped_us /
				(double)(c->recorded_us ? c->recorded_us : 1),
			(double)c->longest_stop_us / 1000);
}

/* ---- the command, traced from inside ---- */

/* Only beside this Linux, whose clock the library has too, and unless the user configures the library. */
static bool wants_program(void)
{
	if (!o.command || o.target || no_program || getenv("FATHOM_TRACE"))
		return false;
	if (o.clock && strcmp(o.clock, PRELOAD_CLOCK)) {
		diag_warn("-C %s: COMMAND is not traced from inside, which takes the "
			  "clock " PRELOAD_CLOCK,
			  o.clock);
		return false;
	}
	return strcmp(o.output, "-") != 0;
}

static int merge_program(const struct preload *p, bool alone)
{
	uint64_t events = 0;
	int err = preload_merge(p, o.output, alone, &events);

	if (err == -ENOENT)
		diag_warn(
			"%s: it recorded nothing: the command is static or set-uid, or was killed",
			o.command[0]);
	else if (!err && !o.json)
		printf("%s: %llu events of %s itself\n", o.output, (unsigned long long)events,
		       o.command[0]);
	return err && (err != -ENOENT || alone) ? -1 : 0;
}

/* A user who may not trace this Linux still gets what the command records itself. */
static int record_alone(const struct preload *p)
{
	int status;

	diag_warn(LIVE_TRACEFS ": not permitted; only %s itself is recorded", o.command[0]);
	status = preload_run(p, o.command, o.seconds);
	return status == 127 ? status : merge_program(p, true) && !status ? EXIT_FAIL : status;
}

static int record_both(const struct preload *p)
{
	struct capture c;
	int err, status;

	o.preload = p;
	if (p && !o.clock)
		o.clock = PRELOAD_CLOCK;
	capture_init(&c);
	err = record_run(&o, &c, &status);
	if (c.nr_pages || !err)
		(o.json ? print_json : print_summary)(&c);
	capture_free(&c);
	if (p && status != 127 && merge_program(p, false))
		err = -1;
	return err && !status ? EXIT_FAIL : status;
}

static int record_local(void)
{
	struct preload p;
	bool traced = wants_program() && preload_prepare(&p);
	char switch_file[64];
	int rc;

	o.target = live_this_linux();
	snprintf(switch_file, sizeof(switch_file), "%s/tracing_on", o.target);
	rc = traced && access(switch_file, W_OK) ? record_alone(&p)
						 : record_both(traced ? &p : NULL);
	if (traced)
		preload_done(&p);
	return rc;
}

static bool take_numbers(void)
{
	if (!in_range("time", seconds ? seconds : 1, 86400) || !in_range("smp", smp, 255) ||
	    !in_range("memory", memory_mib, 1024))
		return false;
	o.seconds = (unsigned)seconds;
	o.smp = (unsigned)smp;
	o.memory_mib = (unsigned)memory_mib;
	o.by_serial = via && !strcmp(via, "serial");
	o.by_memory = via && !strcmp(via, "memory");
	return true;
}

int cmd_record(int argc, char **argv)
{
	struct options line;
	int rc;

	o = (struct record_options){.output = "trace.dat"};
	no_program = false;
	smp = 4;
	memory_mib = 256;
	rc = options_parse(&spec, argc, argv, &line);
	if (rc != OPTIONS_GO)
		return rc;
	o.command = line.command;
	if (!sensible() || !take_numbers())
		return EXIT_USAGE;
	if (o.qemu) {
		o.kernel = is_demo(o.qemu) ? demo_kernel(o.qemu) : o.qemu;
		o.seconds = o.seconds ? o.seconds : 60;
	}
	return o.qemu || o.image || o.target ? record_both(NULL) : record_local();
}
