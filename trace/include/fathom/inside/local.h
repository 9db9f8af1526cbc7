/* SPDX-License-Identifier: MIT */
/* local.h -- atomics of the ring: local (one CPU, nested contexts) from the arch, shared (two CPUs) from the compiler. */
#ifndef FATHOM_LOCAL_H
#define FATHOM_LOCAL_H

#include <stdint.h>
#include "fathom/port_default.h"

/* An operand in memory costs no more than one in a register, and registers are few: values are loaded again rather than kept. */
#ifdef __x86_64__
#define FATHOM_FROM_MEMORY 1
#else
#define FATHOM_FROM_MEMORY 0
#endif

/* Keep the compiler from keeping a sum, or from taking a pointer apart into base and index at every use. */
#define FATHOM_OPAQUE(x)   __asm__("" : "+r"(x))
#define fathom_likely(x)   __builtin_expect(!!(x), 1)
#define fathom_unlikely(x) __builtin_expect(!!(x), 0)

/*
 * FATHOM_LOCAL_GENERIC takes the compiler's atomics everywhere: for ThreadSanitizer, which cannot see into asm, and
 * for a port whose "CPU" is not one instruction stream.
 */
#ifndef FATHOM_LOCAL_GENERIC
#if defined(__x86_64__) || defined(__i386__)
#include "arch/x86_64/local.h"
#elif defined(__aarch64__)
#include "arch/aarch64/local.h"
#elif defined(__riscv)
#include "arch/riscv64/local.h"
#endif
#endif

/* Alignment of payloads when the arch did not say: 8, or the word on a 32-bit target, is safe anywhere. */
#ifndef FATHOM_RING_ALIGN
#if defined(__x86_64__) || defined(__aarch64__) || UINTPTR_MAX <= 0xffffffffu
#define FATHOM_RING_ALIGN 4
#else
#define FATHOM_RING_ALIGN 8
#endif
#endif

/* The order in which contexts of one CPU see accesses: a matter of the compiler only. */
#define fathom_local_barrier() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#if UINTPTR_MAX > 0xffffffffu && (defined(__x86_64__) || defined(FATHOM_LOCAL_GENERIC))
#define fathom_load(p)		   __atomic_load_n((p), __ATOMIC_RELAXED)
#define fathom_store(p, v)	   __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define fathom_load_acquire(p)	   __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define fathom_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#else
/*
 * A volatile access of a word is one instruction. gcc's relaxed atomics are more elsewhere: an exchange for a store on riscv64, no
 * offset in an address on aarch64. 64 bits on a 32-bit target are two accesses: whoever uses that must live with a torn value.
 * The ring does not.
 */
#define fathom_load(p)	   (*(const volatile __typeof__(*(p)) *)(p))
#define fathom_store(p, v) ((void)(*(volatile __typeof__(*(p)) *)(p) = (v)))
#ifndef fathom_store_release
#define fathom_load_acquire(p)                                \
	__extension__({                                       \
		__typeof__(*(p)) fathom_got = fathom_load(p); \
		__atomic_thread_fence(__ATOMIC_ACQUIRE);      \
		fathom_got;                                   \
	})
#define fathom_store_release(p, v)                       \
	do {                                             \
		__atomic_thread_fence(__ATOMIC_RELEASE); \
		fathom_store(p, v);                      \
	} while (0)
#endif
#endif

#ifndef FATHOM_LOCAL_CMPXCHG
/* Store new_ if *at is old; 1 if it did. Atomic against contexts that interrupt this one; orders nothing. */
static inline FATHOM_NOTRACE int fathom_local_cmpxchg(unsigned long *at, unsigned long old,
						      unsigned long new_)
{
	return __atomic_compare_exchange_n(at, &old, new_, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
#endif

#ifndef FATHOM_DIFFERS
/* A relaxed load, and whether the word is another one: compared where it lies if the CPU can. */
#define fathom_differs(at, v) (fathom_load(at) != (v))
#endif

#ifndef fathom_fits
/* Has a time of so few bits? */
#define fathom_fits(v, bits) ((v) <= (((uint64_t)1 << (bits)) - 1))
#endif

#ifndef FATHOM_SUM
/* A relaxed load, added to `a`. */
static inline FATHOM_NOTRACE uint32_t fathom_sum(uint32_t a, const uint32_t *at)
{
	return a + fathom_load(at);
}
#endif

#ifndef FATHOM_LOCAL_ADD
static inline FATHOM_NOTRACE void fathom_local_add(unsigned long *at, unsigned long n)
{
	__atomic_fetch_add(at, n, __ATOMIC_RELAXED);
}
#endif

#ifndef FATHOM_SHARED_CMPXCHG
/* Between CPUs: acquire and release, the word is shared by the owner and the reader. *old becomes what was found. */
static inline FATHOM_NOTRACE int fathom_shared_cmpxchg(unsigned long *at, unsigned long *old,
						       unsigned long new_)
{
	return __atomic_compare_exchange_n(at, old, new_, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
#endif

#endif
