/* SPDX-License-Identifier: MIT */
/* sbi.h -- riscv64: calls to the firmware, which owns timers, interrupts between CPUs, and CPUs that do not run yet. */
#ifndef DEMO_SBI_H
#define DEMO_SBI_H

#include <stdint.h>

#define SBI_TIME  0x54494d45u
#define SBI_IPI	  0x735049u
#define SBI_HARTS 0x48534du

/* Function 0 of an extension, which is all that this kernel needs of each. 0, or a negative number. */
static inline int64_t sbi_call(uint32_t extension, uint64_t a, uint64_t b, uint64_t c)
{
	register uint64_t a0 __asm__("a0") = a;
	register uint64_t a1 __asm__("a1") = b;
	register uint64_t a2 __asm__("a2") = c;
	register uint64_t a6 __asm__("a6") = 0;
	register uint64_t a7 __asm__("a7") = extension;

	__asm__ volatile("ecall" : "+r"(a0), "+r"(a1) : "r"(a2), "r"(a6), "r"(a7) : "memory");
	return (int64_t)a0;
}

#endif
