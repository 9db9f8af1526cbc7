/* SPDX-License-Identifier: MIT */
/* plug.c -- a shared library that later.c opens; compiled with sites (PLUG names it), and without. */
#define CREATE_TRACE_POINTS
#include "fathom/tracepoint.h"
#include "fathom_user.h"

TRACE_DEFINE(plug, step, "x=%d", (S32, x))
FATHOM_USER_LIBRARY;

#define PLUG_CAT(a, b)	a##_##b
#define PLUG_NAME(a, b) PLUG_CAT(a, b)
#define LEAF		PLUG_NAME(PLUG, leaf)
#define TOP		PLUG_NAME(PLUG, top)

__attribute__((noinline)) int LEAF(int x);
int TOP(int x);
int plug_run(int x);

int LEAF(int x)
{
	__asm__ volatile("" : "+r"(x));
	return 3 * x;
}

int TOP(int x)
{
	return LEAF(x) + LEAF(x + 1) + 1;
}

int plug_run(int x)
{
	trace_step(x);
	return TOP(x) - 1;
}
