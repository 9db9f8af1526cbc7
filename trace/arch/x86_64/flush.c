/* SPDX-License-Identifier: MIT */
/* flush.c -- x86_64: the caches of text and data agree by themselves. */
#include "arch/text.h"

void fathom_arch_text_flush(const void *alias, uintptr_t at, size_t bytes)
{
	(void)alias, (void)at, (void)bytes;
	__asm__ volatile("" ::: "memory");
}
