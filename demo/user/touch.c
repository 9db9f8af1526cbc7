/* SPDX-License-Identifier: MIT */
/* touch.c -- demand paging: map ARG pages, touch each once, check what was written, give them back; three times. */
#include "user.h"

#define PAGE   4096
#define ROUNDS 3

int program(uint64_t pages)
{
	if (!pages)
		pages = 64;
	for (int round = 0; round < ROUNDS; round++) {
		int64_t at = sys1(map, pages * PAGE);

		if (at < 0)
			return 1;
		volatile uint64_t *p = (volatile uint64_t *)at;

		for (uint64_t i = 0; i < pages; i++)
			p[i * PAGE / 8] += i + 1;
		for (uint64_t i = 0; i < pages; i++)
			if (p[i * PAGE / 8] != i + 1)
				return 2;
		if (sys1(unmap, at))
			return 3;
	}
	return 0;
}
