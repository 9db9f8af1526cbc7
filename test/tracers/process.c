/* SPDX-License-Identifier: MIT */
/* process.c -- a program that knows nothing of tracing, for process.sh. */
#include "traced.h"

int main(void)
{
	for (int i = 0; i < 100; i++) {
		ret_work();
		hij_work();
	}
	return ret_top(3) == hij_top(3) ? 0 : 1;
}
