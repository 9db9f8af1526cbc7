/* SPDX-License-Identifier: MIT */
/* hot_return.c -- the return of hot.c: a file of its own, for the registers that it must leave alone are others. */
#include "arch/arch.h"

#if FATHOM_ARCH_HOT
#define FATHOM_HOT_RETURN 1
#include "functions/hot.h"

FLATTEN void fathom_hot_return(void);

void fathom_hot_return(void)
{
	uintptr_t pin = fathom_port_pin(), ret = 0;
	struct graph_here h;
	enum graph_result got = graph_leave(&h, fathom_arch_hot_slot_left(), &ret, pin);

	if (fathom_unlikely(got == GRAPH_NOT)) {
		fathom_port_unpin(pin);
		fathom_arch_hot_go_on(fathom_arch_hot_saved_return());
		return;
	}
	fathom_arch_hot_go_on(ret);
	if (fathom_unlikely(got == GRAPH_NESTED))
		hot_publish(pin, h.end, h.ring, h.time);
	else
		fathom_port_unpin(pin);
}
#endif
