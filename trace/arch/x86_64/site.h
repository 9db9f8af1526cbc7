/* SPDX-License-Identifier: MIT */
/* site.h -- an event's call site: a 5-byte NOP that becomes a jump. */
#ifndef FATHOM_ARCH_SITE_H
#define FATHOM_ARCH_SITE_H

#include <stdint.h>

#define FATHOM_SITE_BYTES 5
#define FATHOM_SITE_ALIGN 1
#define FATHOM_SITE_ASM	  "1:\n.byte 0x0f, 0x1f, 0x44, 0x00, 0x00"

/* What stands at a site: the jump to `target`, or the NOP if target is 0. */
static inline void fathom_site_code(uint8_t code[FATHOM_SITE_BYTES], uintptr_t at, uintptr_t target)
{
	uint32_t rel = (uint32_t)(target - (at + FATHOM_SITE_BYTES));

	if (!target) {
		code[0] = 0x0f, code[1] = 0x1f, code[2] = 0x44, code[3] = 0, code[4] = 0;
		return;
	}
	code[0] = 0xe9;
	for (int i = 0; i < 4; i++)
		code[1 + i] = (uint8_t)(rel >> 8 * i);
}

#endif
