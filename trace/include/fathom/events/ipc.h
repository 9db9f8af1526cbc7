/* SPDX-License-Identifier: MIT */
/* ipc.h -- ready-made events of message passing in a microkernel. */
#ifndef FATHOM_EVENTS_IPC_H
#define FATHOM_EVENTS_IPC_H

#include "fathom/tracepoint.h"

TRACE_DEFINE(ipc, fast_send, "from=%d to=%d endpoint=0x%lx length=%u", (S32, from), (S32, to),
	     (U64, endpoint), (U32, length))
#define trace_fast_send(...) FATHOM_CALL(fast_send, __VA_ARGS__)

TRACE_DEFINE(ipc, fast_recv, "by=%d from=%d endpoint=0x%lx length=%u", (S32, by), (S32, from),
	     (U64, endpoint), (U32, length))
#define trace_fast_recv(...) FATHOM_CALL(fast_recv, __VA_ARGS__)

TRACE_DEFINE(ipc, slow_path, "by=%d endpoint=0x%lx reason=%u", (S32, by), (U64, endpoint),
	     (U32, reason))
#define trace_slow_path(...) FATHOM_CALL(slow_path, __VA_ARGS__)

#endif
