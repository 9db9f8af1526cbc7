/* SPDX-License-Identifier: MIT */
/* uart16550.h -- the 16550, wherever its registers are: who includes this has uart_in() and uart_out() for them. */
#ifndef DEMO_UART16550_H
#define DEMO_UART16550_H

#include <stddef.h>
#include <stdint.h>

enum {
	UART_DATA = 0,
	UART_IRQS = 1,
	UART_FIFO = 2,
	UART_LINE = 3,
	UART_MODEM = 4,
	UART_STATUS = 5,
};

#define UART_HAS_INPUT	1
#define UART_EMPTY	0x20
#define UART_FIFO_BYTES 16

static inline void uart16550_init(uintptr_t at)
{
	uart_out(at + UART_LINE, 0x80); /* divisor latch: 115200 baud */
	uart_out(at + UART_DATA, 1);
	uart_out(at + UART_IRQS, 0);
	uart_out(at + UART_LINE, 0x03);	 /* 8n1 */
	uart_out(at + UART_FIFO, 0xc7);	 /* FIFO on */
	uart_out(at + UART_MODEM, 0x0b); /* DTR, RTS, interrupts reach the line */
	uart_out(at + UART_IRQS, 0x01);	 /* interrupt on input */
}

/* When the transmitter is empty its FIFO takes 16 bytes without asking in between. */
static inline void uart16550_put(uintptr_t at, const uint8_t *data, size_t bytes)
{
	while (bytes) {
		size_t n = bytes < UART_FIFO_BYTES ? bytes : UART_FIFO_BYTES;

		while (!(uart_in(at + UART_STATUS) & UART_EMPTY))
			cpu_pause();
		for (size_t i = 0; i < n; i++)
			uart_out(at + UART_DATA, data[i]);
		data += n;
		bytes -= n;
	}
}

static inline int uart16550_get(uintptr_t at)
{
	return uart_in(at + UART_STATUS) & UART_HAS_INPUT ? uart_in(at + UART_DATA) : -1;
}

#endif
