/* SPDX-License-Identifier: MIT */
/* site.c -- aarch64: the two words at a function's entry, and the calls they become. */
#include "arch/arch.h"

/*
 * -fpatchable-function-entry=2 leaves two NOPs. The first becomes `mov x9, x30` for good: it keeps the return address,
 * which the call will overwrite, and costs next to nothing while the site is off. The second one is the site.
 */
#define OP_NOP	   0xd503201fu
#define OP_KEEP_LR 0xaa1e03e9u
#define OP_BL	   0x94000000u
#define OP_BL_MASK 0xfc000000u
#define SITE_BYTES 4
#define BL_REACH   (1 << 27)

/* entry.S */
void fathom_arch_entry_function(void);
void fathom_arch_entry_hijack(void);
void fathom_arch_entry_any(void);
void fathom_arch_return(void);

static void site_put(uint8_t out[FATHOM_PATCH_BYTES_MAX], uint32_t word)
{
	for (int i = 0; i < SITE_BYTES; i++)
		out[i] = (uint8_t)(word >> 8 * i);
}

uintptr_t fathom_arch_site_at(uintptr_t entry)
{
	return entry + SITE_BYTES;
}

size_t fathom_arch_site_fixed(uintptr_t at, uint8_t out[FATHOM_PATCH_BYTES_MAX], uintptr_t *where)
{
	*where = at - SITE_BYTES;
	site_put(out, OP_KEEP_LR);
	return SITE_BYTES;
}

int fathom_arch_site_ok(uintptr_t at)
{
	const uint32_t *word = (const uint32_t *)at;

	return !(at % 4) && (word[-1] == OP_NOP || word[-1] == OP_KEEP_LR) &&
	       (word[0] == OP_NOP || (word[0] & OP_BL_MASK) == OP_BL);
}

static uintptr_t site_target(enum fathom_entry entry)
{
	switch (entry) {
	case FATHOM_ENTRY_FUNCTION: return (uintptr_t)fathom_arch_entry_function;
	case FATHOM_ENTRY_HIJACK: return (uintptr_t)fathom_arch_entry_hijack;
	default: return (uintptr_t)fathom_arch_entry_any;
	}
}

size_t fathom_arch_site_code(uintptr_t at, enum fathom_entry entry,
			     uint8_t out[FATHOM_PATCH_BYTES_MAX])
{
	intptr_t distance = (intptr_t)(site_target(entry) - at);

	if (entry == FATHOM_ENTRY_OFF) {
		site_put(out, OP_NOP);
		return SITE_BYTES;
	}
	if (distance >= BL_REACH || distance < -BL_REACH)
		return 0;
	site_put(out, OP_BL | ((uint32_t)((uintptr_t)distance >> 2) & ~OP_BL_MASK));
	return SITE_BYTES;
}

size_t fathom_arch_site_bytes(void)
{
	return SITE_BYTES;
}

uintptr_t fathom_arch_return_address(void)
{
	return (uintptr_t)fathom_arch_return;
}
