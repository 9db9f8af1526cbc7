/* SPDX-License-Identifier: MIT */
/* site.c -- aarch64: function sites are not traced yet, so none is ever accepted and the tracers say -ENOSYS. */
#include "arch/arch.h"

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

uintptr_t fathom_arch_return_address(void)
{
	return 0;
}
