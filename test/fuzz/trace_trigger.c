/* SPDX-License-Identifier: MIT */
/* trace_trigger.c -- fuzz target: lines written to an event's trigger file, events, and the files that show them. */
#define FUZZ_MEMORY (1 << 20) /* room for histograms */
#include "trace_setup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t at = 0;

	setup();
	while (at < size) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t n = end ? (size_t)(end - data) - at : size - at;

		put("events/sched/sched_switch/trigger", data + at, n, FATHOM_O_APPEND);
		fire();
		read_all("events/sched/sched_switch/hist");
		read_all("events/sched/sched_switch/trigger");
		at += n + 1;
	}
	read_all("error_log");
	return 0;
}
