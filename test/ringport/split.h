/* SPDX-License-Identifier: MIT */
/* split.h -- the local exchange as two accesses, for the model: without LOCK another CPU may store in between. */
#ifndef RINGPORT_SPLIT_H
#define RINGPORT_SPLIT_H

/* The reader may go on here, interrupts may not: one instruction is not split by them. */
extern void ringport_inside(void);

/* As x86 has it: it stores in any case, what it found or the new value. */
#define FATHOM_LOCAL_CMPXCHG 1
static inline int fathom_local_cmpxchg(unsigned long *at, unsigned long old, unsigned long new_)
{
	unsigned long was = __atomic_load_n(at, __ATOMIC_RELAXED);

	ringport_inside();
	__atomic_store_n(at, was == old ? new_ : was, __ATOMIC_RELAXED);
	return was == old;
}

#ifdef RINGPORT_PAIR
/* As aarch64 has it (arch/aarch64/local.h): two words by one instruction. */
#define fathom_load_pair(of, member, first, second)                                  \
	do {                                                                         \
		unsigned long *pair_at = (unsigned long *)&(of)->member;             \
		unsigned long pair_one = __atomic_load_n(pair_at, __ATOMIC_RELAXED); \
                                                                                     \
		ringport_inside();                                                   \
		(second) = __atomic_load_n(pair_at + 1, __ATOMIC_RELAXED);           \
		(first) = pair_one;                                                  \
	} while (0)
#endif

#endif
