/* SPDX-License-Identifier: MIT */
/* sites.c -- call sites patched in a running program: NOP, branch, NOP. Run by sites.sh on this machine and under qemu-user. */
#include <stdint.h>
#include <stdio.h>
#define CREATE_TRACE_POINTS
#include "fathom/tracepoint.h"
#include "fathom/trace.h"
#include "fathom_user.h"

TRACE_DEFINE(site, here, "n=%u", (U32, n))
TRACE_DEFINE(site, there, "n=%u", (U32, n))

/* Two sites of one event, one of another; the compiler may place the branches' targets where it likes. */
__attribute__((noinline)) static void work(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		trace_here(i);
		trace_there(i);
	}
	trace_here(n);
}

static uint64_t written(void)
{
	struct fathom_ring_stats st;

	fathom_ring_stats(fathom_ring_of(0), &st);
	return st.written;
}

int main(void)
{
	uint64_t want = 0;

	if (fathom_user_start("out=") < 0)
		return 1;
	for (int round = 0; round < 100; round++) {
		int here = round & 1, there = round >> 1 & 1;

		if (fathom_event_enable("site:here", here) != 1 ||
		    fathom_event_enable("site:there", there) != 1)
			return 1;
		work(10);
		want += (here ? 11u : 0u) + (there ? 10u : 0u);
		if (written() != want) {
			printf("round %d: %llu records, not %llu\n", round,
			       (unsigned long long)written(), (unsigned long long)want);
			return 1;
		}
	}
	puts("1050 records");
	return 0;
}
