/* SPDX-License-Identifier: MIT */
/* scan.h -- find the words of a seL4 stream that are not functions, as fast as memory gives them. */
#ifndef DECODE_SEL4_SCAN_H
#define DECODE_SEL4_SCAN_H

#include <stddef.h>
#include <stdint.h>

enum sel4_simd {
	SEL4_SIMD_SCALAR,
	SEL4_SIMD_AVX2,
	SEL4_SIMD_AVX512,
};

/*
 * Positions of all special words (markers and VMIDs, and operands that look like one) in words[0 .. n) go to at[], in
 * order; at[] has room for n. Their number is returned, and the number of odd words is added to *odd.
 */
typedef size_t (*sel4_scan_fn)(const uint16_t *words, size_t n, uint32_t *at, uint64_t *odd);

/* The best one this CPU has, or the one FATHOM_SIMD=scalar|avx2|avx512 names if the CPU has it. */
sel4_scan_fn sel4_scan_best(void);
/* NULL if this CPU or this build does not have it. */
sel4_scan_fn sel4_scan_get(enum sel4_simd kind);
const char *sel4_simd_name(enum sel4_simd kind);

#endif
