/* SPDX-License-Identifier: MIT */
/* pool.h -- memory for filters, triggers, histograms and instances, and when it may be used again. */
#ifndef CONTROL_POOL_H
#define CONTROL_POOL_H

#include <stddef.h>
#include <stdint.h>

/*
 * A first-fit heap in the slice that init set aside. Only control code takes and gives, under the control lock.
 *
 * P1  A block that an event handler may have seen is never put back directly, but retired: unlinked first, then reused
 *     once every CPU was seen outside the handlers.
 * P2  Handlers hold the gate (enter/leave) from before they load such a pointer until they are done with it.
 */
void fathom_pool_init(void *mem, size_t bytes);
void *fathom_pool_get(size_t bytes); /* zeroed, 16-aligned; NULL if there is none */
void fathom_pool_put(void *block);   /* NULL is fine */
size_t fathom_pool_room(void);	     /* of the largest block that there is */
void fathom_pool_retire(void *block);

/* Any context, NMI included. Nests. */
void fathom_pool_enter(uint32_t cpu);
void fathom_pool_leave(uint32_t cpu);

#endif
