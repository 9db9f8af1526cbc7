/* SPDX-License-Identifier: MIT */
/* uart.c -- riscv64: the machine's own 16550, and another one behind PCI. */
#include "machine.h"
#include "arch.h"
#include "virt/virt.h"

static uint8_t uart_in(uintptr_t at)
{
	return *(volatile uint8_t *)at;
}

static void uart_out(uintptr_t at, uint8_t v)
{
	*(volatile uint8_t *)at = v;
}

#include "uart16550.h"

static uintptr_t ports[2] = {PHYS_BASE + DEV_UART};

void uart_init(void)
{
	uart16550_init(ports[0]);
	if (virt_pci_serial()) {
		ports[1] = PHYS_BASE + DEV_PCI_IO + PCI_SERIAL_PORT;
		uart16550_init(ports[1]);
	}
}

void uart_put(int port, const uint8_t *data, size_t bytes)
{
	if (ports[port])
		uart16550_put(ports[port], data, bytes);
}

int uart_get(int port)
{
	return ports[port] ? uart16550_get(ports[port]) : -1;
}
