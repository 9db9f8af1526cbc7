/* SPDX-License-Identifier: MIT */
/* memory_map.h -- x86_64: where memory is, and what the processor's tables hold. */
#ifndef DEMO_MEMORY_MAP_H
#define DEMO_MEMORY_MAP_H

#define RAM_BASE  0
#define PHYS_BASE 0xffff800000000000
#define USER_TOP  0x00007ffffffff000
#define AP_START  0x8000 /* physical: where the other CPUs wake up, in real mode */

/* Segment selectors; the order of the user's two is what sysret insists on. */
#define SEL_KCODE 0x08
#define SEL_KDATA 0x10
#define SEL_UBASE 0x18
#define SEL_UDATA 0x23
#define SEL_UCODE 0x2b
#define SEL_TSS	  0x30

/* struct arch_cpu, for assembly; cpu.c checks it. */
#define CPU_KSTACK   (CPU_ARCH + 0)
#define CPU_USER_RSP (CPU_ARCH + 8)

#endif
