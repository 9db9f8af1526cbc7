/* SPDX-License-Identifier: MIT */
/* start.c -- a program's first function and its small library. */
#include "user.h"

void _start(uint64_t arg);
START_ATTRIBUTES void _start(uint64_t arg)
{
	sys1(exit, program(arg));
	__builtin_unreachable();
}

void print(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	sys2(write, s, n);
}

void print_number(const char *before, uint64_t v, const char *after)
{
	char text[128], digits[24];
	size_t n = 0, d = 0;

	while (*before && n < 64)
		text[n++] = *before++;
	do {
		digits[d++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	while (d)
		text[n++] = digits[--d];
	while (*after && n < sizeof(text) - 1)
		text[n++] = *after++;
	text[n] = 0;
	print(text);
}

int spawn(const char *name, uint64_t arg, int slot, int sched, uint64_t period_ns)
{
	return (int)sys5(spawn, name, arg, slot, sched, period_ns);
}

int wait_all(void)
{
	int code = 0, failed = 0;

	while (sys2(wait, -1, &code) > 0)
		failed += code != 0;
	return failed;
}
