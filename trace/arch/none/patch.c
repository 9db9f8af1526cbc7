/* SPDX-License-Identifier: MIT */
/* patch.c -- an architecture whose text the library does not write: events test a flag, functions call (instrument.h). */
#include "fathom/inside/errno.h"
#include "fathom/inside/patch.h"
#include "fathom/trace.h"

void fathom_arch_patch_init(const struct fathom_config *config)
{
	(void)config;
}

int fathom_arch_can_patch(void)
{
	return 0;
}

int fathom_arch_patch(void *at, const void *code, size_t bytes)
{
	(void)at, (void)code, (void)bytes;
	return -FATHOM_ENOSYS;
}

int fathom_arch_patch_many(const struct fathom_patch_set *set)
{
	(void)set;
	return -FATHOM_ENOSYS;
}

int fathom_arch_breakpoint(uintptr_t *ip)
{
	(void)ip; /* no breakpoint is ever written */
	return 0;
}
