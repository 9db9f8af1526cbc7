/* SPDX-License-Identifier: MIT */
/* syscall.h -- x86_64: how a program calls the kernel: number and result in rax, arguments in rdi rsi rdx r10 r8. */
#ifndef USER_SYSCALL_H
#define USER_SYSCALL_H

/* The stack pointer that the kernel gives is aligned as if there were no return address. */
#define START_ATTRIBUTES __attribute__((force_align_arg_pointer))

/* The kernel keeps every register but rax, rcx, r11 and, for messages, rsi rdx r10 r8. */
static inline int64_t syscall_words(long number, uint64_t a, uint64_t word[4])
{
	int64_t result = number;
	register uint64_t r10 __asm__("r10") = word[2];
	register uint64_t r8 __asm__("r8") = word[3];

	__asm__ volatile("syscall"
			 : "+a"(result), "+D"(a), "+S"(word[0]), "+d"(word[1]), "+r"(r10), "+r"(r8)
			 :
			 : "rcx", "r11", "memory");
	word[2] = r10;
	word[3] = r8;
	return result;
}

#endif
