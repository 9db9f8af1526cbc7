/* SPDX-License-Identifier: MIT */
/* memory_map.h -- riscv64: where memory and devices are on QEMU's `virt`, Sv39. */
#ifndef DEMO_MEMORY_MAP_H
#define DEMO_MEMORY_MAP_H

#define RAM_BASE  0x80000000 /* its first 2 MiB are OpenSBI's */
#define PHYS_BASE 0xffffffc000000000
#define USER_TOP  0x0000003ffffff000

/* Physical addresses of devices. */
#define DEV_EXIT   0x00100000 /* SiFive's test device: ends QEMU */
#define DEV_PCI_IO 0x03000000 /* where PCI's I/O ports are seen */
#define DEV_PLIC   0x0c000000
#define DEV_UART   0x10000000 /* a 16550: the console */
#define DEV_ECAM   0x30000000 /* PCI's configuration space */

/* Lines of the PLIC. */
#define LINE_UART	10
#define LINE_PCI_SERIAL 33 /* INTA of slot 1 */

#endif
