/* SPDX-License-Identifier: MIT */
/* fathom_rtt_events.h -- RT-Thread's events. Linux's names where Linux has the event: the host's commands know them. */
#ifndef FATHOM_RTT_EVENTS_H
#define FATHOM_RTT_EVENTS_H

#include "fathom/events/sched.h"
#include "fathom/tracepoint.h"

/* RT-Thread's hooks do not say which interrupt it is. */
TRACE_DEFINE(irq, irq_handler_entry, "irq=%d name=irq", (S32, irq))
TRACE_DEFINE(irq, irq_handler_exit, "irq=%d ret=handled", (S32, irq))

TRACE_DEFINE(kmem, kmalloc, "ptr=0x%lx bytes_req=%llu", (U64, ptr), (U64, bytes_req))
TRACE_DEFINE(kmem, kfree, "ptr=0x%lx", (U64, ptr))

/* Semaphores, mutexes, events, mailboxes, queues and timers: taken (a wait that is over), given. type: enum rt_object_class_type. */
TRACE_DEFINE(rtthread, trytake, "type=%u name=%s", (U32, type), (STR, name))
TRACE_DEFINE(rtthread, take, "type=%u name=%s", (U32, type), (STR, name))
TRACE_DEFINE(rtthread, put, "type=%u name=%s", (U32, type), (STR, name))

#endif
