/* SPDX-License-Identifier: MIT */
/* sites.c -- call sites patched in a running program: NOP, branch, NOP. Run by sites.sh on this machine and under qemu-user. */
#include <stdint.h>
#include <stdio.h>
#define CREATE_TRACE_POINTS
#include "fathom/tracepoint.h"
#include "fathom/object.h"
#include "fathom/trace.h"
#include "fathom_user.h"
#include "events/registry.h"

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

/* Sites behind an odd number of compressed instructions. */
volatile uint32_t odd_sum;
__attribute__((noinline)) static void odd(uint32_t n)
{
	trace_here(n);
	odd_sum += n;
	trace_there(n);
	odd_sum -= n + 1;
	trace_here(n);
	odd_sum ^= n;
	trace_there(n);
}

static int sites_aligned(void)
{
	const struct fathom_object *o = fathom_object_next(NULL);
	uint32_t n = 0;

	for (const struct fathom_site *s = o->sites; s < o->sites_end; s++, n += s[-1].event != 0)
		if (((uintptr_t)&s->at + (uintptr_t)(intptr_t)s->at) % FATHOM_SITE_ALIGN)
			return 0;
	return n >= 7;
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
	if (!sites_aligned()) {
		puts("a call site is not aligned, or some are missing");
		return 1;
	}
	for (int round = 0; round < 100; round++) {
		int here = round & 1, there = round >> 1 & 1;

		if (fathom_event_enable("site:here", here) != 1 ||
		    fathom_event_enable("site:there", there) != 1)
			return 1;
		work(10);
		odd(10);
		want += (here ? 13u : 0u) + (there ? 12u : 0u);
		if (written() != want) {
			printf("round %d: %llu records, not %llu\n", round,
			       (unsigned long long)written(), (unsigned long long)want);
			return 1;
		}
	}
	puts("1250 records");
	return 0;
}
