/* SPDX-License-Identifier: MIT */
/* demo_events.h -- the application's own events. */
#ifndef DEMO_EVENTS_H
#define DEMO_EVENTS_H

#include "fathom/tracepoint.h"

TRACE_DEFINE(app, run, "rounds=%u", (U32, rounds)) /* 0: it has ended */
TRACE_DEFINE(app, above, "n=%u", (U32, n))

#endif
