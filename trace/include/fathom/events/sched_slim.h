/* SPDX-License-Identifier: MIT */
/* sched_slim.h -- events of a scheduler for small machines: pids only, a third of the bytes and instructions of sched.h. */
#ifndef FATHOM_EVENTS_SCHED_SLIM_H
#define FATHOM_EVENTS_SCHED_SLIM_H

#include "fathom/tracepoint.h"

/*
 * The names are those of sched.h, so include one of the two. The host finds no names of tasks in these records, takes them
 * from the table of tasks, which is sent once (config.task_name), and shows Linux's records. States are those of sched.h.
 */
TRACE_DEFINE(sched, sched_switch,
	     "prev_pid=%d prev_prio=%d prev_state=%u ==> next_pid=%d next_prio=%d", (S32, prev_pid),
	     (S32, next_pid), (S16, prev_prio), (S16, next_prio), (U16, prev_state))
/* trace_sched_switch(prev_pid, next_pid, prev_prio, next_prio, prev_state) */
#define trace_sched_switch(...) FATHOM_CALL(sched_switch, __VA_ARGS__)

TRACE_DEFINE(sched, sched_waking, "pid=%d prio=%d target_cpu=%d", (S32, pid), (S16, prio),
	     (S16, target_cpu))
#define trace_sched_waking(...) FATHOM_CALL(sched_waking, __VA_ARGS__)

TRACE_DEFINE(sched, sched_wakeup, "pid=%d prio=%d target_cpu=%d", (S32, pid), (S16, prio),
	     (S16, target_cpu))
#define trace_sched_wakeup(...) FATHOM_CALL(sched_wakeup, __VA_ARGS__)

#endif
