/* SPDX-License-Identifier: MIT */
/* fathom_freertos.c -- FreeRTOS: the cold half, and the task that serves the line. */
#define CREATE_TRACE_POINTS /* before FreeRTOS.h: FreeRTOSConfig.h brings the events in */
#include <string.h>
#include "FreeRTOS.h"
#include "task.h"
#include "semphr.h"
#include "fathom/p9.h"
#include "fathom/save.h"
#include "fathom/trace.h"

#ifndef FATHOM_FREERTOS_MEMORY /* for rings, and with the tree for all that it shows */
#define FATHOM_FREERTOS_MEMORY (FATHOM_FREERTOS_TREE ? 192 * 1024 : 24 * 1024)
#endif
#ifndef FATHOM_FREERTOS_PAGES
#define FATHOM_FREERTOS_PAGES 16
#endif
#ifndef FATHOM_FREERTOS_TASKS /* names of tasks that are kept; a newer task takes the place of an old one */
#define FATHOM_FREERTOS_TASKS 16
#endif
#ifndef FATHOM_FREERTOS_LINE_STACK /* words */
#define FATHOM_FREERTOS_LINE_STACK 1024
#endif
#ifndef FATHOM_FREERTOS_LINE_PRIORITY
#define FATHOM_FREERTOS_LINE_PRIORITY 1
#endif

struct fathom_clock32 fathom_freertos_clock;
int32_t fathom_freertos_pid, fathom_freertos_idle = -1;
int16_t fathom_freertos_prev_prio = 120;
uint16_t fathom_freertos_prev_state;

static uint8_t memory[FATHOM_FREERTOS_MEMORY] __attribute__((aligned(FATHOM_PAGE_BYTES)));

/* Names by number, kept as tasks are made: a fault handler can ask for them, the kernel it cannot ask. */
static struct {
	int32_t pid;
	char name[16];
} names[FATHOM_FREERTOS_TASKS];

static void copy_name(char to[16], const char *from)
{
	unsigned n = 0;

	for (; n < 15 && n < configMAX_TASK_NAME_LEN && from[n]; n++)
		to[n] = from[n];
	to[n] = 0;
}

/* In a critical section of the kernel's. Only the kernel makes a task of this name and of priority 0. */
void fathom_freertos_created(uint32_t number, const char *name)
{
	unsigned at = number % FATHOM_FREERTOS_TASKS;

	copy_name(names[at].name, name);
	names[at].pid = (int32_t)number;
	if (fathom_freertos_idle < 0 &&
	    !memcmp(names[at].name, configIDLE_TASK_NAME, sizeof(configIDLE_TASK_NAME)))
		fathom_freertos_idle = (int32_t)number;
}

static int name_of(int32_t pid, char buf[16])
{
	unsigned at = (unsigned)pid % FATHOM_FREERTOS_TASKS;

	if (pid == 0)
		copy_name(buf, configIDLE_TASK_NAME);
	else if (names[at].pid == pid)
		copy_name(buf, names[at].name);
	else
		return -FATHOM_ESRCH;
	return 0;
}

const char *fathom_freertos_irq_name(uint32_t exception)
{
	return exception == 15 ? "SysTick" : fathom_board_irq_name(exception);
}

/* A mutex of the kernel's, once it runs. */
static SemaphoreHandle_t mutex;

static void lock(void *unused)
{
	(void)unused;
	if (xTaskGetSchedulerState() == taskSCHEDULER_RUNNING)
		xSemaphoreTakeRecursive(mutex, portMAX_DELAY);
}

static void unlock(void *unused)
{
	(void)unused;
	if (xTaskGetSchedulerState() == taskSCHEDULER_RUNNING)
		xSemaphoreGiveRecursive(mutex);
}

int fathom_freertos_init(void)
{
	const struct fathom_config config = {
		.memory = memory,
		.memory_bytes = sizeof(memory),
		.nr_cpus = 1,
		.pages_per_cpu = FATHOM_FREERTOS_PAGES,
		.clock_hz = FATHOM_BOARD_HZ,
		.clock_name = "board",
		.release = "FreeRTOS " tskKERNEL_VERSION_NUMBER,
		.lock = lock,
		.unlock = unlock,
		.task_name = name_of,
	};
	int err;

	mutex = xSemaphoreCreateRecursiveMutex();
	err = mutex ? fathom_init(&config) : -FATHOM_ENOMEM;
#if !FATHOM_FREERTOS_TREE /* nobody switches events on later: all of them now, for a debugger to read */
	err = err ? err : fathom_beacon(0);
	err = err ? err : fathom_event_enable("*", 1);
#endif
	return err < 0 ? err : 0;
}

#if FATHOM_FREERTOS_TREE
static struct fathom_p9 server;
static TaskHandle_t line_task;
static uint8_t fifo[512];
static volatile uint32_t head, tail; /* head: the interrupt's, tail: the task's */

void fathom_freertos_line_byte(uint8_t byte)
{
	if (head - tail < sizeof(fifo)) /* else it is lost: the host's frames are repeated */
		fifo[head++ % sizeof(fifo)] = byte;
}

long fathom_freertos_line_end(void)
{
	BaseType_t woken = pdFALSE;

	vTaskNotifyGiveFromISR(line_task, &woken);
	return woken;
}

static void serve(void *unused)
{
	(void)unused;
	for (;;) {
		uint8_t buf[64];
		uint32_t n;

		/* A read that waits for events is tried again every 10 ms. */
		ulTaskNotifyTake(pdTRUE,
				 fathom_p9_tick(&server) ? pdMS_TO_TICKS(10) : portMAX_DELAY);
		do {
			for (n = 0; n < sizeof(buf) && tail != head; n++, tail++)
				buf[n] = fifo[tail % sizeof(fifo)];
			fathom_p9_input(&server, buf, n);
		} while (n);
	}
}

void fathom_freertos_line(void (*send)(void *arg, const void *data, size_t bytes), void *arg)
{
	fathom_p9_init(&server, send, arg);
	xTaskCreate(serve, "traceline", FATHOM_FREERTOS_LINE_STACK, 0,
		    FATHOM_FREERTOS_LINE_PRIORITY, &line_task);
}
#endif
