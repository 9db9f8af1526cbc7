/* SPDX-License-Identifier: MIT */
/* fathom_freertos.h -- FreeRTOS's trace macros: include it at the end of FreeRTOSConfig.h. Needs configUSE_TRACE_FACILITY 1. */
#ifndef FATHOM_FREERTOS_H
#define FATHOM_FREERTOS_H
#ifndef __ASSEMBLER__

#include <stddef.h>
#include "fathom_freertos_events.h"

#ifndef configIDLE_TASK_NAME /* tasks.c's own default */
#define configIDLE_TASK_NAME "IDLE"
#endif

/* Before the scheduler starts: rings, clock, events. 0 or fathom_init()'s error. */
int fathom_freertos_init(void);
/* Start the task that serves the control tree on a line. `send` sends all of it; FATHOM_FREERTOS_TREE 1 only. */
void fathom_freertos_line(void (*send)(void *arg, const void *data, size_t bytes), void *arg);
/* The line's interrupt: bytes that came in, then their end, which returns what portYIELD_FROM_ISR() wants. */
void fathom_freertos_line_byte(uint8_t byte);
long fathom_freertos_line_end(void);

/* ---- what the macros use ---- */

extern int32_t fathom_freertos_idle; /* the number of the idle task, which traces show as 0 */
extern int16_t fathom_freertos_prev_prio;
extern uint16_t fathom_freertos_prev_state;
void fathom_freertos_created(uint32_t number, const char *name);
const char *fathom_freertos_irq_name(uint32_t exception);

static inline uint32_t fathom_freertos_exception(void)
{
	uint32_t ipsr;

	__asm__ volatile("mrs %0, ipsr" : "=r"(ipsr));
	return ipsr;
}

#define FATHOM_FREERTOS_PID(tcb) \
	((int32_t)(tcb)->uxTCBNumber == fathom_freertos_idle ? 0 : (int32_t)(tcb)->uxTCBNumber)
/* Linux counts from 0, the most urgent. */
#define FATHOM_FREERTOS_PRIO(tcb) ((int16_t)(120 - (int)(tcb)->uxPriority))

/* In two halves: the task that leaves is known before the switch, the one that comes after it. */
#define traceTASK_SWITCHED_OUT()                                                       \
	(fathom_freertos_prev_prio = FATHOM_FREERTOS_PRIO(pxCurrentTCB),               \
	 fathom_freertos_prev_state =                                                  \
		 listIS_CONTAINED_WITHIN(&pxReadyTasksLists[pxCurrentTCB->uxPriority], \
					 &pxCurrentTCB->xStateListItem)                \
			 ? 0                                                           \
			 : 1)
#define traceTASK_SWITCHED_IN()                                                \
	do {                                                                   \
		const int32_t fathom_next = FATHOM_FREERTOS_PID(pxCurrentTCB); \
                                                                               \
		if (fathom_next != fathom_freertos_pid)                        \
			trace_sched_switch(fathom_freertos_pid, fathom_next,   \
					   fathom_freertos_prev_prio,          \
					   FATHOM_FREERTOS_PRIO(pxCurrentTCB), \
					   fathom_freertos_prev_state);        \
		fathom_freertos_pid = fathom_next;                             \
	} while (0)
#define traceMOVED_TASK_TO_READY_STATE(tcb) \
	trace_sched_wakeup(FATHOM_FREERTOS_PID(tcb), FATHOM_FREERTOS_PRIO(tcb), 0)
#define traceTASK_CREATE(tcb)		fathom_freertos_created((tcb)->uxTCBNumber, (tcb)->pcTaskName)
#define traceTASK_INCREMENT_TICK(ticks) ((void)fathom_port_clock())

#define traceISR_ENTER()                                                 \
	do {                                                             \
		const uint32_t fathom_irq = fathom_freertos_exception(); \
                                                                         \
		FATHOM_CALL(irq_handler_entry, (int32_t)fathom_irq,      \
			    fathom_freertos_irq_name(fathom_irq));       \
	} while (0)
/* portYIELD_FROM_ISR() calls one of these since V11: an interrupt handler that ends with it says no more. */
#define traceISR_EXIT()		     trace_irq_handler_exit((int32_t)fathom_freertos_exception())
#define traceISR_EXIT_TO_SCHEDULER() traceISR_EXIT()

#define traceMALLOC(at, bytes) ((at) ? trace_kmalloc((uint32_t)(at), (uint32_t)(bytes)) : (void)0)
#define traceFREE(at, bytes)   trace_kfree((uint32_t)(at))

#define FATHOM_FREERTOS_QUEUE(event, queue) \
	FATHOM_CALL(event, (uint32_t)(queue), (uint32_t)(queue)->uxMessagesWaiting)
#define traceQUEUE_SEND(queue)		      FATHOM_FREERTOS_QUEUE(queue_send, queue)
#define traceQUEUE_SEND_FROM_ISR(queue)	      FATHOM_FREERTOS_QUEUE(queue_send, queue)
#define traceQUEUE_GIVE_FROM_ISR(queue)	      FATHOM_FREERTOS_QUEUE(queue_send, queue)
#define traceQUEUE_RECEIVE(queue)	      FATHOM_FREERTOS_QUEUE(queue_receive, queue)
#define traceQUEUE_SEMAPHORE_RECEIVE(queue)   FATHOM_FREERTOS_QUEUE(queue_receive, queue)
#define traceQUEUE_RECEIVE_FROM_ISR(queue)    FATHOM_FREERTOS_QUEUE(queue_receive, queue)
#define traceBLOCKING_ON_QUEUE_SEND(queue)    trace_queue_block((uint32_t)(queue), 1)
#define traceBLOCKING_ON_QUEUE_RECEIVE(queue) trace_queue_block((uint32_t)(queue), 0)

#endif
#endif
