/* SPDX-License-Identifier: MIT */
/* local.h -- read-modify-write that one CPU's nested contexts may race on, without the LOCK prefix (x86_64 and i386). */
#ifndef FATHOM_ARCH_LOCAL_H
#define FATHOM_ARCH_LOCAL_H

/*
 * One instruction is never split by an interrupt, so without LOCK it is atomic for the contexts of one CPU, at a fifth
 * of the price. Never use these on a word that another CPU writes.
 */
#define FATHOM_LOCAL_CMPXCHG 1
static inline FATHOM_NOTRACE int fathom_local_cmpxchg(unsigned long *at, unsigned long old,
						      unsigned long new_)
{
	int done;

	__asm__ volatile("cmpxchg %3, %1"
			 : "=@ccz"(done), "+m"(*at), "+a"(old)
			 : "r"(new_)
			 : "memory");
	return done;
}

/* One micro-operation with the jump after it; of an atomic load and a compare the compiler makes two. */
#ifdef __x86_64__
#define FATHOM_DIFFERS 1
static inline FATHOM_NOTRACE int fathom_differs(const unsigned long *at, unsigned long v)
{
	int differs;

	__asm__ volatile("cmp %2, %1" : "=@ccne"(differs) : "m"(*at), "r"(v));
	return differs;
}
#endif

#define FATHOM_SUM 1
static inline FATHOM_NOTRACE uint32_t fathom_sum(uint32_t a, const uint32_t *at)
{
	__asm__ volatile("addl %1, %0" : "+r"(a) : "m"(*at) : "cc");
	return a;
}

#define FATHOM_LOCAL_ADD 1
static inline FATHOM_NOTRACE void fathom_local_add(unsigned long *at, unsigned long n)
{
#ifdef __x86_64__
	__asm__ volatile("addq %1, %0" : "+m"(*at) : "er"(n) : "memory", "cc");
#else
	__asm__ volatile("addl %1, %0" : "+m"(*at) : "ir"(n) : "memory", "cc");
#endif
}

/* Payloads may start at any multiple of 4: the CPU stores 8 bytes there at no cost that matters. */
#define FATHOM_RING_ALIGN 4

#endif
