/* SPDX-License-Identifier: MIT */
/* memory.h -- memory in large pieces, for tables that are filled from end to end. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdlib.h>
#include <sys/mman.h>

#define MEMORY_HUGE (2u << 20)

/*
 * malloc() for memory that will be filled completely: a page fault costs more than filling the page, so the system is asked for huge
 * pages, wherever at least half of one is used. Given back by free().
 */
static inline void *memory_large(size_t bytes)
{
	size_t huge = (bytes + MEMORY_HUGE / 2) / MEMORY_HUGE * MEMORY_HUGE;
	void *p;

	if (!huge || bytes > SIZE_MAX / 2)
		return malloc(bytes);
	if (posix_memalign(&p, MEMORY_HUGE, huge > bytes ? huge : bytes))
		return NULL;
	madvise(p, huge, MADV_HUGEPAGE);
	return p;
}

#endif
