/* SPDX-License-Identifier: MIT */
/* hot.c -- function and function_graph for ports whose hooks call nothing: entries that save no register (FATHOM_PORT_LEAF). */
#include "arch/arch.h"

/*
 * The header of the architecture takes the registers of a traced function away from the compiler, in this file: what is
 * compiled here cannot touch them. So a site leads to a few instructions (there too) that call one of these functions and go
 * back. What is out of the ordinary is done by fathom_arch_hot_call(), which saves all and which the compiler does not know as a
 * call; or, at a return, by the entry that saves them (entry.S), as if this one had not been.
 */
#if FATHOM_ARCH_HOT
#include "functions/hot.h"

FLATTEN void fathom_hot_function(void);
FLATTEN void fathom_hot_graph(void);

void fathom_hot_function(void)
{
	uintptr_t pin = fathom_port_pin();
	struct function_open o;

	if (fathom_unlikely(!function_try(&o, fathom_arch_hot_ip(), fathom_arch_hot_parent(), pin)))
		fathom_arch_hot_call(fathom_function_rest, fathom_arch_hot_ip(),
				     fathom_arch_hot_parent(), pin, 0);
	else if (fathom_unlikely(fathom_ring_close(o.ring, o.end, o.time)))
		hot_publish(pin, o.end, o.ring, o.time);
	else
		fathom_port_unpin(pin);
}

void fathom_hot_graph(void)
{
	uintptr_t pin = fathom_port_pin();
	struct graph_here h;
	enum graph_result got = graph_enter(&h, fathom_arch_hot_ip(), fathom_arch_hot_slot(),
					    fathom_arch_return_address(), pin);

	if (fathom_likely(got == GRAPH_DONE))
		fathom_port_unpin(pin);
	else if (got == GRAPH_NESTED)
		hot_publish(pin, h.end, h.ring, h.time);
	else
		fathom_arch_hot_call(fathom_graph_hijack_rest, fathom_arch_hot_ip(),
				     (uintptr_t)fathom_arch_hot_slot(), pin, 0);
}

#endif
