/* SPDX-License-Identifier: MIT */
/* site.h -- an event's call site: a 4-byte NOP that becomes a jump of up to 1 MiB. */
#ifndef FATHOM_ARCH_SITE_H
#define FATHOM_ARCH_SITE_H

#include <stdint.h>

#define FATHOM_SITE_BYTES 4
#define FATHOM_SITE_ALIGN 4
/* The padding comes first: with norvc the assembler believes that code is aligned already, and adds none. */
#define FATHOM_SITE_ASM	  ".balign 4\n.option push\n.option norvc\n1:\nnop\n.option pop"

/* What stands at a site: `jal zero, target`, or the NOP if target is 0. Inside one function, so always in reach. */
static inline void fathom_site_code(uint8_t code[FATHOM_SITE_BYTES], uintptr_t at, uintptr_t target)
{
	uint32_t d = (uint32_t)(target - at);
	uint32_t word = 0x00000013u;

	if (target)
		word = 0x6fu | (d >> 20 & 1u) << 31 | (d >> 1 & 0x3ffu) << 21 |
		       (d >> 11 & 1u) << 20 | (d >> 12 & 0xffu) << 12;
	for (int i = 0; i < 4; i++)
		code[i] = (uint8_t)(word >> 8 * i);
}

#endif
