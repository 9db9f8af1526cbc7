/* SPDX-License-Identifier: MIT */
/* start.c -- what a Cortex-M3 needs to come up from flash: vectors, .data copied, .bss cleared; a console and files by semihosting. */
#include "test/lib/mem.h"
#include "start.h"

extern uint32_t flash_data_from[], flash_data[], flash_data_end[], flash_bss[], flash_bss_end[];
extern uint32_t flash_stack_end[];
void flash_reset(void);
void flash_fault(void);
void flash_fault_at(const uint32_t *frame);

static int semihost(int op, const void *arg)
{
	register int r0 __asm__("r0") = op;
	register const void *r1 __asm__("r1") = arg;

	__asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
	return r0;
}

void flash_say(const char *text)
{
	semihost(0x04, text);
}

void flash_end(const char *text)
{
	flash_say(text);
	flash_say("\n");
	semihost(0x18, (void *)0x20026);
	for (;;)
		;
}

int flash_file(const char *name)
{
	size_t n = 0;

	while (name[n])
		n++;
	const uint32_t open[3] = {(uint32_t)name, 7 /* w+b */, n};

	return semihost(0x01, open);
}

int flash_write_at(void *arg, uint64_t at, const void *bytes, size_t n)
{
	const uint32_t seek[2] = {(uint32_t) * (int *)arg, (uint32_t)at};
	const uint32_t put[3] = {(uint32_t) * (int *)arg, (uint32_t)bytes, n};

	return semihost(0x0a, seek) || semihost(0x05, put) ? -5 : 0;
}

void flash_fault(void)
{
	flash_end("hard fault");
}

void flash_reset(void)
{
	volatile uint32_t *to = flash_data;

	for (const uint32_t *from = flash_data_from; to < flash_data_end; from++)
		*to++ = *from;
	for (to = flash_bss; to < flash_bss_end; to++)
		*to = 0;
	((volatile uint32_t *)0x40000000)[2] = 0xffffffff; /* the timer's reload and value */
	((volatile uint32_t *)0x40000000)[1] = 0xffffffff;
	((volatile uint32_t *)0x40000000)[0] = 1;
	flash_main();
	flash_end("end");
}

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
	flash_stack_end,     (void *)flash_reset, (void *)flash_fault, (void *)flash_fault,
	(void *)flash_fault, (void *)flash_fault, (void *)flash_fault};
