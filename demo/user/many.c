/* SPDX-License-Identifier: MIT */
/* many.c -- many short tasks: ARG children of `short`, some of them real-time or with deadlines, at most 16 at a time. */
#include "user.h"

#define AT_ONCE 16

int program(uint64_t count)
{
	int failed = 0, code = 0, running = 0;

	if (!count)
		count = 64;
	for (uint64_t i = 0; i < count; i++) {
		int sched = i % 8 == 1 ? REALTIME | 50 : i % 8 == 2 ? DEADLINE : ORDINARY;

		if (running == AT_ONCE) {
			sys2(wait, -1, &code);
			failed += code != 0;
			running--;
		}
		if (spawn("short", i, 0, sched, 10000000) > 0)
			running++;
		else
			failed++;
	}
	return failed + wait_all();
}
