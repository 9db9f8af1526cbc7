/* SPDX-License-Identifier: MIT */
/* record.c -- fathom record: this Linux, a live target, a kernel under QEMU, or the rings in a kernel's memory. */
#include "capture/session.h"
#include "cmd/cmd.h"
#include "cmd/options.h"

static struct record_options o = {.output = "trace.dat"};
static bool events_are_off; /* -v: those that follow */
static struct option_choice via = {.names = "virtio, serial or memory"};
static uint64_t seconds, smp = 4, memory_mib = 256;

static bool add_event(const char *value)
{
	return record_add_event(&o, value, events_are_off);
}

static bool add_filter(const char *value)
{
	return record_of_event(&o, "-f", value, offsetof(struct record_event, filter));
}

static bool add_trigger(const char *value)
{
	return record_of_event(&o, "-R", value, offsetof(struct record_event, trigger));
}

static struct option_call event = {add_event}, filter = {add_filter}, trigger = {add_trigger};
static struct option_list functions = {o.functions, &o.nr_functions, RECORD_LIST_MAX},
			  not_functions = {o.not_functions, &o.nr_not_functions, RECORD_LIST_MAX},
			  graph = {o.graph, &o.nr_graph, RECORD_LIST_MAX},
			  pids = {o.pids, &o.nr_pids, RECORD_LIST_MAX},
			  options = {o.options, &o.nr_options, RECORD_LIST_MAX},
			  lines = {o.run, &o.nr_run, RECORD_LIST_MAX};

static const struct option_spec own[] = {
	{"output", 'o', "FILE", "the trace (trace.dat)", OPTION_STRING, &o.output, NULL},
	{"event", 'e', "EVENT",
	 "an event to record: system:event, system, a pattern, all; repeatable (all)", OPTION_CALL,
	 &event, NULL},
	{"filter", 'f', "EXPR", "record the event before it only if this is true: 'prev_pid != 0'",
	 OPTION_CALL, &filter, NULL},
	{"trigger", 'R', "TEXT", "a trigger for the event before it", OPTION_CALL, &trigger, NULL},
	{"not", 'v', NULL, "events that follow are not recorded", OPTION_FLAG, &events_are_off,
	 NULL},
	{"tracer", 'p', "NAME", "use this tracer; events then only those given with -e",
	 OPTION_STRING, &o.tracer, NULL},
	{"function", 'l', "NAME", "trace only this function; repeatable", OPTION_LIST, &functions,
	 NULL},
	{"no-function", 'n', "NAME", "do not trace this function", OPTION_LIST, &not_functions,
	 NULL},
	{"graph-function", 'g', "NAME", "function_graph: this function and what it calls",
	 OPTION_LIST, &graph, NULL},
	{"follow", 'F', NULL, "only what COMMAND does", OPTION_FLAG, &o.only_command, NULL},
	{"no-program", 0, NULL, "this Linux alone, without what COMMAND records of itself",
	 OPTION_FLAG, &o.no_program, NULL},
	{"pid", 'P', "PID", "only what this task does; repeatable", OPTION_LIST, &pids, NULL},
	{"buffer-size", 'b', "KB", "of the ring of each CPU", OPTION_STRING, &o.buffer_kb, NULL},
	{"clock", 'C', "NAME", "use this trace clock", OPTION_STRING, &o.clock, NULL},
	{"instance", 'B', "NAME", "record in this instance, which is created if necessary",
	 OPTION_STRING, &o.instance, NULL},
	{"last-boot", 0, NULL, "what the target has of its last boot: its instance boot_map, or -B",
	 OPTION_FLAG, &o.last_boot, NULL},
	{"option", 'O', "NAME", "set a trace option; noNAME clears it", OPTION_LIST, &options,
	 NULL},
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
	{"run", 'r', "LINE", "QEMU: a line for the kernel's shell; repeatable", OPTION_LIST, &lines,
	 NULL},
	{"smp", 's', "N", "QEMU: CPUs of the guest (4)", OPTION_NUMBER, &smp, NULL},
	{"memory", 'm', "MIB", "QEMU: memory of the guest (256)", OPTION_NUMBER, &memory_mib, NULL},
	{"append", 'a', "TEXT", "QEMU: the kernel's command line", OPTION_STRING, &o.append, NULL},
	{"console", 'c', "FILE", "QEMU: write the console output here", OPTION_STRING, &o.console,
	 NULL},
	{"via", 0, "WAY",
	 "QEMU: pages over a `virtio` console, over the second `serial` port, or out of the "
	 "guest's `memory` (virtio)",
	 OPTION_CHOICE, &via, &o.has_via},
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

int cmd_record(int argc, char **argv)
{
	struct options line;
	const char *wrong;
	int rc = options_parse(&spec, argc, argv, &line);

	if (rc != OPTIONS_GO)
		return rc;
	if (!in_range("time", seconds ? seconds : 1, 86400) || !in_range("smp", smp, 255) ||
	    !in_range("memory", memory_mib, 1024))
		return EXIT_USAGE;
	o.command = line.command;
	o.by_serial = via.at == 1;
	o.by_memory = via.at == 2;
	o.seconds = (unsigned)seconds;
	o.smp = (unsigned)smp;
	o.memory_mib = (unsigned)memory_mib;
	wrong = record_is_wrong(&o);
	if (wrong) {
		diag_error("record: %s", wrong);
		return EXIT_USAGE;
	}
	return record_session(&o);
}
