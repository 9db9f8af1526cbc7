/* SPDX-License-Identifier: MIT */
/* fib.c -- compute, recursively: fib(ARG), then a recursion that is as deep as ARG is wide. */
#include "user.h"

#define DEEP_PER_N 100

__attribute__((noinline)) static uint64_t fib(uint64_t n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

/* Not a tail call: the addition waits for every level below. */
__attribute__((noinline)) static uint64_t deep(uint64_t n)
{
	volatile uint64_t here = n;

	return n ? deep(n - 1) + (here & 1) : 0;
}

int program(uint64_t n)
{
	if (!n)
		n = 24;
	print_number("fib = ", fib(n), "\n");
	return deep(n * DEEP_PER_N) == n * DEEP_PER_N / 2 ? 0 : 1;
}
