/* SPDX-License-Identifier: MIT */
/* trace_points.h -- the kernel's trace points. Until the tracer is linked in they vanish. */
#ifndef DEMO_TRACE_POINTS_H
#define DEMO_TRACE_POINTS_H

static inline void trace_nothing(int first, ...)
{
	(void)first;
}

#define trace_frame_alloc(...)	      trace_nothing(0, __VA_ARGS__)
#define trace_frame_free(...)	      trace_nothing(0, __VA_ARGS__)
#define trace_page_fault_user(...)    trace_nothing(0, __VA_ARGS__)
#define trace_page_fault_kernel(...)  trace_nothing(0, __VA_ARGS__)
#define trace_irq_handler_entry(...)  trace_nothing(0, __VA_ARGS__)
#define trace_irq_handler_exit(...)   trace_nothing(0, __VA_ARGS__)
#define trace_nmi_handler(...)	      trace_nothing(0, __VA_ARGS__)
#define trace_sched_switch(...)	      trace_nothing(0, __VA_ARGS__)
#define trace_sched_wakeup(...)	      trace_nothing(0, __VA_ARGS__)
#define trace_sched_wakeup_new(...)   trace_nothing(0, __VA_ARGS__)
#define trace_sched_migrate_task(...) trace_nothing(0, __VA_ARGS__)
#define trace_task_create(...)	      trace_nothing(0, __VA_ARGS__)
#define trace_task_exit(...)	      trace_nothing(0, __VA_ARGS__)
#define trace_ipc_fast(...)	      trace_nothing(0, __VA_ARGS__)
#define trace_ipc_slow(...)	      trace_nothing(0, __VA_ARGS__)
#define trace_ipc_wait(...)	      trace_nothing(0, __VA_ARGS__)
#define trace_sys_enter(...)	      trace_nothing(0, __VA_ARGS__)
#define trace_sys_exit(...)	      trace_nothing(0, __VA_ARGS__)
#define tracing_off()		      trace_nothing(0)
#define fathom_dump(n)		      trace_nothing(0, n)

#endif
