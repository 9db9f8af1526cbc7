/* SPDX-License-Identifier: MIT */
/* layout.h -- where things are, and what they are called: memory, stacks, vectors; read by C, assembly and the linker script. */
#ifndef DEMO_LAYOUT_H
#define DEMO_LAYOUT_H

#include "memory_map.h" /* of the architecture */

/*
 * Virtual memory, the same in every address space from KERNEL_HALF up:
 *
 *	0x0000000000400000  a user program (its own link address), then its heap, its stack below USER_TOP
 *	PHYS_BASE           all physical memory and the devices, writable, never executable
 *	KERNEL_BASE         RAM from RAM_BASE on: the kernel's image, text read-only once boot is over
 */
#define KERNEL_BASE 0xffffffff80000000
#define USER_HEAP   0x0000000100000000
#define USER_STACK  0x0000000000100000 /* bytes, at most */

#define PAGE_SIZE   4096
#define KSTACK_SIZE 16384
#define CPUS_MAX    8

/*
 * What interrupts the kernel, as x86_64 numbers it; the others translate (vectors.c). Below 32 are the processor's own
 * exceptions, above them what irq.c sends or hears of.
 */
#define VEC_DIVIDE	   0
#define VEC_NMI		   2
#define VEC_BREAKPOINT	   3
#define VEC_INVALID_OPCODE 6
#define VEC_DOUBLE_FAULT   8 /* also: the kernel's stack is used up */
#define VEC_PROTECTION	   13
#define VEC_PAGE_FAULT	   14
#define VEC_ALIGNMENT	   17
#define VEC_EXCEPTIONS	   32
#define VEC_SERIAL1	   35
#define VEC_SERIAL0	   36
#define VEC_TIMER	   64
#define VEC_RESCHED	   65
#define VEC_CALL	   66
#define VEC_STORM	   67
#define VEC_SPURIOUS	   255
#define VEC_SYSCALL	   256 /* not a vector: marks a frame made by a system call */

/* Bits of a page fault's error code, as x86_64 has them. */
#define FAULT_PRESENT 1
#define FAULT_WRITE   2
#define FAULT_USER    4
#define FAULT_FETCH   16

/* Offsets into struct task and struct cpu that assembly needs; task.c checks them. */
#define TASK_SP	     0
#define TASK_KSTACK  8
#define TASK_CPU     16
#define TASK_PREEMPT 20
#define TASK_SCRATCH 24
#define CPU_CURRENT  0
#define CPU_ID	     8
#define CPU_NMI	     12
#define CPU_ARCH     16

#endif
