/* SPDX-License-Identifier: MIT */
/* trace_trigger.c -- fuzz target: lines written to an event's trigger file, events, and the files that show them. */
#include "trace_setup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const kinds[] = {"!traceon", "!traceoff", "!snapshot", "!stacktrace",
					    "!traceon:1"};
	size_t at = 0;

	setup();
	while (at < size) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t n = end ? (size_t)(end - data) - at : size - at;

		put("events/sched/sched_switch/trigger", data + at, n);
		fire();
		read_all("events/sched/sched_switch/hist");
		read_all("events/sched/sched_switch/trigger");
		at += n + 1;
	}
	read_all("error_log");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		fathom_set("events/sched/sched_switch/trigger", kinds[i]);
	fathom_set("tracing_on", "1");
	return 0;
}
