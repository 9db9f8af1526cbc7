/* SPDX-License-Identifier: MIT */
/* instrument.c -- the function tracers for text that cannot be patched: calls that the compiler leaves, and a flag test. */
#include "arch/arch.h"
#include "fathom/inside/errno.h"
#include "fathom/instrument.h"
#include "functions/probes.h"
#include "functions/sites.h"
#include "functions/tracers.h"

/* Bits of fathom_instrument_on. */
enum instrument_want {
	INSTRUMENT_FUNCTION = 1,
	INSTRUMENT_GRAPH = 2,
	INSTRUMENT_SITES = 4, /* the table of sites says who wants what */
};

enum instrument_way {
	INSTRUMENT_NONE,
	INSTRUMENT_CYG,
	INSTRUMENT_CYG_TEXT, /* ... and the functions are known */
	INSTRUMENT_FENTRY,
};

uint32_t fathom_instrument_on;
static uint8_t instrument_way;
static uintptr_t instrument_from, instrument_to;

/* fathom_init() found no functions: now it is known how they call. Nothing is written, so it is never too late. */
static void instrument_look(void)
{
	if (!fathom_core.nr_cpus || fathom_functions.nr_sites)
		return;
	fathom_lock();
	fathom_sites_init();
	fathom_unlock();
}

void fathom_instrument_ready(uintptr_t from, uintptr_t to)
{
	instrument_from = from;
	instrument_to = to;
	instrument_way = to && fathom_core.config.symbol ? INSTRUMENT_CYG_TEXT : INSTRUMENT_CYG;
	if (to)
		instrument_look();
}

int fathom_instrument_text(uintptr_t *from, uintptr_t *to)
{
	*from = instrument_from;
	*to = instrument_to;
	return instrument_way == INSTRUMENT_CYG_TEXT;
}

void fathom_instrument_ready_fentry(void)
{
	instrument_way = INSTRUMENT_FENTRY;
	instrument_look();
}

int fathom_instrument_set(uint8_t function, uint8_t graph)
{
	if (instrument_way == INSTRUMENT_NONE ||
	    (fathom_instrument_has_sites() && fathom_functions.nr_sites))
		return -FATHOM_ENOSYS;
	fathom_store(&fathom_instrument_on, (function ? (uint32_t)INSTRUMENT_FUNCTION : 0) |
						    (graph ? (uint32_t)INSTRUMENT_GRAPH : 0));
	return 0;
}

int fathom_instrument_is_ready(void)
{
	return instrument_way != INSTRUMENT_NONE;
}

int fathom_instrument_has_sites(void)
{
	return instrument_way == INSTRUMENT_FENTRY || instrument_way == INSTRUMENT_CYG_TEXT;
}

void fathom_instrument_sites(int wanted)
{
	fathom_store(&fathom_instrument_on, wanted ? (uint32_t)INSTRUMENT_SITES : 0);
}

uint32_t fathom_instrument_users(void)
{
	uint32_t on = fathom_load(&fathom_instrument_on);

	return (on & INSTRUMENT_FUNCTION ? (uint32_t)SITE_FUNCTION : 0) |
	       (on & INSTRUMENT_GRAPH ? (uint32_t)SITE_GRAPH : 0);
}

/* Thumb code is passed as an odd address, and its symbols are even. */
static uintptr_t instrument_at(void *function)
{
#if defined(__thumb__)
	return (uintptr_t)function & ~(uintptr_t)1;
#else
	return (uintptr_t)function;
#endif
}

/* Context: any. */
void fathom_instrument_enter(void *function, void *call_site, void *frame)
{
	fathom_function_named(instrument_at(function), (uintptr_t)call_site, (uintptr_t)frame);
}

void fathom_instrument_leave(void *function)
{
	uintptr_t at = instrument_at(function);
	int index = fathom_site_find(at);
	uint32_t users = index < 0 ? fathom_instrument_users()
				   : fathom_load(&fathom_functions.site[index].users);

	if (users & SITE_RETURNS)
		fathom_graph_leave_named(at);
}
