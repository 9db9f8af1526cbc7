/* SPDX-License-Identifier: MIT */
/* tracers.c -- what a traced call and its return cost: ours with return sites, with a replaced return, off; and the floor. */
#include <stdio.h>
#include "functions/tracer.h"
#include "test/tracers/port.h"
#include "tracers_loop.h"

int subject_ret(int x);
int subject_hij(int x);
int subject_plain(int x);

enum row {
	FLOOR,
	PLAIN,
	OFF,
	FUNCTION,
	GRAPH_RET,
	GRAPH_HIJ,
	NR_ROWS
};
static const char *const names[NR_ROWS] = {
	"floor: two clock reads, two stores", "a call, nothing compiled in",
	"off: NOPs at entry and return",      "function",
	"function_graph, return sites",	      "function_graph, replaced return",
};
static uint64_t best[NR_ROWS];

/* Rows take turns, so that all see the same machine. */
static void rounds(const char *tracer, enum row first, int (*fn)(int), enum row second,
		   int (*other)(int))
{
	fathom_tracer_set(tracer);
	for (int i = 0; i < BATCHES; i++) {
		best[FLOOR] = least(floor_call, best[FLOOR]);
		best[first] = least(fn, best[first]);
		best[second] = least(other, best[second]);
	}
}

int main(void)
{
	double ns = ns_per_tick() / BATCH;

	port_clock_hz = (uint64_t)(1e9 / (ns * BATCH));
	memset(best, 0xff, sizeof(best));
	if (port_init_pages(1, 64)) {
		fprintf(stderr, "bench: fathom_init failed\n");
		return 1;
	}
	for (int turn = 0; turn < 3; turn++) {
		rounds("nop", PLAIN, subject_plain, OFF, subject_ret);
		rounds("function", FUNCTION, subject_ret, FUNCTION, subject_ret);
		rounds("function_graph", GRAPH_RET, subject_ret, GRAPH_HIJ, subject_hij);
	}
	fathom_tracer_set("nop");
	for (int i = 0; i < NR_ROWS; i++)
		printf("%s|%.3f\n", names[i], (double)best[i] * ns);
	return 0;
}
