/* SPDX-License-Identifier: MIT */
/* pci.c -- PCI of a `virt` machine: configuration space and I/O ports are memory. The trace line is in slot 1. */
#include "virt/virt.h"
#include "machine.h"

#define SLOT_BYTES    0x8000 /* of configuration space */
#define SLOT	      1
#define REG_VENDOR    0x00
#define REG_COMMAND   0x04
#define REG_BAR0      0x10
#define COMMAND_IO    1
#define VENDOR_REDHAT 0x1b36

static volatile uint32_t *config(uint32_t slot, uint32_t reg)
{
	return (volatile uint32_t *)(PHYS_BASE + DEV_ECAM + slot * SLOT_BYTES + reg);
}

uint32_t pci_config(uint32_t slot, uint32_t reg)
{
	return *config(slot, reg);
}

void pci_set_config(uint32_t slot, uint32_t reg, uint32_t v)
{
	*config(slot, reg) = v;
}

uint32_t port_in(uint32_t port, int bytes)
{
	uintptr_t at = PHYS_BASE + DEV_PCI_IO + port;

	return bytes == 1   ? *(volatile uint8_t *)at
	       : bytes == 2 ? *(volatile uint16_t *)at
			    : *(volatile uint32_t *)at;
}

void port_out(uint32_t port, int bytes, uint32_t v)
{
	uintptr_t at = PHYS_BASE + DEV_PCI_IO + port;

	if (bytes == 1)
		*(volatile uint8_t *)at = (uint8_t)v;
	else if (bytes == 2)
		*(volatile uint16_t *)at = (uint16_t)v;
	else
		*(volatile uint32_t *)at = v;
}

int virt_pci_serial(void)
{
	if ((pci_config(SLOT, REG_VENDOR) & 0xffff) != VENDOR_REDHAT)
		return 0;
	pci_set_config(SLOT, REG_BAR0, PCI_SERIAL_PORT);
	pci_set_config(SLOT, REG_COMMAND, COMMAND_IO);
	return 1;
}
