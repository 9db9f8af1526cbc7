/* SPDX-License-Identifier: MIT */
/* hot.h -- what hot.c and hot_return.c have in common. */
#ifndef FUNCTIONS_HOT_H
#define FUNCTIONS_HOT_H

#ifdef __aarch64__
#include "arch/aarch64/hot.h"
#else
#include "arch/riscv64/hot.h"
#endif
#define FATHOM_RING_TAKE_BACK(ring, stored) \
	fathom_arch_hot_call(fathom_hot_take_back, (uintptr_t)(ring), stored, 0, 0)
#if defined(FATHOM_ARCH_HOT_STAYS) && !defined(FATHOM_HOT_RETURN)
#define CALL_IP(ip)	    ((void)(ip), fathom_arch_hot_ip())
#define CALL_PARENT(parent) ((void)(parent), fathom_arch_hot_parent())
#endif
struct fathom_ring;
void fathom_hot_take_back(struct fathom_ring *ring, unsigned long stored); /* ring.c */
#include "functions/function_fast.h"
#include "functions/graph_fast.h"

static inline __attribute__((always_inline)) void hot_publish(uintptr_t pin, unsigned long end,
							      struct fathom_ring *ring,
							      uint64_t time)
{
	fathom_arch_hot_call(fathom_publish_rest, pin, end, (uintptr_t)ring, time);
}

#endif
