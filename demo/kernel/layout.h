/* SPDX-License-Identifier: MIT */
/* layout.h -- where things are: memory, segments, vectors; read by C, assembly and the linker script. */
#ifndef DEMO_LAYOUT_H
#define DEMO_LAYOUT_H

/*
 * Virtual memory, the same in every address space from the middle up:
 *
 *	0x0000000000400000  a user program (its own link address), then its heap, its stack below USER_TOP
 *	0xffff800000000000  all physical memory, writable, never executable
 *	0xffffffff80000000  the kernel's image: physical 0 up, text read-only once boot is over
 */
#define KERNEL_BASE 0xffffffff80000000
#define PHYS_BASE   0xffff800000000000
#define USER_TOP    0x00007ffffffff000
#define USER_HEAP   0x0000000100000000
#define USER_STACK  0x0000000000100000 /* bytes, at most */

#define PAGE_SIZE   4096
#define AP_START    0x8000 /* physical: where the other CPUs wake up, in real mode */
#define KSTACK_SIZE 16384
#define CPUS_MAX    8

/* Segment selectors; the order of the user's two is what sysret insists on. */
#define SEL_KCODE 0x08
#define SEL_KDATA 0x10
#define SEL_UBASE 0x18
#define SEL_UDATA 0x23
#define SEL_UCODE 0x2b
#define SEL_TSS	  0x30

/* Interrupt vectors above the processor's own 32. */
#define VEC_NMI		 2
#define VEC_BREAKPOINT	 3
#define VEC_DOUBLE_FAULT 8
#define VEC_PAGE_FAULT	 14
#define VEC_IRQ0	 32 /* I/O APIC: VEC_IRQ0 + the ISA line */
#define VEC_TIMER	 64
#define VEC_RESCHED	 65
#define VEC_CALL	 66
#define VEC_STORM	 67
#define VEC_SPURIOUS	 255
#define VEC_SYSCALL	 256 /* not a vector: marks a frame made by the syscall instruction */

/* Offsets into struct cpu that assembly needs; cpu.c checks them. */
#define CPU_SELF     0
#define CPU_CURRENT  8
#define CPU_KSTACK   16
#define CPU_USER_RSP 24
#define CPU_ID	     32
#define CPU_PREEMPT  36
#define CPU_NMI	     40

#endif
