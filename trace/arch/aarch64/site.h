/* SPDX-License-Identifier: MIT */
/* site.h -- an event's call site: a NOP that becomes a branch. */
#ifndef FATHOM_ARCH_SITE_H
#define FATHOM_ARCH_SITE_H

#include <stdint.h>

#define FATHOM_SITE_BYTES 4
#define FATHOM_SITE_ALIGN 4
#define FATHOM_SITE_ASM	  "1:\nnop"

/* What stands at a site: the branch to `target`, or the NOP if target is 0. */
static inline void fathom_site_code(uint8_t code[FATHOM_SITE_BYTES], uintptr_t at, uintptr_t target)
{
	uint32_t word =
		target ? 0x14000000u | ((uint32_t)((target - at) >> 2) & 0x03ffffffu) : 0xd503201fu;

	for (int i = 0; i < 4; i++)
		code[i] = (uint8_t)(word >> 8 * i);
}

#endif
