/* SPDX-License-Identifier: MIT */
/* site.c -- riscv64: the eight bytes at a function's entry, and the call they become. */
#include "arch/arch.h"
#include "fathom/port_default.h"

/*
 * -fpatchable-function-entry=4 (compressed instructions) or =2 leaves eight bytes of NOPs. The first four become
 * `auipc t0` for good, the upper part of the way to the table of entries; the other four are the site: a NOP, or
 * `jalr t0, t0`, which leaves ra alone. One aligned store turns it, so functions must be aligned: -falign-functions=4.
 *
 * The upper part is one for all entries, so the table must not lie across a border of what the lower 12 bits reach. Where
 * that border is depends on the site: the table is there twice, and one of them is whole.
 */
#define OP_NOP	    0x00000013u
#define OP_C_NOPS   0x00010001u
#define OP_AUIPC_T0 0x00000297u
#define OP_JALR_T0  0x000282e7u
#define SITE_BYTES  4
#define TABLE_BYTES 16
#define LOWER_MAX   0x7ff

/* entry.S */
#if FATHOM_ARCH_HOT
#define fathom_arch_entries	   fathom_arch_entries_hot
#define fathom_arch_entry_function fathom_arch_hot_function
#define fathom_arch_entry_hijack   fathom_arch_hot_graph
#elif FATHOM_SAVE_FP
#ifndef __riscv_flen
#error "FATHOM_SAVE_FP: the compiler was told that there are no FP registers (-march)"
#endif
#define fathom_arch_entries	   fathom_arch_entries_fp
#define fathom_arch_entry_function fathom_arch_entry_function_fp
#define fathom_arch_entry_hijack   fathom_arch_entry_hijack_fp
#define fathom_arch_entry_any	   fathom_arch_entry_any_fp
#endif
extern const uint8_t fathom_arch_entries[];
void fathom_arch_entry_function(void);
void fathom_arch_entry_hijack(void);
void fathom_arch_entry_any(void);

enum site_slot {
	SLOT_FUNCTION,
	SLOT_HIJACK,
	SLOT_ANY,
	SLOT_NR,
};

static enum site_slot site_slot(enum fathom_entry entry)
{
	switch (entry) {
	case FATHOM_ENTRY_FUNCTION: return SLOT_FUNCTION;
	case FATHOM_ENTRY_HIJACK: return SLOT_HIJACK;
	default: return SLOT_ANY;
	}
}

static void site_put(uint8_t out[FATHOM_PATCH_BYTES_MAX], uint32_t word)
{
	for (int i = 0; i < SITE_BYTES; i++)
		out[i] = (uint8_t)(word >> 8 * i);
}

/* Of a distance from the auipc. The lower 12 bits are signed. */
static int64_t site_upper(int64_t distance)
{
	return (distance + 0x800) & ~(int64_t)0xfff;
}

/* From the auipc to the table, or to that of a module that is too far from it. */
static int64_t site_distance(uintptr_t at)
{
	uintptr_t from = at - SITE_BYTES, far;
	int64_t d = (int64_t)((uintptr_t)fathom_arch_entries - from);

	if (site_upper(d) != (int32_t)site_upper(d) && (far = fathom_module_far(at)))
		d = (int64_t)(far - from);
	if (d - site_upper(d) > LOWER_MAX - (SLOT_NR - 1) * SITE_BYTES)
		d += TABLE_BYTES;
	return d;
}

uintptr_t fathom_arch_site_at(uintptr_t entry)
{
	return entry + SITE_BYTES;
}

size_t fathom_arch_site_fixed(uintptr_t at, uint8_t out[FATHOM_PATCH_BYTES_MAX], uintptr_t *where)
{
	*where = at - SITE_BYTES;
	site_put(out, OP_AUIPC_T0 | (uint32_t)site_upper(site_distance(at)));
	return SITE_BYTES;
}

static uint32_t site_word(uintptr_t at)
{
	const uint16_t *half =
		(const uint16_t *)at; /* the compiler may have aligned it to two bytes only */

	return half[0] | (uint32_t)half[1] << 16;
}

static int word_is_nop(uint32_t word)
{
	return word == OP_NOP || word == OP_C_NOPS;
}

size_t fathom_arch_nop_bytes(uintptr_t at)
{
	uint32_t word = site_word(at);

	return word == OP_NOP ? 4 : (uint16_t)word == (uint16_t)OP_C_NOPS ? 2 : 0;
}

size_t fathom_arch_pad_bytes(uintptr_t at)
{
	(void)at;
	return 0;
}

int fathom_arch_site_ok(uintptr_t at)
{
	uint32_t fixed = site_word(at - SITE_BYTES), word = site_word(at);

	return !(at % 4) && (word_is_nop(fixed) || (fixed & 0xfff) == OP_AUIPC_T0) &&
	       (word_is_nop(word) || (word & 0xfffff) == OP_JALR_T0);
}

size_t fathom_arch_site_code(uintptr_t at, enum fathom_entry entry,
			     uint8_t out[FATHOM_PATCH_BYTES_MAX])
{
	int64_t distance = site_distance(at), upper = site_upper(distance);

	if (entry == FATHOM_ENTRY_OFF) {
		site_put(out, OP_NOP);
		return SITE_BYTES;
	}
	if (upper != (int32_t)upper)
		return 0;
	distance += site_slot(entry) * SITE_BYTES;
	site_put(out, OP_JALR_T0 | (uint32_t)(distance - upper) << 20);
	return SITE_BYTES;
}

size_t fathom_arch_site_bytes(void)
{
	return SITE_BYTES;
}

uintptr_t fathom_arch_entry_address(enum fathom_entry entry)
{
	static void (*const address[SLOT_NR])(void) = {
		fathom_arch_entry_function, fathom_arch_entry_hijack, fathom_arch_entry_any};

	return (uintptr_t)address[site_slot(entry)];
}
