/* SPDX-License-Identifier: MIT */
/* pulse.c -- a little of everything, for ever: every ARG milliseconds a child that is ordinary or real-time in turn. */
#include "user.h"

int program(uint64_t ms)
{
	int code;

	for (uint64_t i = 0;; i++) {
		if (spawn("short", 0, 0, i % 2 ? REALTIME | 50 : ORDINARY, 0) < 0)
			return 1;
		sys2(wait, -1, &code);
		sys1(sleep, 1000000 * (ms ? ms : 10));
	}
}
