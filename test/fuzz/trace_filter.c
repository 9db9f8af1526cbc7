/* SPDX-License-Identifier: MIT */
/* trace_filter.c -- fuzz target: a text written to an event's filter, then events under it. */
#include "trace_setup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	setup();
	fathom_set("events/sched/sched_switch/enable", "1");
	put("events/sched/sched_switch/filter", data, size, FATHOM_O_TRUNC);
	fire();
	read_all("events/sched/sched_switch/filter");
	put("events/sched/filter", data, size, FATHOM_O_TRUNC);
	fire();
	read_all("events/sched/filter");
	read_all("error_log");
	return 0;
}
