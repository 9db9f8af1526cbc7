/* SPDX-License-Identifier: MIT */
/* core.h -- what the parts of the benchmark share. */
#ifndef BENCH_CORE_H
#define BENCH_CORE_H

#include <stdint.h>

/* n events with the values x + i and i. */
void bench_lttng(uint32_t n, uint64_t x);
int bench_lttng_is_on(void);

#endif
