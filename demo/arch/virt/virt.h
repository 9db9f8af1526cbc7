/* SPDX-License-Identifier: MIT */
/* virt.h -- what QEMU's `virt` machines of aarch64 and riscv64 share: a device tree, and PCI. */
#ifndef DEMO_VIRT_H
#define DEMO_VIRT_H

#include "layout.h"
#include <stdint.h>

struct virt_facts {
	char cmdline[512];
	uint64_t ram_end; /* of the first range of memory */
	uint64_t cpu[CPUS_MAX];
	uint32_t nr_cpus;
	uint32_t timebase_hz; /* riscv64 */
};

/* tree.c: what the device tree says, of what this kernel wants to know. Panics if it is none. */
void virt_read_tree(const void *tree, struct virt_facts *facts);

/* pci.c: `-device pci-serial,addr=1` at an I/O port of our choice; 1 if it is there. */
#define PCI_SERIAL_PORT 0x1000
int virt_pci_serial(void);

#endif
