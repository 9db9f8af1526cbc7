/* SPDX-License-Identifier: MIT */
/* crash.c -- a program that ends badly, three calls deep. The kernel must not care. */
#include "user.h"

#define NOWHERE 0xdead000ull

__attribute__((noinline)) static uint64_t touch_nowhere(uint64_t at)
{
	return *(volatile uint64_t *)at;
}

__attribute__((noinline)) static uint64_t go_there(uint64_t at)
{
	return touch_nowhere(at) + 1;
}

int program(uint64_t arg)
{
	return (int)go_there(NOWHERE + arg * 8);
}
