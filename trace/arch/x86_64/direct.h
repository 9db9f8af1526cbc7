/* SPDX-License-Identifier: MIT */
/* direct.h -- x86_64: sites that call C without a stub in between. */
#ifndef FATHOM_ARCH_DIRECT_H
#define FATHOM_ARCH_DIRECT_H

#include <stdint.h>

/* Not where vector registers may be used, which the compiler would not save, nor with a sanitizer's runtime, which saves none. */
#if defined(__SSE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
	defined(FATHOM_SANITIZED)
#define FATHOM_ARCH_DIRECT 0
#else
#define FATHOM_ARCH_DIRECT 1
#endif

/*
 * Such a function saves every register it uses, and no other. For what is out of the ordinary it calls assembly (entry.S) that
 * saves all of them. To the compiler that is not a call: so it keeps no frame for one, and may keep values below the stack
 * pointer, as far as the ABI lets it.
 */
#define FATHOM_ARCH_SAVES __attribute__((no_caller_saved_registers))

/* Where its site is, and where the return address of the function that the site is in lies. */
#define fathom_arch_direct_site() ((uintptr_t)__builtin_return_address(0) - 5)
#define fathom_arch_direct_slot() ((uintptr_t *)__builtin_dwarf_cfa())

#define FATHOM_ARCH_CALL(name) \
	"sub $128, %%rsp\n\t"  \
	"call " name "\n\t"    \
	"sub $-128, %%rsp"

/* fathom_graph_enter_general(ip, slot, 0, pin) */
static inline __attribute__((always_inline)) void fathom_arch_direct_general(uintptr_t ip,
									     uintptr_t *slot,
									     uintptr_t pin)
{
	__asm__ volatile(FATHOM_ARCH_CALL("fathom_arch_enter_general")
			 :
			 : "D"(ip), "S"(slot), "c"(pin)
			 : "memory", "cc");
}

/* fathom_ring_publish(ring, end, time) */
static inline __attribute__((always_inline)) void fathom_arch_direct_publish(void *ring,
									     unsigned long end,
									     uint64_t time)
{
	__asm__ volatile(FATHOM_ARCH_CALL("fathom_arch_publish")
			 :
			 : "D"(ring), "S"(end), "d"(time)
			 : "memory", "cc");
}

void fathom_arch_entry_graph_saved(void); /* entry.S: with a stub */

#endif
