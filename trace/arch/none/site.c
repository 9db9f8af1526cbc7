/* SPDX-License-Identifier: MIT */
/* site.c -- an architecture without function sites: whatever a compiler's table names, nothing there can be switched. */
#include "arch/arch.h"

uintptr_t fathom_arch_site_at(uintptr_t entry)
{
	return entry;
}

size_t fathom_arch_site_fixed(uintptr_t at, uint8_t out[FATHOM_PATCH_BYTES_MAX], uintptr_t *where)
{
	(void)out;
	*where = at;
	return 0;
}

size_t fathom_arch_nop_bytes(uintptr_t at)
{
	(void)at;
	return 0;
}

size_t fathom_arch_pad_bytes(uintptr_t at)
{
	(void)at;
	return 0;
}

int fathom_arch_site_ok(uintptr_t at)
{
	(void)at;
	return 0;
}

size_t fathom_arch_site_code(uintptr_t at, enum fathom_entry entry,
			     uint8_t out[FATHOM_PATCH_BYTES_MAX])
{
	(void)at, (void)entry, (void)out;
	return 0;
}

size_t fathom_arch_site_bytes(void)
{
	return 4;
}

uintptr_t fathom_arch_entry_address(enum fathom_entry entry)
{
	(void)entry;
	return 0;
}

void fathom_arch_return(void)
{
}
