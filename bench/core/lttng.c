/* SPDX-License-Identifier: MIT */
/* lttng.c -- the rival: an LTTng-UST event with two u64, and a loop of it. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_tp.h"
#include "core.h"

void bench_lttng(uint32_t n, uint64_t x)
{
	for (uint32_t i = 0; i < n; i++)
		lttng_ust_tracepoint(fathom_bench, two, x + i, i);
}

int bench_lttng_is_on(void)
{
	return lttng_ust_tracepoint_enabled(fathom_bench, two);
}
