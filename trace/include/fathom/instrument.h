/* SPDX-License-Identifier: MIT */
/* instrument.h -- function tracing for kernels whose text cannot be patched: calls that the compiler leaves, and a flag test. */
#ifndef FATHOM_INSTRUMENT_H
#define FATHOM_INSTRUMENT_H

#include <stdint.h>
#include "fathom/inside/instrument.h"

/*
 * A call costs a load and a branch while no tracer runs. Two ways:
 *
 * -finstrument-functions, any CPU: put FATHOM_INSTRUMENT_FUNCTIONS into one file that is compiled without, and call
 * fathom_instrument_ready() after fathom_init(), with the text that is compiled so. Its functions are those that
 * config.symbol names there: sets, function probes and the profile work as on patched text. (A function that was compiled
 * without is in the list too, and never called.) The stack tracer and stacks in the trace need frame pointers, in that file
 * too (-fno-omit-frame-pointer). Without symbols, or with 0, 0 for the text, `function` and `function_graph` see
 * every function: there is no table to choose from.
 *
 * -pg -mfentry -mrecord-mcount, x86_64, no PIE: the same with FATHOM_INSTRUMENT_FENTRY and fathom_instrument_ready_fentry().
 * Every function calls, but gcc's table says which there are: sets, probes, the profile and the stack tracer work as on
 * patched text. Without the table (clang) it is all functions or none, as above.
 */
void fathom_instrument_ready(uintptr_t from, uintptr_t to);
void fathom_instrument_ready_fentry(void);

#define FATHOM_INSTRUMENT_FUNCTIONS                                                               \
	__attribute__((no_instrument_function)) void __cyg_profile_func_enter(void *function,     \
									      void *call_site);   \
	__attribute__((no_instrument_function)) void __cyg_profile_func_exit(void *function,      \
									     void *call_site);    \
	void __cyg_profile_func_enter(void *function, void *call_site)                            \
	{                                                                                         \
		if (__atomic_load_n(&fathom_instrument_on, __ATOMIC_RELAXED)) {                   \
			fathom_instrument_enter(function, call_site, __builtin_frame_address(0)); \
			__asm__ volatile(""); /* no tail call: the frame must be there */         \
		}                                                                                 \
	}                                                                                         \
	void __cyg_profile_func_exit(void *function, void *call_site)                             \
	{                                                                                         \
		(void)call_site;                                                                  \
		if (__atomic_load_n(&fathom_instrument_on, __ATOMIC_RELAXED))                     \
			fathom_instrument_leave(function);                                        \
	}

#define FATHOM_INSTRUMENT_FENTRY                          \
	__asm__(".pushsection .text\n"                    \
		"\t.globl __fentry__\n"                   \
		"\t.type __fentry__, @function\n"         \
		"__fentry__:\n"                           \
		"\tcmpl $0, fathom_instrument_on(%rip)\n" \
		"\tjne fathom_arch_entry_any\n"           \
		"\tret\n"                                 \
		"\t.size __fentry__, . - __fentry__\n"    \
		".popsection")

#endif
