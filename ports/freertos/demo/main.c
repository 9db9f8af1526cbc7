/* SPDX-License-Identifier: MIT */
/*
 * main.c -- an application on FreeRTOS: two producers and a consumer with a queue between them, two tasks that hand each other a
 * semaphore, one that an interrupt wakes, one that allocates, and an interrupt that the kernel cannot mask. "run N" on the console
 * lets them do N rounds; the counts that it then prints are what a trace must hold.
 */
#ifndef DEMO_PLAIN
#define CREATE_TRACE_POINTS
#include "demo_events.h"
#undef CREATE_TRACE_POINTS
#else
#define trace_run(rounds) ((void)0)
#define trace_above(n)	  ((void)0)
#endif
#include "FreeRTOS.h"
#include "task.h"
#include "queue.h"
#include "semphr.h"
#include "demo.h"

static QueueHandle_t queue;
static SemaphoreHandle_t ping, pong, tick, done;
static TaskHandle_t workers[7];
static volatile uint32_t rounds, sent, received, interrupts, above, sum;

static void producer(void *which)
{
	for (;;) {
		ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
		for (uint32_t i = 0; i < rounds; i++) {
			const uint32_t value = (uint32_t)(uintptr_t)which << 16 | i;

			xQueueSend(queue, &value, portMAX_DELAY);
			taskENTER_CRITICAL();
			sent++;
			taskEXIT_CRITICAL();
			if (i % 16 == 15)
				vTaskDelay(1);
		}
		xSemaphoreGive(done);
	}
}

static void consumer(void *unused)
{
	(void)unused;
	for (;;) {
		ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
		for (uint32_t i = 0; i < 2 * rounds; i++) {
			uint32_t value;

			xQueueReceive(queue, &value, portMAX_DELAY);
			received++;
			sum += value & 0xffff;
		}
		xSemaphoreGive(done);
	}
}

static void pinger(void *first)
{
	for (;;) {
		ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
		for (uint32_t i = 0; i < rounds; i++) {
			if (first)
				xSemaphoreGive(ping);
			xSemaphoreTake(first ? pong : ping, portMAX_DELAY);
			if (!first)
				xSemaphoreGive(pong);
		}
		xSemaphoreGive(done);
	}
}

static void waiter(void *unused)
{
	(void)unused;
	for (;;) {
		ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
		for (uint32_t i = 0; i < rounds / 4; i++)
			xSemaphoreTake(tick, portMAX_DELAY);
		xSemaphoreGive(done);
	}
}

static void allocator(void *unused)
{
	(void)unused;
	for (;;) {
		ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
		for (uint32_t i = 0; i < rounds / 4; i++) {
			void *a = pvPortMalloc(16 + i % 64), *b = pvPortMalloc(100);

			vPortFree(a);
			vTaskDelay(1);
			vPortFree(b);
		}
		xSemaphoreGive(done);
	}
}

void demo_timer_irq(void)
{
	BaseType_t woken = pdFALSE;

	traceISR_ENTER();
	TIMER0[3] = 1;
	interrupts++;
	xSemaphoreGiveFromISR(tick, &woken);
	portYIELD_FROM_ISR(woken);
}

void demo_dual_irq(void)
{
	DUAL[3] = 1;
	trace_above(above);
	above = above + 1;
}

void demo_line_irq(void)
{
#if !defined(DEMO_PLAIN) && FATHOM_FREERTOS_TREE
	BaseType_t woken = pdFALSE;
	int c;

	traceISR_ENTER();
	while ((c = demo_read(LINE)) >= 0)
		fathom_freertos_line_byte((uint8_t)c);
	woken = fathom_freertos_line_end();
	portYIELD_FROM_ISR(woken);
#endif
}

static void say_count(const char *name, uint32_t n)
{
	demo_say(name);
	demo_say_number(n);
}

static void run(uint32_t n)
{
	uint32_t ticks;

	rounds = n;
	sent = received = interrupts = above = 0;
	while (xSemaphoreTake(tick, 0)) /* of the last run */
		;
	ticks = xTaskGetTickCount();
	trace_run(n);
	demo_timers(1);
	for (unsigned i = 0; i < sizeof(workers) / sizeof(workers[0]); i++)
		xTaskNotifyGive(workers[i]);
	for (unsigned i = 0; i < sizeof(workers) / sizeof(workers[0]); i++)
		xSemaphoreTake(done, portMAX_DELAY);
	demo_timers(0);
	taskENTER_CRITICAL(); /* no tick between the two */
	trace_run(0);
	ticks = xTaskGetTickCount() - ticks;
	taskEXIT_CRITICAL();
	say_count("ran queue=", (uint32_t)queue);
	say_count(" sent=", sent);
	say_count(" received=", received);
	say_count(" interrupts=", interrupts);
	say_count(" above=", above);
	say_count(" ticks=", ticks);
	say_count(" ping=", (uint32_t)ping);
	demo_say(" .\n");
}

/* What a round of ping and pong costs: two switches, two semaphores given and taken. */
static void measure(uint32_t n)
{
	uint32_t from = DEMO_COUNTER;

	rounds = n;
	xTaskNotifyGive(workers[3]);
	xTaskNotifyGive(workers[4]);
	xSemaphoreTake(done, portMAX_DELAY);
	xSemaphoreTake(done, portMAX_DELAY);
	say_count("took=", from - DEMO_COUNTER);
	demo_say(" .\n> ");
}

static void console(void *unused)
{
	uint32_t n = 0;

	(void)unused;
	demo_say("> ");
	for (;;) {
		const int c = demo_read(CONSOLE);

		if (c < 0) {
			vTaskDelay(1);
		} else if (c >= '0' && c <= '9') {
			n = n * 10 + (uint32_t)(c - '0');
		} else if (c == 'p') {
			measure(n);
			n = 0;
		} else if (c == '\n' && n) {
			run(n);
			demo_say("> ");
			n = 0;
		}
	}
}

void vApplicationStackOverflowHook(TaskHandle_t task, char *name);
void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
	(void)task;
	demo_failed(name, 0);
}

static void start(const char *name, TaskFunction_t function, uintptr_t arg, unsigned priority,
		  TaskHandle_t *task)
{
	if (xTaskCreate(function, name, configMINIMAL_STACK_SIZE, (void *)arg, priority, task) !=
	    pdPASS)
		demo_failed(name, 1);
}

void demo_main(void)
{
#ifndef DEMO_PLAIN
	if (fathom_freertos_init())
		demo_failed("fathom_freertos_init", 0);
#if FATHOM_FREERTOS_TREE
	fathom_freertos_line(demo_send, (void *)LINE);
#endif
#endif
	queue = xQueueCreate(8, sizeof(uint32_t));
	ping = xSemaphoreCreateBinary();
	pong = xSemaphoreCreateBinary();
	tick = xSemaphoreCreateCounting(1000000, 0);
	done = xSemaphoreCreateCounting(7, 0);
	start("producer1", producer, 1, 3, &workers[0]);
	start("producer2", producer, 2, 3, &workers[1]);
	start("consumer", consumer, 0, 2, &workers[2]);
	start("ping", pinger, 1, 4, &workers[3]);
	start("pong", pinger, 0, 4, &workers[4]);
	start("waiter", waiter, 0, 6, &workers[5]);
	start("allocator", allocator, 0, 5, &workers[6]);
	start("console", console, 0, 7, NULL);
	vTaskStartScheduler();
	demo_failed("the scheduler came back", 0);
}
