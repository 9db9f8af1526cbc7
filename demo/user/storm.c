/* SPDX-License-Identifier: MIT */
/* storm.c -- interrupts: ARG of them to every CPU, as fast as the kernel sends them. */
#include "user.h"

int program(uint64_t count)
{
	return (int)sys1(storm, count ? count : 500);
}
