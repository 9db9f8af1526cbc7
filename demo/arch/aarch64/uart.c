/* SPDX-License-Identifier: MIT */
/* uart.c -- aarch64: the machine's PL011, and a 16550 behind PCI. */
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

#define PL011(reg)    (*(volatile uint32_t *)(PHYS_BASE + DEV_UART + (reg)))
#define PL011_DATA    0x00
#define PL011_FLAGS   0x18
#define PL011_CONTROL 0x30
#define PL011_IRQS    0x38
#define NO_INPUT      0x10u
#define OUTPUT_FULL   0x20u
#define ON	      0x301u /* the port, its receiver and transmitter */
#define ON_INPUT      0x10u

static uintptr_t line;

void uart_init(void)
{
	PL011(PL011_CONTROL) = ON;
	PL011(PL011_IRQS) = ON_INPUT;
	if (virt_pci_serial()) {
		line = PHYS_BASE + DEV_PCI_IO + PCI_SERIAL_PORT;
		uart16550_init(line);
	}
}

void uart_put(int port, const uint8_t *data, size_t bytes)
{
	if (port && line)
		uart16550_put(line, data, bytes);
	for (size_t i = 0; !port && i < bytes; i++) {
		while (PL011(PL011_FLAGS) & OUTPUT_FULL)
			cpu_pause();
		PL011(PL011_DATA) = data[i];
	}
}

int uart_get(int port)
{
	if (port)
		return line ? uart16550_get(line) : -1;
	return PL011(PL011_FLAGS) & NO_INPUT ? -1 : (int)(PL011(PL011_DATA) & 0xff);
}
