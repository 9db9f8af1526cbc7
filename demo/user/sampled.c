/* SPDX-License-Identifier: MIT */
/* sampled.c -- a program that has itself sampled: starts the sampler, computes, stops it. ARG: microseconds between looks. */
#include "user.h"
#include "fathom/sampler_request.h"

#define ROUNDS 3

int program(uint64_t us)
{
	const uint32_t ask = FATHOM_SAMPLER_NO_ENTRY;

	if (sys2(sample, FATHOM_SAMPLER_SET_INTERVAL | FATHOM_SAMPLER_START, us ? us : 4000) < 0)
		return 1;
	if (sys2(sample, ask | FATHOM_SAMPLER_IS_RUNNING, 0) != 1)
		return 2;
	for (int i = 0; i < ROUNDS; i++)
		spawn("fib", 24, 0, ORDINARY, 0);
	if (wait_all())
		return 3;
	int64_t words = sys2(sample, FATHOM_SAMPLER_STOP | FATHOM_SAMPLER_WRITE_STATS, 0);

	if (words < 0 || sys2(sample, ask | FATHOM_SAMPLER_IS_RUNNING, 0))
		return 4;
	print_number("sampled: every ",
		     (uint64_t)sys2(sample, ask | FATHOM_SAMPLER_GET_INTERVAL, 0), " us, ");
	print_number("", (uint64_t)words, " words\n");
	return 0;
}
