/* SPDX-License-Identifier: MIT */
/* tracers_other.c -- the same call under another tracer, which is configured from outside. */
#include <stdio.h>
#include "tracers_loop.h"

int subject_other(int x);

__attribute__((no_instrument_function)) int main(void)
{
	double ns = ns_per_tick() / BATCH;
	uint64_t floor = UINT64_MAX, call = UINT64_MAX;

	for (int i = 0; i < BATCHES; i++) {
		floor = least(floor_call, floor);
		call = least(subject_other, call);
	}
	printf("%.3f %.3f\n", (double)floor * ns, (double)call * ns);
	return 0;
}
