/* SPDX-License-Identifier: MIT */
/* board.c -- mps2-an385 from reset on: vectors, memory, two UARTs, two timers. */
#include <stdint.h>
#include <string.h>
#include "demo.h"

extern uint32_t demo_data_from[], demo_data[], demo_data_end[], demo_bss[], demo_bss_end[];
extern uint32_t demo_stack_end[];

#define UART(n) ((volatile uint32_t *)(0x40004000 + 0x1000 * (n)))
#define DATA	0
#define STATE	1 /* 1: no room to send; 2: a byte has come */
#define CONTROL 2 /* 1: send; 2: receive; 8: interrupt when a byte has come */
#define CLEAR	3
#define DIVIDER 4

#define NVIC_ENABLE   (*(volatile uint32_t *)0xe000e100)
#define NVIC_PRIORITY ((volatile uint8_t *)0xe000e400)

void demo_reset(void);
void demo_fault(void);
void svc_handler(void);
void pendsv_handler(void);
void systick_handler(void);

void demo_send(void *uart, const void *data, size_t bytes)
{
	for (const uint8_t *p = data; bytes--; p++) {
		while (UART((uintptr_t)uart)[STATE] & 1)
			;
		UART((uintptr_t)uart)[DATA] = *p;
	}
}

void demo_say(const char *text)
{
	demo_send((void *)CONSOLE, text, strlen(text));
}

void demo_say_number(uint32_t n)
{
	char text[11];
	int at = 10;

	text[at] = 0;
	do
		text[--at] = (char)('0' + n % 10);
	while (n /= 10);
	demo_say(text + at);
}

int demo_read(uint32_t uart)
{
	if (!(UART(uart)[STATE] & 2))
		return -1;
	UART(uart)[CLEAR] = 2;
	return (int)(UART(uart)[DATA] & 0xff);
}

void demo_failed(const char *file, int line)
{
	__asm__ volatile("cpsid i");
	demo_say("FAILED ");
	demo_say(file);
	demo_say(" line ");
	demo_say_number((uint32_t)line);
	demo_say("\n");
	for (;;)
		;
}

void demo_fault(void)
{
	demo_failed("a fault", 0);
}

static void interrupt(unsigned number, uint8_t priority)
{
	NVIC_PRIORITY[number] = priority;
	NVIC_ENABLE = 1u << number;
}

void demo_timers(uint32_t on)
{
	TIMER0[2] = 25000000 / 2000; /* reload: 2 kHz */
	TIMER0[0] = on ? 9 : 0;
	DUAL[0] = 25000000 / 5000; /* load: 5 kHz */
	DUAL[2] = on ? 0xe2 : 0;
}

void demo_reset(void)
{
	volatile uint32_t *to = demo_data;

	for (const uint32_t *from = demo_data_from; to < demo_data_end; from++)
		*to++ = *from;
	for (to = demo_bss; to < demo_bss_end; to++)
		*to = 0;
	TIMER1[2] = TIMER1[1] = 0xffffffff;
	TIMER1[0] = 1;
	for (unsigned n = 0; n < 2; n++)
		UART(n)[DIVIDER] = 16;
	UART(CONSOLE)[CONTROL] = 3;
	UART(LINE)[CONTROL] = 3 | 8;
	interrupt(2, 0x80);  /* the line's bytes */
	interrupt(8, 0x80);  /* timer 0, calls the kernel */
	interrupt(10, 0x20); /* the dual timer, above what the kernel masks: only traces */
	demo_main();
}

void *memmove(void *to, const void *from, size_t n)
{
	volatile uint8_t *t = to;
	const uint8_t *f = from;

	for (size_t i = 0; i < n; i++)
		if (t < f)
			t[i] = f[i];
		else
			t[n - 1 - i] = f[n - 1 - i];
	return to;
}

void *memcpy(void *to, const void *from, size_t n)
{
	return memmove(to, from, n);
}

void *memset(void *to, int c, size_t n)
{
	for (volatile uint8_t *t = to; n; n--)
		*t++ = (uint8_t)c;
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a, *y = b;

	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

char *strcpy(char *to, const char *from)
{
	return memcpy(to, from, strlen(from) + 1);
}

size_t strlen(const char *s)
{
	const volatile char *p = s;

	while (*p)
		p++;
	return (size_t)(p - s);
}

__attribute__((section(".vectors"), used)) static void *const vectors[16 + 11] = {
	demo_stack_end,
	(void *)demo_reset,
	(void *)demo_fault,
	(void *)demo_fault,
	(void *)demo_fault,
	(void *)demo_fault,
	(void *)demo_fault,
	[11] = (void *)svc_handler,
	[14] = (void *)pendsv_handler,
	[15] = (void *)systick_handler,
	[16 + 2] = (void *)demo_line_irq,
	[16 + 8] = (void *)demo_timer_irq,
	[16 + 10] = (void *)demo_dual_irq,
};
