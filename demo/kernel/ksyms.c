/* SPDX-License-Identifier: MIT */
/* ksyms.c -- the kernel's own symbols: address to name and back, from the table that the second link pass adds. */
#include "kernel.h"
#include "layout.h"
#include "fathom/object.h"

/* Made by demo/ksyms.awk from the first link: text symbols in the order of their addresses, as offsets to KERNEL_BASE. */
extern const uint32_t ksym_count, ksym_at[], ksym_name_at[];
extern const char ksym_names[];
extern uint8_t text_start[], text_end_used[];

const char *ksym_name(uintptr_t at, uintptr_t *offset, uintptr_t *size)
{
	if (at < (uintptr_t)text_start || at >= (uintptr_t)text_end_used || !ksym_count)
		return NULL;
	uint32_t off = (uint32_t)(at - KERNEL_BASE), lo = 0, hi = ksym_count;

	while (hi - lo > 1) {
		uint32_t mid = (lo + hi) / 2;

		if (ksym_at[mid] <= off)
			lo = mid;
		else
			hi = mid;
	}
	if (ksym_at[lo] > off)
		return NULL;
	*offset = off - ksym_at[lo];
	*size = (lo + 1 < ksym_count ? ksym_at[lo + 1] + KERNEL_BASE : (uintptr_t)text_end_used) -
		(ksym_at[lo] + KERNEL_BASE);
	return ksym_names + ksym_name_at[lo];
}

uintptr_t ksym_lookup(const char *name)
{
	for (uint32_t i = 0; i < ksym_count; i++)
		if (!strcmp(ksym_names + ksym_name_at[i], name))
			return KERNEL_BASE + ksym_at[i];
	return 0;
}

/* kernel.lds: parts whose functions set_ftrace_filter chooses by name, `echo *:mod:ipc > set_ftrace_filter`. */
extern uint8_t ipc_text_start[], ipc_text_end[], vm_text_start[], vm_text_end[];

void ksym_name_parts(void)
{
	static struct fathom_module parts[] = {
		{.name = "ipc", .from = (uintptr_t)ipc_text_start, .to = (uintptr_t)ipc_text_end},
		{.name = "vm", .from = (uintptr_t)vm_text_start, .to = (uintptr_t)vm_text_end},
	};

	for (uint32_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		fathom_module_add(&parts[i]);
}
