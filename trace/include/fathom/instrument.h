/* SPDX-License-Identifier: MIT */
/* instrument.h -- function tracing for kernels whose text cannot be patched: -finstrument-functions and a flag test. */
#ifndef FATHOM_INSTRUMENT_H
#define FATHOM_INSTRUMENT_H

#include <stdint.h>

/*
 * Compile the kernel with -finstrument-functions and put FATHOM_INSTRUMENT_FUNCTIONS into one file that is compiled
 * without. Call fathom_instrument_ready() after fathom_init(). A call then costs a load and a branch while no tracer
 * runs. `function` and `function_graph` see every function: there is no table, so sets and function probes have nothing to
 * choose from.
 */
void fathom_instrument_ready(void);

extern uint32_t fathom_instrument_on; /* written in task context, read relaxed by every call */
void fathom_instrument_enter(void *function, void *call_site);
void fathom_instrument_leave(void *function);

#define FATHOM_INSTRUMENT_FUNCTIONS                                                             \
	__attribute__((no_instrument_function)) void __cyg_profile_func_enter(void *function,   \
									      void *call_site); \
	__attribute__((no_instrument_function)) void __cyg_profile_func_exit(void *function,    \
									     void *call_site);  \
	void __cyg_profile_func_enter(void *function, void *call_site)                          \
	{                                                                                       \
		if (__atomic_load_n(&fathom_instrument_on, __ATOMIC_RELAXED))                   \
			fathom_instrument_enter(function, call_site);                           \
	}                                                                                       \
	void __cyg_profile_func_exit(void *function, void *call_site)                           \
	{                                                                                       \
		(void)call_site;                                                                \
		if (__atomic_load_n(&fathom_instrument_on, __ATOMIC_RELAXED))                   \
			fathom_instrument_leave(function);                                      \
	}

#endif
