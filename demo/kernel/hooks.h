/* SPDX-License-Identifier: MIT */
/* hooks.h -- the four places where latency tracers listen. */
#ifndef DEMO_HOOKS_H
#define DEMO_HOOKS_H

/* Interrupts went off, or are about to go on, on this CPU; called with them off. */
static inline void hook_irqs_off(void)
{
}

static inline void hook_irqs_on(void)
{
}

/* Preemption went off, or is about to go on. */
static inline void hook_preempt_off(void)
{
}

static inline void hook_preempt_on(void)
{
}

#endif
