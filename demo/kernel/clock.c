/* SPDX-License-Identifier: MIT */
/* clock.c -- the time-stamp counter as nanoseconds, measured against the PIT, whose rate is known. */
#include "kernel.h"
#include "x86.h"

#define MEASURED 20u /* ms: long enough for 4 digits, short enough for a boot */

uint64_t clock_base, clock_mult, clock_hz;

/* Channel 2 of the PIT counts down once; its output is bit 5 of port 0x61. Returns the TSC ticks that took. */
static uint64_t tsc_ticks_in(uint32_t pit_ticks)
{
	outb(0x61, (inb(0x61) & 0xfc) | 1); /* gate on, speaker off */
	outb(0x43, 0xb0);		    /* channel 2, both bytes, mode 0 */
	outb(0x42, (uint8_t)pit_ticks);
	outb(0x42, (uint8_t)(pit_ticks >> 8));
	uint64_t start = rdtsc();

	while (!(inb(0x61) & 0x20))
		;
	return rdtsc() - start;
}

void clock_init(void)
{
	uint64_t ticks = tsc_ticks_in(PIT_HZ * MEASURED / 1000);

	clock_mult = (((uint64_t)MEASURED * 1000000) << 32) / ticks;
	clock_hz = ticks * 1000 / MEASURED;
	clock_base = rdtsc();
}

void delay_us(uint32_t us)
{
	uint64_t end = clock_ns() + us * 1000ull;

	while (clock_ns() < end)
		cpu_pause();
}
