/* SPDX-License-Identifier: MIT */
/* local.h -- read-modify-write that one CPU's nested contexts may race on (riscv64, and rv32: lr/sc that leaves nothing behind). */
#ifndef FATHOM_ARCH_LOCAL_H
#define FATHOM_ARCH_LOCAL_H

/*
 * A compare that fails between lr and sc leaves a reservation behind. If that happens in an interrupt, and the context it
 * interrupted stands between its own lr and sc on the same word, then its sc succeeds though the word has changed,
 * unless the trap return clears the reservation: Linux does, xv6 does not, qemu-user does not. The compiler's
 * compare-and-exchange is of that kind. So these do an sc on every way out; the failing way stores what it loaded.
 */
#if __riscv_xlen == 64
#define FATHOM_RV_WIDTH "d"
#else
#define FATHOM_RV_WIDTH "w"
#endif

#define FATHOM_RV_CMPXCHG(order)                                           \
	__asm__ volatile("1:	lr." FATHOM_RV_WIDTH order " %0, %2\n"     \
			 "	bne %0, %3, 2f\n"                               \
			 "	sc." FATHOM_RV_WIDTH order " %1, %4, %2\n" \
			 "	bnez %1, 1b\n"                                  \
			 "	j 3f\n"                                         \
			 "2:	sc." FATHOM_RV_WIDTH " %1, %0, %2\n"       \
			 "	bnez %1, 1b\n"                                  \
			 "3:"                                              \
			 : "=&r"(was), "=&r"(failed), "+A"(*at)            \
			 : "r"(old), "r"(new_)                             \
			 : "memory")

#define FATHOM_LOCAL_CMPXCHG 1
static inline FATHOM_NOTRACE int fathom_local_cmpxchg(unsigned long *at, unsigned long old,
						      unsigned long new_)
{
	unsigned long was, failed;

	FATHOM_RV_CMPXCHG("");
	return was == old;
}

#define FATHOM_SHARED_CMPXCHG 1
static inline FATHOM_NOTRACE int fathom_shared_cmpxchg(unsigned long *at, unsigned long *seen,
						       unsigned long new_)
{
	unsigned long old = *seen, was, failed;

	FATHOM_RV_CMPXCHG(".aqrl");
	*seen = was;
	return was == old;
}

/*
 * Misaligned stores may trap to M-mode, so payloads align to 8: Linux does the same on such machines, by always using
 * the sized form of the record header. rv32 has no access wider than a word.
 */
#define FATHOM_RING_ALIGN (__riscv_xlen / 8)

/* A shift and a branch; of a comparison the compiler makes three. */
#if __riscv_xlen == 64
#define fathom_fits fathom_fits
static inline FATHOM_NOTRACE int fathom_fits(uint64_t v, unsigned bits)
{
	v >>= bits;
	FATHOM_OPAQUE(v);
	return !v;
}
#endif

#endif
