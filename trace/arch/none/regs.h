/* SPDX-License-Identifier: MIT */
/* regs.h -- any other CPU: nothing is known of registers. */
#ifndef ARCH_NONE_REGS_H
#define ARCH_NONE_REGS_H

#include <stdint.h>

#define FATHOM_ARCH_REGS \
	{                \
		"", 0    \
	}
#define FATHOM_ARCH_ARGS    0
#define FATHOM_ARCH_STACK   0
#define FATHOM_ARCH_NO_REGS 1

static inline int fathom_arch_retval(const uintptr_t *slot, int replaced, uintptr_t *v)
{
	(void)slot, (void)replaced;
	*v = 0;
	return 0;
}

#endif
