/* SPDX-License-Identifier: MIT */
/* trace_points.h -- every event of the kernel. */
#ifndef XV6_TRACE_POINTS_H
#define XV6_TRACE_POINTS_H

#include "fathom/trace.h"
#include "fathom/events/sched.h"
#include "fathom/events/irq.h"
#include "fathom/events/raw_syscalls.h"
#include "fathom/events/kmem.h"
#include "fathom/events/exceptions.h"
#endif
