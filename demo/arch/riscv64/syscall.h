/* SPDX-License-Identifier: MIT */
/* syscall.h -- riscv64: how a program calls the kernel: number in a7, arguments in a0 .. a4, result in a0. */
#ifndef USER_SYSCALL_H
#define USER_SYSCALL_H

#define START_ATTRIBUTES

/* The kernel keeps every register but a0 and, for messages, a1 .. a4. */
static inline int64_t syscall_words(long number, uint64_t a, uint64_t word[4])
{
	register uint64_t a0 __asm__("a0") = a;
	register uint64_t a1 __asm__("a1") = word[0];
	register uint64_t a2 __asm__("a2") = word[1];
	register uint64_t a3 __asm__("a3") = word[2];
	register uint64_t a4 __asm__("a4") = word[3];
	register long a7 __asm__("a7") = number;

	__asm__ volatile(
		"ecall"
		: "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3), "+r"(a4)
		: "r"(a7)
		: "ra",
		  "memory"); /* so that its function saves ra: a walk of the stack finds the caller */
	word[0] = a1;
	word[1] = a2;
	word[2] = a3;
	word[3] = a4;
	return (int64_t)a0;
}

#endif
