/* SPDX-License-Identifier: MIT */
/* sched.h -- ready-made events of a scheduler: Linux's names, fields and text, plain values as arguments. */
/* clang-format off */
/* GNU's variadic macros and Linux's `;` behind TRACE_EVENT() are no business of a pedantic includer. */
#pragma GCC system_header
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sched

#if !defined(FATHOM_EVENTS_SCHED_H) || defined(TRACE_HEADER_MULTI_READ)
#define FATHOM_EVENTS_SCHED_H

#include "fathom/tracepoint.h"
#include "fathom/events/words.h"

/* Linux's task states; FATHOM_TASK_PREEMPTED is one above the highest it reports. */
#define FATHOM_TASK_REPORT (0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040)
#define FATHOM_TASK_IDLE      (FATHOM_TASK_REPORT + 1)
#define FATHOM_TASK_PREEMPTED (FATHOM_TASK_IDLE << 1)

TRACE_EVENT(sched_switch,

	TP_PROTO(const char *prev_comm, int prev_pid, int prev_prio, long prev_state,
		 const char *next_comm, int next_pid, int next_prio),

	TP_ARGS(prev_comm, prev_pid, prev_prio, prev_state, next_comm, next_pid, next_prio),

	TP_STRUCT__entry(
		__array(	char,		prev_comm,	16	)
		__field_as(	int32_t, "pid_t",	prev_pid	)
		__field(	int,		prev_prio		)
		__field_as(	intptr_t, "long",	prev_state	)
		__array(	char,		next_comm,	16	)
		__field_as(	int32_t, "pid_t",	next_pid	)
		__field(	int,		next_prio		)
	),

	TP_fast_assign(
		fathom_assign_comm(__entry->prev_comm, prev_comm);
		__entry->prev_pid	= prev_pid;
		__entry->prev_prio	= prev_prio;
		__entry->prev_state	= prev_state;
		fathom_assign_comm(__entry->next_comm, next_comm);
		__entry->next_pid	= next_pid;
		__entry->next_prio	= next_prio;
	),

	TP_printk("prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d next_prio=%d",
		__entry->prev_comm, __entry->prev_pid, __entry->prev_prio,
		(__entry->prev_state & (FATHOM_TASK_PREEMPTED - 1)) ?
		  __print_flags(__entry->prev_state & (FATHOM_TASK_PREEMPTED - 1), "|",
				{ 0x00000001, "S" }, { 0x00000002, "D" }, { 0x00000004, "T" },
				{ 0x00000008, "t" }, { 0x00000010, "X" }, { 0x00000020, "Z" },
				{ 0x00000040, "P" }, { 0x00000080, "I" }) :
		  "R",
		__entry->prev_state & FATHOM_TASK_PREEMPTED ? "+" : "",
		__entry->next_comm, __entry->next_pid, __entry->next_prio)
);
#define trace_sched_switch(...) FATHOM_CALL(sched_switch, __VA_ARGS__)

DECLARE_EVENT_CLASS(fathom_sched_wakeup,

	TP_PROTO(const char *comm, int pid, int prio, int target_cpu),

	TP_ARGS(comm, pid, prio, target_cpu),

	TP_STRUCT__entry(
		__array(	char,		comm,	16	)
		__field_as(	int32_t, "pid_t",	pid	)
		__field(	int,		prio		)
		__field(	int,		target_cpu	)
	),

	TP_fast_assign(
		fathom_assign_comm(__entry->comm, comm);
		__entry->pid		= pid;
		__entry->prio		= prio;
		__entry->target_cpu	= target_cpu;
	),

	TP_printk("comm=%s pid=%d prio=%d target_cpu=%03d",
		__entry->comm, __entry->pid, __entry->prio, __entry->target_cpu)
);

DEFINE_EVENT(fathom_sched_wakeup, sched_waking,
	TP_PROTO(const char *comm, int pid, int prio, int target_cpu),
	TP_ARGS(comm, pid, prio, target_cpu));
#define trace_sched_waking(...) FATHOM_CALL(sched_waking, __VA_ARGS__)

DEFINE_EVENT(fathom_sched_wakeup, sched_wakeup,
	TP_PROTO(const char *comm, int pid, int prio, int target_cpu),
	TP_ARGS(comm, pid, prio, target_cpu));
#define trace_sched_wakeup(...) FATHOM_CALL(sched_wakeup, __VA_ARGS__)

DEFINE_EVENT(fathom_sched_wakeup, sched_wakeup_new,
	TP_PROTO(const char *comm, int pid, int prio, int target_cpu),
	TP_ARGS(comm, pid, prio, target_cpu));
#define trace_sched_wakeup_new(...) FATHOM_CALL(sched_wakeup_new, __VA_ARGS__)

TRACE_EVENT(sched_migrate_task,

	TP_PROTO(const char *comm, int pid, int prio, int orig_cpu, int dest_cpu),

	TP_ARGS(comm, pid, prio, orig_cpu, dest_cpu),

	TP_STRUCT__entry(
		__array(	char,		comm,	16	)
		__field_as(	int32_t, "pid_t",	pid	)
		__field(	int,		prio		)
		__field(	int,		orig_cpu	)
		__field(	int,		dest_cpu	)
	),

	TP_fast_assign(
		fathom_assign_comm(__entry->comm, comm);
		__entry->pid		= pid;
		__entry->prio		= prio;
		__entry->orig_cpu	= orig_cpu;
		__entry->dest_cpu	= dest_cpu;
	),

	TP_printk("comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d",
		__entry->comm, __entry->pid, __entry->prio, __entry->orig_cpu, __entry->dest_cpu)
);
#define trace_sched_migrate_task(...) FATHOM_CALL(sched_migrate_task, __VA_ARGS__)

TRACE_EVENT(sched_process_exec,

	TP_PROTO(const char *filename, int pid, int old_pid),

	TP_ARGS(filename, pid, old_pid),

	TP_STRUCT__entry(
		__string(	filename,	filename	)
		__field_as(	int32_t, "pid_t",	pid	)
		__field_as(	int32_t, "pid_t",	old_pid	)
	),

	TP_fast_assign(
		__assign_str(filename, filename);
		__entry->pid		= pid;
		__entry->old_pid	= old_pid;
	),

	TP_printk("filename=%s pid=%d old_pid=%d", __get_str(filename),
		__entry->pid, __entry->old_pid)
);
#define trace_sched_process_exec(...) FATHOM_CALL(sched_process_exec, __VA_ARGS__)

TRACE_EVENT(sched_process_exit,

	TP_PROTO(const char *comm, int pid, int prio),

	TP_ARGS(comm, pid, prio),

	TP_STRUCT__entry(
		__array(	char,		comm,	16	)
		__field_as(	int32_t, "pid_t",	pid	)
		__field(	int,		prio		)
	),

	TP_fast_assign(
		fathom_assign_comm(__entry->comm, comm);
		__entry->pid		= pid;
		__entry->prio		= prio;
	),

	TP_printk("comm=%s pid=%d prio=%d", __entry->comm, __entry->pid, __entry->prio)
);
#define trace_sched_process_exit(...) FATHOM_CALL(sched_process_exit, __VA_ARGS__)

TRACE_EVENT(sched_process_fork,

	TP_PROTO(const char *parent_comm, int parent_pid, const char *child_comm, int child_pid),

	TP_ARGS(parent_comm, parent_pid, child_comm, child_pid),

	TP_STRUCT__entry(
		__array(	char,		parent_comm,	16	)
		__field_as(	int32_t, "pid_t",	parent_pid	)
		__array(	char,		child_comm,	16	)
		__field_as(	int32_t, "pid_t",	child_pid	)
	),

	TP_fast_assign(
		fathom_assign_comm(__entry->parent_comm, parent_comm);
		__entry->parent_pid	= parent_pid;
		fathom_assign_comm(__entry->child_comm, child_comm);
		__entry->child_pid	= child_pid;
	),

	TP_printk("comm=%s pid=%d child_comm=%s child_pid=%d",
		__entry->parent_comm, __entry->parent_pid,
		__entry->child_comm, __entry->child_pid)
);
#define trace_sched_process_fork(...) FATHOM_CALL(sched_process_fork, __VA_ARGS__)

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH fathom/events
#include "fathom/define_trace.h"
