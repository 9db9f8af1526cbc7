/* SPDX-License-Identifier: MIT */
/* boot.c -- the small machine's line is CMSDK's first UART. */
#include "../flash/start.h"

#define UART	((volatile uint32_t *)0x40004000)
#define DATA	0
#define STATE	1 /* 1: no room to send; 2: a byte has come */
#define CONTROL 2 /* 1: send; 2: receive */
#define DIVIDER 4

void small_start(void (*send)(void *arg, const void *data, size_t bytes));
void small_input(uint8_t byte);

static void line_send(void *arg, const void *data, size_t bytes)
{
	(void)arg;
	for (const uint8_t *p = data; bytes--; p++) {
		while (UART[STATE] & 1)
			;
		UART[DATA] = *p;
	}
}

void flash_main(void)
{
	UART[DIVIDER] = 16;
	UART[CONTROL] = 3;
	(void)UART[DATA]; /* QEMU looks again for what came before only at a read */
	small_start(line_send);
	for (;;)
		if (UART[STATE] & 2)
			small_input((uint8_t)UART[DATA]);
}
