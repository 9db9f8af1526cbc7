/* SPDX-License-Identifier: MIT */
/* clock.c -- the architecture's counter as nanoseconds. */
#include "kernel.h"
#include "arch.h"
#include "hooks.h"
#include "machine.h"

#define NS_PER_S 1000000000ull

uint64_t clock_hz;
static uint64_t clock_base, clock_mult; /* ns = (counter - base) * mult >> 32 */

void clock_init(void)
{
	clock_hz = machine_clock_hz();
	clock_mult = (NS_PER_S << 32) / clock_hz;
	clock_base = clock_counter();
}

/* In every system call: not traced, as reading the counter itself is not. */
NOTRACE uint64_t clock_ns(void)
{
	return (uint64_t)((unsigned __int128)(clock_counter() - clock_base) * clock_mult >> 32);
}

void delay_us(uint32_t us)
{
	uint64_t end = clock_ns() + us * 1000ull;

	while (clock_ns() < end)
		cpu_pause();
}
