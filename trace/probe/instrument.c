/* SPDX-License-Identifier: MIT */
/* instrument.c -- the function tracers for text that cannot be patched: -finstrument-functions and a flag test. */
#include "arch/arch.h"
#include "fathom/errno.h"
#include "fathom/instrument.h"
#include "probe/probes.h"
#include "probe/tracers.h"

enum instrument_want {
	INSTRUMENT_FUNCTION = 1,
	INSTRUMENT_GRAPH = 2,
};

uint32_t fathom_instrument_on;
static uint8_t instrument_is_ready;

void fathom_instrument_ready(void)
{
	instrument_is_ready = 1;
}

int fathom_instrument_set(uint8_t function, uint8_t graph)
{
	if (!instrument_is_ready)
		return -FATHOM_ENOSYS;
	fathom_store(&fathom_instrument_on, (function ? (uint32_t)INSTRUMENT_FUNCTION : 0) |
						    (graph ? (uint32_t)INSTRUMENT_GRAPH : 0));
	return 0;
}

/* Context: any. */
void fathom_instrument_enter(void *function, void *call_site)
{
	int (*gate)(void) = fathom_load(&fathom_tracer_wants.gate);
	uint32_t want = fathom_load(&fathom_instrument_on);

	if ((fathom_pids_any() && !fathom_pid_traced(fathom_port_task())) || (gate && !gate()))
		return;
	if (want & INSTRUMENT_FUNCTION)
		fathom_function_enter((uintptr_t)function, (uintptr_t)call_site);
	if (want & INSTRUMENT_GRAPH)
		fathom_graph_enter_named((uintptr_t)function);
}

void fathom_instrument_leave(void *function)
{
	if (fathom_load(&fathom_instrument_on) & INSTRUMENT_GRAPH)
		fathom_graph_leave_named((uintptr_t)function);
}
