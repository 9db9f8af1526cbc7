/* SPDX-License-Identifier: MIT */
/* pci.c -- the trace line of a `virt` machine, which has one UART only: a 16550 in PCI slot 1. */
#include "virt/virt.h"

#define SLOT_BYTES    0x8000 /* of configuration space */
#define SLOT	      1
#define REG_VENDOR    0x00
#define REG_COMMAND   0x04
#define REG_BAR0      0x10
#define COMMAND_IO    1
#define VENDOR_REDHAT 0x1b36

int virt_pci_serial(uintptr_t ecam)
{
	uintptr_t at = ecam + SLOT * SLOT_BYTES;

	if (*(volatile uint16_t *)(at + REG_VENDOR) != VENDOR_REDHAT)
		return 0;
	*(volatile uint32_t *)(at + REG_BAR0) = PCI_SERIAL_PORT;
	*(volatile uint16_t *)(at + REG_COMMAND) = COMMAND_IO;
	return 1;
}
