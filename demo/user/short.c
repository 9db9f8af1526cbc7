/* SPDX-License-Identifier: MIT */
/* short.c -- a task that does little: counts a while, sleeps a tick, ends. */
#include "user.h"

int program(uint64_t number)
{
	volatile uint64_t sum = 0;

	for (uint64_t i = 0; i < 1000; i++)
		sum += i ^ number;
	sys1(sleep, 1000000 * (number % 4));
	return sys0(getpid) > 0 ? 0 : 1;
}
