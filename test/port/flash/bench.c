/* SPDX-License-Identifier: MIT */
/* bench.c -- instructions per event on a Cortex-M3: with QEMU's -icount shift=0 a tick of the 25 MHz timer is 40 of them. */
#include "start.h"
#define CREATE_TRACE_POINTS
#include "fathom/events/sched_slim.h"
#include "fathom/task.h"
#include "fathom/trace.h"

TRACE_DEFINE(flash, pair, "a=%u b=%u", (U32, a), (U32, b))

static uint8_t memory[512 * 1024] __attribute__((aligned(4096)));
struct fathom_task flash_task;

#define TURNS	      1000
#define TICK_IN_INSNS 40

static void say_count(const char *what, uint32_t ticks)
{
	char digits[12];
	int i = sizeof(digits) - 1;
	uint32_t n = ticks * TICK_IN_INSNS / TURNS;

	digits[i] = 0;
	do
		digits[--i] = (char)('0' + n % 10);
	while (n /= 10);
	flash_say(what);
	flash_say(" ");
	flash_say(digits + i);
	flash_say("\n");
}

/* The same loop without it is subtracted. */
#define COUNT(what, statement)                                                  \
	do {                                                                    \
		uint32_t began = ~FLASH_TIMER[1], between;                      \
		for (volatile uint32_t i = 0; i < TURNS; i++)                   \
			;                                                       \
		between = ~FLASH_TIMER[1];                                      \
		for (volatile uint32_t i = 0; i < TURNS; i++) {                 \
			statement;                                              \
		}                                                               \
		say_count(what, ~FLASH_TIMER[1] - between - (between - began)); \
	} while (0)

void flash_main(void)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = 1,
				       .pages_per_cpu = 8,
				       .clock_hz = 25000000};

	if (fathom_init(&config))
		flash_end("fathom_init() refused");
	COUNT("hundred", __asm__ volatile(".rept 100\nnop\n.endr"));
	COUNT("off", trace_pair(1, 2));
	fathom_event_enable("*", 1);
	COUNT("pair", trace_pair(1, 2));
	COUNT("sched_switch", trace_sched_switch(7, 8, 120, 100, 1));
	COUNT("printk", trace_printk("a=%d b=%d\n", 1, 2));
}
