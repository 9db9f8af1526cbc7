/* SPDX-License-Identifier: MIT */
/* traced.h -- the functions the tracer tests trace, with return sites (ret_), without (hij_), with calls (cyg_). */
#ifndef TEST_TRACED_H
#define TEST_TRACED_H

#include <setjmp.h>
#include <stddef.h>

struct pair {
	long a, b;
};

/* Too large for registers: the caller says where it goes, on aarch64 in x8. */
struct big {
	long v[6];
};

/* How many functions with sites each family has: those below, and one that only eight() calls. */
#define NR_TRACED 15
#define TRACED_FUNCTIONS(p)                                   \
	int p##_leaf(int x);                                  \
	size_t p##_through(size_t (*call)(int), int arg);     \
	int p##_mid(int x);                                   \
	int p##_top(int x);                                   \
	int p##_recurse(int n);                               \
	int p##_tail(int x);                                  \
	int p##_branchy(int x);                               \
	void p##_jumper(jmp_buf env, int n);                  \
	int p##_catcher(int n);                               \
	double p##_mix(double a, double b, int n, ...);       \
	struct pair p##_pair(long a, long b, long c, long d); \
	struct big p##_big(long a, long b);                   \
	double p##_eight(const double *v, const long *w);     \
	void p##_work(void)

TRACED_FUNCTIONS(ret);
TRACED_FUNCTIONS(hij);
TRACED_FUNCTIONS(cyg);

extern volatile int traced_sink;

#endif
