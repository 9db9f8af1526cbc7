/* SPDX-License-Identifier: MIT */
/* events.h -- the program's events. C++ calls them; one C file, events.c, defines them. */
#ifndef EVENTS_H
#define EVENTS_H

#ifdef __cplusplus
extern "C" {
#endif
#include "fathom/tracepoint.h"
TRACE_DEFINE(app, step, "n=%u what=%s", (U32, n), (STR, what))
#ifdef __cplusplus
}
#endif

#endif
