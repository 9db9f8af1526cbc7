/* SPDX-License-Identifier: MIT */
/* calls.c -- functions that are traced: outer calls middle twice, which calls leaf n times. */
#include <stdint.h>

uint32_t flash_sum;
void leaf(uint32_t n);
void middle(uint32_t n);
void outer(uint32_t n);

__attribute__((noipa)) void leaf(uint32_t n)
{
	for (volatile uint32_t i = 0; i < 100 * n; i++)
		flash_sum += i;
}

__attribute__((noipa)) void middle(uint32_t n)
{
	while (n)
		leaf(n--);
}

__attribute__((noipa)) void outer(uint32_t n)
{
	middle(n);
	middle(1);
}
