/* SPDX-License-Identifier: MIT */
/* load.c -- everything at once: ARG rounds of each workload, side by side, enough to keep every CPU busy. */
#include "user.h"

int program(uint64_t rounds)
{
	static const struct {
		const char *name;
		uint64_t arg;
		int copies;
	} parts[] = {{"ipc", 30, 6}, {"touch", 12, 4}, {"many", 8, 2},
		     {"fib", 15, 2}, {"storm", 5, 2},  {"crash", 0, 2}};
	int failed = 0;

	for (uint64_t r = 0; r < (rounds ? rounds : 1); r++) {
		for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
			for (int k = 0; k < parts[i].copies; k++)
				failed += spawn(parts[i].name, parts[i].arg, 0, ORDINARY, 0) < 0;
		failed += wait_all() - 2; /* the two that crash */
	}
	return failed;
}
