/* SPDX-License-Identifier: MIT */
/* flush.c -- aarch64: a written word leaves the data cache, and what the instruction caches hold of it goes. */
#include "arch/text.h"

/*
 * The order is the architecture's: clean the line by the address that was written, wait, invalidate it by the address that
 * runs (on all CPUs of the inner shareable domain), wait, and drop what this CPU has fetched ahead. A line has at least 16
 * bytes, so what is written here lies in two at most.
 */
void fathom_arch_text_flush(const void *alias, uintptr_t at, size_t bytes)
{
	uintptr_t to = (uintptr_t)alias;

	__asm__ volatile("dc cvau, %0\n\tdc cvau, %1" ::"r"(to), "r"(to + bytes - 1) : "memory");
	__asm__ volatile("dsb ish" ::: "memory");
	__asm__ volatile("ic ivau, %0\n\tic ivau, %1" ::"r"(at), "r"(at + bytes - 1) : "memory");
	__asm__ volatile("dsb ish\n\tisb" ::: "memory");
}
