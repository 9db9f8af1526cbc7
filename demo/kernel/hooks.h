/* SPDX-License-Identifier: MIT */
/* hooks.h -- the four places where latency tracers listen, and the mark of functions that are never traced. */
#ifndef DEMO_HOOKS_H
#define DEMO_HOOKS_H

#include <stdint.h>
#include "fathom/moments.h"

/* What a breakpoint runs through before the tracer has looked at it. */
#define NOTRACE __attribute__((no_instrument_function, patchable_function_entry(0)))

/* Where interrupts enter: function_graph draws an arrow. */
#define IRQ_ENTRY __attribute__((section(".irqentry.text"), noinline))

#if LEVEL >= 4
#define HOOK(note, off)                                                                 \
	do {                                                                            \
		__label__ here;                                                         \
	here:                                                                           \
		note(off, (uintptr_t) && here, (uintptr_t)__builtin_return_address(0)); \
	} while (0)
#else
#define HOOK(note, off) ((void)0)
#endif

/* Interrupts went off, or are about to go on, on this CPU; called with them off. */
#define hook_irqs_off() HOOK(fathom_note_irqs, 1)
#define hook_irqs_on()	HOOK(fathom_note_irqs, 0)

/* Preemption went off, or is about to go on. */
#define hook_preempt_off() HOOK(fathom_note_preempt, 1)
#define hook_preempt_on()  HOOK(fathom_note_preempt, 0)

#endif
