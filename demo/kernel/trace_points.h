/* SPDX-License-Identifier: MIT */
/* trace_points.h -- every event of the kernel: the ready-made ones it uses, and its own. */
#ifndef DEMO_TRACE_POINTS_H
#define DEMO_TRACE_POINTS_H

#include "fathom/trace.h"
#include "fathom/events/sched.h"
#include "fathom/events/irq.h"
#include "fathom/events/exceptions.h"
#include "fathom/events/kmem.h"
#include "fathom/events/ipc.h"
#include "fathom/events/block.h"
#include "demo_events.h"

TRACE_DEFINE(kmem, kmalloc, "call_site=%pS ptr=0x%lx bytes_req=%lu bytes_alloc=%lu",
	     (PTR, call_site), (U64, ptr), (U64, bytes_req), (U64, bytes_alloc))
TRACE_DEFINE(kmem, kfree, "call_site=%pS ptr=0x%lx", (PTR, call_site), (U64, ptr))

/* A task that did what it may not is ended as by Linux's signals. */
TRACE_DEFINE(signal, signal_generate, "sig=%d code=%d comm=%s pid=%d", (S32, sig), (S32, code),
	     (STR, comm), (S32, pid))

TRACE_DEFINE(irq, nmi_handler, "ip=0x%llx user=%u", (U64, ip), (U32, user))

/* Delays that cause.c makes: the task that was kept waiting runs; interrupts go off there, and on. */
TRACE_DEFINE(demo, late, "pid=%d", (S32, pid))
TRACE_DEFINE(preemptirq, irq_disable, "caller=%pS", (PTR, caller))
TRACE_DEFINE(preemptirq, irq_enable, "caller=%pS", (PTR, caller))

/* Why an IPC left the fast path. */
enum slow_reason {
	SLOW_NO_PARTNER, /* nobody waits at the endpoint: block */
	SLOW_OTHER_CPU,	 /* the partner lives elsewhere */
	SLOW_BETTER,	 /* someone here goes first */
	SLOW_NO_BLOCK,	 /* the sender goes on: there is no CPU to give away */
};

#endif
