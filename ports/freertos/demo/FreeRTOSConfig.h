/* SPDX-License-Identifier: MIT */
/* FreeRTOSConfig.h -- the demo's configuration of FreeRTOS. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#define configCPU_CLOCK_HZ			25000000
#define configTICK_RATE_HZ			1000
#define configTICK_TYPE_WIDTH_IN_BITS		TICK_TYPE_WIDTH_32_BITS
#define configUSE_PREEMPTION			1
#define configUSE_TIME_SLICING			1
#define configUSE_PORT_OPTIMISED_TASK_SELECTION 1
#define configMAX_PRIORITIES			8
#define configMINIMAL_STACK_SIZE		160
#define configMAX_TASK_NAME_LEN			12
#define configIDLE_SHOULD_YIELD			1
#define configUSE_TRACE_FACILITY		1
#define configUSE_MUTEXES			1
#define configUSE_RECURSIVE_MUTEXES		1
#define configUSE_COUNTING_SEMAPHORES		1
#define configUSE_TIMERS			0
#define configUSE_IDLE_HOOK			0
#define configUSE_TICK_HOOK			0
#define configCHECK_FOR_STACK_OVERFLOW		2
#define configUSE_MALLOC_FAILED_HOOK		0
#define configSUPPORT_DYNAMIC_ALLOCATION	1
#define configTOTAL_HEAP_SIZE			(48 * 1024)
#define configKERNEL_INTERRUPT_PRIORITY		0xff
#define configMAX_SYSCALL_INTERRUPT_PRIORITY	0x40
#define INCLUDE_vTaskDelay			1
#define INCLUDE_vTaskDelete			1
#define INCLUDE_vTaskSuspend			1
#define INCLUDE_xTaskGetSchedulerState		1
#define INCLUDE_uxTaskGetStackHighWaterMark	1
#define vPortSVCHandler				svc_handler
#define xPortPendSVHandler			pendsv_handler
#define xPortSysTickHandler			systick_handler

void demo_failed(const char *file, int line);
#define configASSERT(x) ((x) ? (void)0 : demo_failed(__FILE__, __LINE__))

/* Rings that hold a whole run: what else the host does must not cost an event. */
#define FATHOM_FREERTOS_LINE_PRIORITY 7
#define FATHOM_FREERTOS_PAGES	      (FATHOM_FREERTOS_TREE ? 256 : 192)
#define FATHOM_FREERTOS_MEMORY	      (FATHOM_FREERTOS_TREE ? 1200 * 1024 : 128 * 1024)

#ifndef DEMO_PLAIN
#include "fathom_freertos.h"
#endif

#endif
