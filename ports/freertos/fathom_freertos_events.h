/* SPDX-License-Identifier: MIT */
/* fathom_freertos_events.h -- FreeRTOS's events. Linux's names where Linux has the event: the host's commands know them. */
#ifndef FATHOM_FREERTOS_EVENTS_H
#define FATHOM_FREERTOS_EVENTS_H

#include "fathom/events/sched_slim.h"

/* irq: the number of the exception, 15 for SysTick, 16 and up for the board's. */
TRACE_DEFINE(irq, irq_handler_entry, "irq=%d name=%s", (S32, irq), (STR, name))
TRACE_DEFINE(irq, irq_handler_exit, "irq=%d ret=handled", (S32, irq))

TRACE_DEFINE(kmem, kmalloc, "ptr=0x%x bytes_req=%u", (U32, ptr), (U32, bytes_req))
TRACE_DEFINE(kmem, kfree, "ptr=0x%x", (U32, ptr))

/* Queues, and semaphores and mutexes, which are queues: `waiting` is how many messages there are before it. */
TRACE_DEFINE(freertos, queue_send, "queue=0x%x waiting=%u", (U32, queue), (U32, waiting))
TRACE_DEFINE(freertos, queue_receive, "queue=0x%x waiting=%u", (U32, queue), (U32, waiting))
TRACE_DEFINE(freertos, queue_block, "queue=0x%x sending=%u", (U32, queue), (U32, sending))

#endif
