/* SPDX-License-Identifier: MIT */
/* memory_map.h -- aarch64: where memory and devices are on QEMU's `virt` (highmem=off), 48-bit addresses. */
#ifndef DEMO_MEMORY_MAP_H
#define DEMO_MEMORY_MAP_H

#define RAM_BASE  0x40000000 /* QEMU puts the device tree at its beginning */
#define PHYS_BASE 0xffff800000000000
#define USER_TOP  0x00007ffffffff000

/* Physical addresses of devices. */
#define DEV_GICD   0x08000000 /* the GIC's distributor */
#define DEV_GICR   0x080a0000 /* its redistributors, one a CPU */
#define DEV_UART   0x09000000 /* a PL011: the console */
#define DEV_PCI_IO 0x3eff0000 /* where PCI's I/O ports are seen */
#define DEV_ECAM   0x3f000000 /* PCI's configuration space */

/* Interrupt numbers of the GIC. */
#define INTID_VIRTUAL_TIMER  27
#define INTID_PHYSICAL_TIMER 30
#define INTID_UART	     33
#define INTID_PCI_SERIAL     36 /* INTA of slot 1 */

#endif
