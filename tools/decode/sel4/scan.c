/* SPDX-License-Identifier: MIT */
/* scan.c -- find the words of a seL4 stream that are not functions, as fast as memory gives them. */
#include "decode/sel4/scan.h"
#include "wire/sel4.h"

#include <stdlib.h>
#include <string.h>

/*
 * A special word is even and lies in 0xff00 .. 0xfffe or 0x0000 .. 0x01fe: with 0x100 added, modulo 2^16, below 0x300.
 * One add, one compare and one test for bit 0 then sort 32 words at a time; in a real trace all but one word in a
 * thousand are functions, so the loop's exit is rare. Operands are not told apart here: the walker does that, over the
 * few positions found.
 */
static size_t scan_tail(const uint16_t *words, size_t from, size_t n, uint32_t *at, size_t found,
			uint64_t *odd)
{
	uint64_t sum = 0;

	for (size_t i = from; i < n; i++) {
		sum += words[i] & 1u;
		at[found] = (uint32_t)i;
		found += (size_t)wire_sel4_is_special(words[i]);
	}
	*odd += sum;
	return found;
}

static size_t scan_scalar(const uint16_t *words, size_t n, uint32_t *at, uint64_t *odd)
{
	size_t found = 0, i = 0;
	uint64_t sum = 0;

	/* Four words at once in a register: bit 0 counts, and a product of two cheap tests says "none is special". */
	for (; i + 4 <= n; i += 4) {
		uint64_t v;

		memcpy(&v, words + i, 8);
		sum += (v & 0x0001000100010001ull) * 0x0001000100010001ull >> 48;
		for (unsigned k = 0; k < 4; k++) {
			uint32_t w = (uint32_t)(v >> 16 * k) & 0xffffu;

			if (__builtin_expect(wire_sel4_is_special(w), 0))
				at[found++] = (uint32_t)(i + k);
		}
	}
	*odd += sum;
	return scan_tail(words, i, n, at, found, odd);
}

#if defined(__x86_64__)
#include <immintrin.h>

static inline size_t scan_bits(uint64_t bits, size_t base, uint32_t *at, size_t found)
{
	for (; bits; bits &= bits - 1)
		at[found++] = (uint32_t)(base + (size_t)__builtin_ctzll(bits));
	return found;
}

__attribute__((target("avx512bw,avx512f,popcnt,bmi"))) static size_t scan_avx512(
	const uint16_t *words, size_t n, uint32_t *at, uint64_t *odd)
{
	const __m512i shift = _mm512_set1_epi16(0x100), limit = _mm512_set1_epi16(0x300);
	const __m512i one = _mm512_set1_epi16(1);
	size_t found = 0, i = 0;
	uint64_t sum = 0;

	for (; i + 64 <= n; i += 64) {
		__m512i a = _mm512_loadu_si512(words + i), b = _mm512_loadu_si512(words + i + 32);
		uint64_t o = _mm512_test_epi16_mask(a, one) |
			     (uint64_t)_mm512_test_epi16_mask(b, one) << 32;
		uint64_t s = _mm512_cmplt_epu16_mask(_mm512_add_epi16(a, shift), limit) |
			     (uint64_t)_mm512_cmplt_epu16_mask(_mm512_add_epi16(b, shift), limit)
				     << 32;

		sum += (uint64_t)__builtin_popcountll(o);
		s &= ~o;
		if (__builtin_expect(s != 0, 0))
			found = scan_bits(s, i, at, found);
	}
	*odd += sum;
	return scan_tail(words, i, n, at, found, odd);
}

__attribute__((target("avx2,popcnt,bmi"))) static inline uint32_t avx2_special(__m256i a, __m256i b)
{
	/* Signed compare: both sides moved by 0x8000. Two results pack into one byte mask of 32 words. */
	const __m256i shift = _mm256_set1_epi16((short)0x8100);
	const __m256i limit = _mm256_set1_epi16((short)(0x300 - 0x8000));
	__m256i s = _mm256_packs_epi16(_mm256_cmpgt_epi16(limit, _mm256_add_epi16(a, shift)),
				       _mm256_cmpgt_epi16(limit, _mm256_add_epi16(b, shift)));

	return (uint32_t)_mm256_movemask_epi8(_mm256_permute4x64_epi64(s, 0xd8));
}

__attribute__((target("avx2,popcnt,bmi"))) static inline uint32_t avx2_odd(__m256i a, __m256i b)
{
	__m256i o = _mm256_packs_epi16(_mm256_slli_epi16(a, 15), _mm256_slli_epi16(b, 15));

	return (uint32_t)_mm256_movemask_epi8(_mm256_permute4x64_epi64(o, 0xd8));
}

__attribute__((target("avx2,popcnt,bmi"))) static size_t scan_avx2(const uint16_t *words, size_t n,
								   uint32_t *at, uint64_t *odd)
{
	size_t found = 0, i = 0;
	uint64_t sum = 0;

	for (; i + 32 <= n; i += 32) {
		__m256i a = _mm256_loadu_si256((const __m256i *)(words + i));
		__m256i b = _mm256_loadu_si256((const __m256i *)(words + i + 16));
		uint32_t o = avx2_odd(a, b), s = avx2_special(a, b) & ~o;

		sum += (uint64_t)__builtin_popcount(o);
		if (__builtin_expect(s != 0, 0))
			found = scan_bits(s, i, at, found);
	}
	*odd += sum;
	return scan_tail(words, i, n, at, found, odd);
}
#endif

sel4_scan_fn sel4_scan_get(enum sel4_simd kind)
{
	switch (kind) {
	case SEL4_SIMD_SCALAR: return scan_scalar;
#if defined(__x86_64__)
	case SEL4_SIMD_AVX2:
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")
			       ? scan_avx2
			       : NULL;
	case SEL4_SIMD_AVX512: return __builtin_cpu_supports("avx512bw") ? scan_avx512 : NULL;
#endif
	default: return NULL;
	}
}

const char *sel4_simd_name(enum sel4_simd kind)
{
	static const char *const names[] = {"scalar", "avx2", "avx512"};

	return kind <= SEL4_SIMD_AVX512 ? names[kind] : "?";
}

sel4_scan_fn sel4_scan_best(void)
{
	const char *want = getenv("FATHOM_SIMD");
	sel4_scan_fn fn = NULL;

	for (int k = SEL4_SIMD_AVX512; k >= SEL4_SIMD_SCALAR && !fn; k--)
		if (!want || !strcmp(want, sel4_simd_name((enum sel4_simd)k)))
			fn = sel4_scan_get((enum sel4_simd)k);
	return fn ? fn : scan_scalar;
}
