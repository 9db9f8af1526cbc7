/* SPDX-License-Identifier: MIT */
/* pci.c -- x86_64: PCI's configuration space by its two ports, and ports by the processor's instructions. */
#include "machine.h"
#include "arch.h"

#define CONFIG_ADDRESS 0xcf8
#define CONFIG_DATA    0xcfc

uint32_t port_in(uint32_t port, int bytes)
{
	return bytes == 1   ? inb((uint16_t)port)
	       : bytes == 2 ? inw((uint16_t)port)
			    : inl((uint16_t)port);
}

void port_out(uint32_t port, int bytes, uint32_t v)
{
	if (bytes == 1)
		outb((uint16_t)port, (uint8_t)v);
	else if (bytes == 2)
		outw((uint16_t)port, (uint16_t)v);
	else
		outl((uint16_t)port, v);
}

uint32_t pci_config(uint32_t slot, uint32_t reg)
{
	outl(CONFIG_ADDRESS, 0x80000000u | slot << 11 | reg);
	return inl(CONFIG_DATA);
}

void pci_set_config(uint32_t slot, uint32_t reg, uint32_t v)
{
	outl(CONFIG_ADDRESS, 0x80000000u | slot << 11 | reg);
	outl(CONFIG_DATA, v);
}
