/* SPDX-License-Identifier: MIT */
/* uart.c -- x86_64: COM1 and COM2. */
#include "machine.h"
#include "arch.h"

static uint8_t uart_in(uintptr_t at)
{
	return inb((uint16_t)at);
}

static void uart_out(uintptr_t at, uint8_t v)
{
	outb((uint16_t)at, v);
}

#include "uart16550.h"

static const uintptr_t ports[2] = {0x3f8, 0x2f8};

void uart_init(void)
{
	uart16550_init(ports[0]);
	uart16550_init(ports[1]);
}

void uart_put(int port, const uint8_t *data, size_t bytes)
{
	uart16550_put(ports[port], data, bytes);
}

int uart_get(int port)
{
	return uart16550_get(ports[port]);
}
