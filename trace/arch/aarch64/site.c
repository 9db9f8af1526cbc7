/* SPDX-License-Identifier: MIT */
/* site.c -- aarch64: the two words at a function's entry, and the calls they become. */
#include "arch/arch.h"
#include "arch/aarch64/far.h"

/*
 * -fpatchable-function-entry=2 leaves two NOPs. The first becomes `mov x9, x30` for good: it keeps the return address,
 * which the call will overwrite, and costs next to nothing while the site is off. The second one is the site.
 */
#define OP_NOP	   0xd503201fu
#define OP_BTI_C   0xd503245fu
#define OP_KEEP_LR 0xaa1e03e9u
#define OP_BL	   0x94000000u
#define OP_BL_MASK 0xfc000000u
#define SITE_BYTES 4
#define BL_REACH   (1 << 27)

/* entry.S */
#if FATHOM_ARCH_HOT
#define fathom_arch_entry_function fathom_arch_hot_function
#define fathom_arch_entry_hijack   fathom_arch_hot_graph
#endif
void fathom_arch_entry_function(void);
void fathom_arch_entry_hijack(void);
void fathom_arch_entry_any(void);

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

size_t fathom_arch_nop_bytes(uintptr_t at)
{
	return *(const uint32_t *)at == OP_NOP ? SITE_BYTES : 0;
}

size_t fathom_arch_pad_bytes(uintptr_t at)
{
	return *(const uint32_t *)at == OP_BTI_C ? SITE_BYTES : 0;
}

int fathom_arch_site_ok(uintptr_t at)
{
	const uint32_t *word = (const uint32_t *)at;

	return !(at % 4) && (word[-1] == OP_NOP || word[-1] == OP_KEEP_LR) &&
	       (word[0] == OP_NOP || (word[0] & OP_BL_MASK) == OP_BL);
}

enum far_slot {
	FAR_FUNCTION,
	FAR_HIJACK,
	FAR_ANY,
	FAR_NR,
};

static void (*const far_target[FAR_NR])(void) = {
	fathom_arch_entry_function,
	fathom_arch_entry_hijack,
	fathom_arch_entry_any,
};

static enum far_slot site_slot(enum fathom_entry entry)
{
	switch (entry) {
	case FATHOM_ENTRY_FUNCTION: return FAR_FUNCTION;
	case FATHOM_ENTRY_HIJACK: return FAR_HIJACK;
	default: return FAR_ANY;
	}
}

static int site_reaches(uintptr_t at, uintptr_t target, intptr_t *distance)
{
	*distance = (intptr_t)(target - at);
	return *distance < BL_REACH && *distance >= -BL_REACH;
}

size_t fathom_arch_site_code(uintptr_t at, enum fathom_entry entry,
			     uint8_t out[FATHOM_PATCH_BYTES_MAX])
{
	enum far_slot slot = site_slot(entry);
	intptr_t distance;
	uintptr_t far;

	if (entry == FATHOM_ENTRY_OFF) {
		site_put(out, OP_NOP);
		return SITE_BYTES;
	}
	if (!site_reaches(at, (uintptr_t)far_target[slot], &distance)) {
		far = fathom_module_far(at);
		if (!far || !site_reaches(at, far + slot * FATHOM_FAR_SLOT, &distance))
			return 0;
	}
	site_put(out, OP_BL | ((uint32_t)((uintptr_t)distance >> 2) & ~OP_BL_MASK));
	return SITE_BYTES;
}

size_t fathom_arch_site_bytes(void)
{
	return SITE_BYTES;
}

uintptr_t fathom_arch_entry_address(enum fathom_entry entry)
{
	return (uintptr_t)far_target[site_slot(entry)];
}
