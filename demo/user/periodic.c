/* SPDX-License-Identifier: MIT */
/* periodic.c -- a real-time and a deadline task that sleep and are woken ARG times, beside ordinary work. */
#include "user.h"

#define CHILD 1000000 /* added to the argument of a child */

static int sleeper(uint64_t times)
{
	for (uint64_t i = 0; i < times; i++)
		sys1(sleep, 1000000);
	return 0;
}

int program(uint64_t times)
{
	int failed = 0;

	if (times >= CHILD)
		return sleeper(times - CHILD);
	if (!times)
		times = 20;
	failed += spawn("periodic", CHILD + times, 0, REALTIME | 80, 0) < 0;
	failed += spawn("periodic", CHILD + times, 0, DEADLINE, 2000000) < 0;
	failed += spawn("periodic", CHILD + times, 0, ORDINARY, 0) < 0;
	failed += spawn("fib", 18, 0, ORDINARY, 0) < 0;
	return failed + wait_all();
}
