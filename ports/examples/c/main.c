/* SPDX-License-Identifier: MIT */
/* main.c -- a C program that records its own events; built against the installed library. */
#define CREATE_TRACE_POINTS
#include "fathom/events/sched.h"
#include "fathom/tracepoint.h"
#include "fathom_user.h"

TRACE_DEFINE(app, step, "n=%u", (U32, n))

int main(void)
{
	fathom_user_start("events=*,out=trace.dat");
	for (unsigned i = 0; i < 10; i++)
		trace_step(i);
	return 0;
}
