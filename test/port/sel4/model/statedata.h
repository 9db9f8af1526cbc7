/* SPDX-License-Identifier: MIT */
/* statedata.h -- stand-in: the types that the hooks name. */
#ifndef MODEL_STATEDATA_H
#define MODEL_STATEDATA_H
#include <arch/benchmark.h>
typedef unsigned long word_t;
typedef struct tcb {
	int dummy;
} tcb_t;
#endif
