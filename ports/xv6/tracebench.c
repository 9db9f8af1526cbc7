/* SPDX-License-Identifier: MIT */
/* tracebench.c -- a user program of xv6: what a system call costs, in ticks of 100 ns; under QEMU's -icount 100 instructions. */
#include "kernel/types.h"
#include "kernel/stat.h"
#include "user/user.h"

static uint64 now(void)
{
	uint64 t;

	__asm__ volatile("rdtime %0" : "=r"(t));
	return t;
}

int main(int argc, char *argv[])
{
	int calls = argc > 1 ? atoi(argv[1]) : 20000;
	uint64 start = now();

	for (int i = 0; i < calls; i++)
		getpid();
	printf("tracebench: %d instructions a call\n", (int)((now() - start) * 100 / calls));
	exit(0);
}
