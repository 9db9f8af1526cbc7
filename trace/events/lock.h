/* SPDX-License-Identifier: MIT */
/* lock.h -- for what is called with the library's lock held: debug builds check that it is. */
#ifndef EVENTS_LOCK_H
#define EVENTS_LOCK_H

#include "fathom/port_default.h"

#if FATHOM_DEBUG
void fathom_lock_check(const char *what);
#define FATHOM_LOCKED() fathom_lock_check(__func__)
#else
#define FATHOM_LOCKED() ((void)0)
#endif

#endif
