/* SPDX-License-Identifier: MIT */
/* benchmark.h -- stand-in: the kernel's clock. */
#ifndef ARCH_BENCHMARK_H
#define ARCH_BENCHMARK_H
#include <stdint.h>
typedef uint64_t timestamp_t;
timestamp_t timestamp(void);
#endif
