/* SPDX-License-Identifier: MIT */
/* syscall.h -- aarch64: how a program calls the kernel: number in x8, arguments in x0 .. x4, result in x0. */
#ifndef USER_SYSCALL_H
#define USER_SYSCALL_H

#define START_ATTRIBUTES

/* The kernel keeps every register but x0 and, for messages, x1 .. x4. */
static inline int64_t syscall_words(long number, uint64_t a, uint64_t word[4])
{
	register uint64_t x0 __asm__("x0") = a;
	register uint64_t x1 __asm__("x1") = word[0];
	register uint64_t x2 __asm__("x2") = word[1];
	register uint64_t x3 __asm__("x3") = word[2];
	register uint64_t x4 __asm__("x4") = word[3];
	register long x8 __asm__("x8") = number;

	__asm__ volatile("svc #0"
			 : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3), "+r"(x4)
			 : "r"(x8)
			 : "memory");
	word[0] = x1;
	word[1] = x2;
	word[2] = x3;
	word[3] = x4;
	return (int64_t)x0;
}

#endif
