/* SPDX-License-Identifier: MIT */
/* local.h -- read-modify-write that one CPU's nested contexts may race on (aarch64: relaxed exclusives). */
#ifndef FATHOM_ARCH_LOCAL_H
#define FATHOM_ARCH_LOCAL_H

/*
 * The generic forms of fathom/inside/local.h are right here: without barriers a load-exclusive/store-exclusive pair is the
 * cheapest thing that an exception return breaks. Build with -mno-outline-atomics: a kernel has no libgcc.
 * Unaligned 8-byte stores to normal memory are allowed (SCTLR.A = 0), so payloads align to 4 as in Linux.
 */
#define FATHOM_RING_ALIGN 4

/* ldar and stlr: less than a barrier beside the access. */
#define fathom_load_acquire(p)	   __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define fathom_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

/* Two members side by side, by one instruction, which an interrupt repeats whole. */
#define fathom_load_pair(of, member, first, second)                                      \
	__asm__ volatile("ldp %0, %1, [%2, %3]"                                          \
			 : "=r"(first), "=r"(second)                                     \
			 : "r"(of), "i"(__builtin_offsetof(struct fathom_ring, member)), \
			   "m"(*(of)))

/* A shift and a branch; of a comparison the compiler makes three. */
#define fathom_fits fathom_fits
static inline FATHOM_NOTRACE int fathom_fits(uint64_t v, unsigned bits)
{
	v >>= bits;
	FATHOM_OPAQUE(v);
	return !v;
}

#endif
