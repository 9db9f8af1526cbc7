/* SPDX-License-Identifier: MIT */
/* lock.h -- what debug builds check: the lock is held where it must be, and what they saw a port do wrong. */
#ifndef EVENTS_LOCK_H
#define EVENTS_LOCK_H

#include "fathom/trace.h"

#if FATHOM_DEBUG
void fathom_lock_check(const char *what);
#define FATHOM_LOCKED() fathom_lock_check(__func__)

/* Written in any context, read by fathom_port_check(). */
struct fathom_port_seen {
	uint32_t lock_in_irq; /* the lock was taken in an interrupt */
	uint32_t flat;	      /* an event interrupted another, and its context says no interrupt */
};
extern struct fathom_port_seen fathom_port_seen;
/* fathom_port_check(), but for what needs other CPUs. */
int fathom_port_check_alone(fathom_write_fn write, void *arg);
#else
#define FATHOM_LOCKED() ((void)0)
#endif

#endif
