/* SPDX-License-Identifier: MIT */
/* hooks.h -- the four places where latency tracers listen, and the mark of functions that are never traced. */
#ifndef DEMO_HOOKS_H
#define DEMO_HOOKS_H

#include <stdint.h>

/* What a breakpoint runs through before the tracer has looked at it. */
#define NOTRACE __attribute__((no_instrument_function, patchable_function_entry(0)))

/* Where interrupts enter: function_graph draws an arrow. */
#define IRQ_ENTRY __attribute__((section(".irqentry.text"), noinline))

/* The declarations are those of fathom/task.h, which lies above the port, and the port above this. */
extern uint32_t fathom_want;
void fathom_note_irqs_slow(int off, uintptr_t ip, uintptr_t parent_ip);
void fathom_note_preempt_slow(int off, uintptr_t ip, uintptr_t parent_ip);
#define HOOK_IRQS    4u
#define HOOK_PREEMPT 8u

#if LEVEL >= 4
#define HOOK(what, slow, off)                                                                      \
	do {                                                                                       \
		__label__ here;                                                                    \
	here:                                                                                      \
		if (__builtin_expect(__atomic_load_n(&fathom_want, __ATOMIC_RELAXED) & (what), 0)) \
			slow(off, (uintptr_t) && here, (uintptr_t)__builtin_return_address(0));    \
	} while (0)
#else
#define HOOK(what, slow, off) ((void)0)
#endif

/* Interrupts went off, or are about to go on, on this CPU; called with them off. */
#define hook_irqs_off() HOOK(HOOK_IRQS, fathom_note_irqs_slow, 1)
#define hook_irqs_on()	HOOK(HOOK_IRQS, fathom_note_irqs_slow, 0)

/* Preemption went off, or is about to go on. */
#define hook_preempt_off() HOOK(HOOK_PREEMPT, fathom_note_preempt_slow, 1)
#define hook_preempt_on()  HOOK(HOOK_PREEMPT, fathom_note_preempt_slow, 0)

#endif
