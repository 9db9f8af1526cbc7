/* SPDX-License-Identifier: MIT */
/* shell_trace.c -- the shell's `trace` command: switch events, show them, count them. */
#include "kernel.h"
#include "shell.h"
#include "stream.h"
#include "trace_points.h"
#include "fathom/trace.h"

/* Recording is off while sites are patched, so that the trace does not begin with that. */
static int trace_switch(const char *pattern, int on)
{
	int was_on = fathom_tracing_is_on(), n;

	tracing_off();
	n = fathom_event_enable(pattern, on);
	if (on || was_on)
		tracing_on();
	if (n < 0) {
		kprintf("trace: %s: error %d\n", pattern, -n);
		return n;
	}
	kprintf("%d events %s\n", n, on ? "on" : "off");
	return 0;
}

/* Everything that was offered is in one of the columns: written + lost. */
static void trace_status(void)
{
	struct fathom_ring_stats st;
	char on[512];

	kprintf("recording is %s\ncpu  written     read    in ring  overwritten  refused\n",
		fathom_tracing_is_on() ? "on" : "off");
	for (uint32_t cpu = 0; !fathom_cpu_stats(cpu, &st); cpu++)
		kprintf("%3u %8lu %8lu %10lu %12lu %8lu\n", cpu, st.written, st.read, st.entries,
			st.overwritten, st.full + st.nested + st.too_big);
	if (fathom_get("set_event", on, sizeof(on)) > 0)
		kprintf("%s", on);
}

#if LEVEL >= 4
static int trace_tracer(const char *name)
{
	int err = fathom_set("current_tracer", name);

	if (err)
		kprintf("trace: %s: error %d\n", name, -err);
	return err;
}
#else
#define trace_tracer(name) (-1)
#endif

int cmd_trace(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "status";

	if (!strcmp(what, "on") || !strcmp(what, "off"))
		return trace_switch(argc > 2 ? argv[2] : "*", !strcmp(what, "on"));
	if (!strcmp(what, "dump"))
		fathom_dump(argc > 2 ? (uint32_t)parse_u64(argv[2]) : 0);
	else if (!strcmp(what, "status"))
		trace_status();
	else if (!strcmp(what, "check"))
		kprintf("%d faults of the port\n", fathom_port_check(console_sink, 0));
	else if (!strcmp(what, "tracer") && argc > 2)
		return trace_tracer(argv[2]);
	else if (!strcmp(what, "stream") && argc > 2 && !stream_command(argv[2]))
		return 0;
	else
		kprintf("trace on|off [PATTERN], dump [N], status, check, tracer NAME, stream "
			"dump|dump91|status\n");
	return 0;
}
