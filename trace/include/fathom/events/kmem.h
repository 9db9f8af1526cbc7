/* SPDX-License-Identifier: MIT */
/* kmem.h -- ready-made events of a frame allocator. */
#ifndef FATHOM_EVENTS_KMEM_H
#define FATHOM_EVENTS_KMEM_H

#include "fathom/tracepoint.h"

TRACE_DEFINE(kmem, frame_alloc, "frame=0x%lx order=%u caller=%pS", (U64, frame), (U32, order),
	     (PTR, caller))
#define trace_frame_alloc(...) FATHOM_CALL(frame_alloc, __VA_ARGS__)

TRACE_DEFINE(kmem, frame_free, "frame=0x%lx order=%u", (U64, frame), (U32, order))
#define trace_frame_free(...) FATHOM_CALL(frame_free, __VA_ARGS__)

#endif
