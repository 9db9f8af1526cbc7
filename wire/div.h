/* SPDX-License-Identifier: MIT */
/* div.h -- 64-bit division by a small number, and shifts, without libgcc: 32-bit targets have no __udivdi3. */
#ifndef WIRE_DIV_H
#define WIRE_DIV_H

#include <stdint.h>

/* *v /= d; the remainder is returned. 0 < d <= 65536: each 16-bit step then fits 32 bits. */
static inline uint32_t wire_div(uint64_t *v, uint32_t d)
{
#if UINTPTR_MAX > 0xffffffffu
	uint64_t q = *v / d;
	uint32_t r = (uint32_t)(*v - q * d);

	*v = q;
	return r;
#else
	uint32_t hi = (uint32_t)(*v >> 32), lo = (uint32_t)*v;
	uint32_t q2 = hi / d, r = hi % d, x, q1;

	x = r << 16 | lo >> 16;
	q1 = x / d;
	x = x % d << 16 | (lo & 0xffff);
	r = x % d;
	*v = (uint64_t)q2 << 32 | (uint64_t)q1 << 16 | x / d;
	return r;
#endif
}

/* Shifts by a number that is not constant, 0 .. 63: a call into libgcc on rv32. */
static inline uint64_t wire_shl(uint64_t v, uint32_t n)
{
#if UINTPTR_MAX > 0xffffffffu
	return v << n;
#else
	uint32_t hi = (uint32_t)(v >> 32), lo = (uint32_t)v;

	if (n >= 32)
		return (uint64_t)(lo << (n - 32)) << 32;
	return n ? (uint64_t)(hi << n | lo >> (32 - n)) << 32 | lo << n : v;
#endif
}

static inline uint64_t wire_shr(uint64_t v, uint32_t n)
{
#if UINTPTR_MAX > 0xffffffffu
	return v >> n;
#else
	uint32_t hi = (uint32_t)(v >> 32), lo = (uint32_t)v;

	if (n >= 32)
		return hi >> (n - 32);
	return n ? (uint64_t)(hi >> n) << 32 | (lo >> n | hi << (32 - n)) : v;
#endif
}

#endif
