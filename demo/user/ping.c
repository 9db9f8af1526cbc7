/* SPDX-License-Identifier: MIT */
/* ping.c -- sleeps and is woken, three times; with an argument, of real time. */
#include "user.h"

int program(uint64_t realtime)
{
	if (realtime) {
		if (spawn("ping", 0, 0, REALTIME | 10, 0) < 0)
			return 1;
		return wait_all();
	}
	for (int i = 0; i < 3; i++)
		sys1(sleep, 1000000);
	return 0;
}
