/* SPDX-License-Identifier: MIT */
/* full.c -- records argv[1] events as fast as it can: more than the buffer holds. */
#include <stdlib.h>
#include "fathom/trace.h"
#define CREATE_TRACE_POINTS
#include "fathom/tracepoint.h"

TRACE_DEFINE(full, tick, "n=%u", (U32, n))

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 0;

	for (unsigned i = 0; i < n; i++)
		trace_tick(i);
	return 0;
}
