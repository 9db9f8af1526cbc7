/* SPDX-License-Identifier: MIT */
/* site.c -- x86_64: the five bytes at a function's entry and at its returns, and the calls they become. */
#include "arch/arch.h"

#define SITE_BYTES 5
#define OP_CALL	   0xe8
#define OP_RET	   0xc3
#define OP_NOP	   0x90

/* entry.S */
void fathom_arch_entry_function(void);
void fathom_arch_entry_graph(void);
void fathom_arch_entry_hijack(void);
void fathom_arch_entry_any(void);
void fathom_arch_exit_ret(void);
void fathom_arch_exit_tail(void);
void fathom_arch_return(void);

static const uint8_t site_nop[SITE_BYTES] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

static int site_equals(const uint8_t *a, const uint8_t *b, int bytes)
{
	for (int i = 0; i < bytes; i++)
		if (a[i] != b[i])
			return 0;
	return 1;
}

uintptr_t fathom_arch_site_at(uintptr_t entry)
{
	return entry;
}

size_t fathom_arch_site_fixed(uintptr_t at, uint8_t out[FATHOM_PATCH_BYTES_MAX], uintptr_t *where)
{
	(void)at, (void)out, (void)where;
	return 0;
}

/*
 * -mnop-mcount, gcc's -fpatchable-function-entry=5, an older 5-byte NOP, or a call (to __fentry__ or to us). clang's NOP
 * has another displacement.
 */
int fathom_arch_site_ok(uintptr_t at)
{
	static const uint8_t plain[SITE_BYTES] = {OP_NOP, OP_NOP, OP_NOP, OP_NOP, OP_NOP};
	static const uint8_t old[SITE_BYTES] = {0x66, 0x66, 0x66, 0x66, OP_NOP};
	const uint8_t *code = (const uint8_t *)at;

	return site_equals(code, site_nop, SITE_BYTES - 1) ||
	       site_equals(code, plain, SITE_BYTES) || site_equals(code, old, SITE_BYTES) ||
	       code[0] == OP_CALL;
}

/* A return site in front of `ret` has less to save than one in front of a tail call. */
static uintptr_t site_target(uintptr_t at, enum fathom_entry entry)
{
	switch (entry) {
	case FATHOM_ENTRY_FUNCTION: return (uintptr_t)fathom_arch_entry_function;
	case FATHOM_ENTRY_GRAPH: return (uintptr_t)fathom_arch_entry_graph;
	case FATHOM_ENTRY_HIJACK: return (uintptr_t)fathom_arch_entry_hijack;
	case FATHOM_ENTRY_EXIT:
		if (((const uint8_t *)at)[SITE_BYTES] == OP_RET)
			return (uintptr_t)fathom_arch_exit_ret;
		return (uintptr_t)fathom_arch_exit_tail;
	default: return (uintptr_t)fathom_arch_entry_any;
	}
}

size_t fathom_arch_site_code(uintptr_t at, enum fathom_entry entry,
			     uint8_t out[FATHOM_PATCH_BYTES_MAX])
{
	int64_t distance;

	if (entry == FATHOM_ENTRY_OFF) {
		for (int i = 0; i < SITE_BYTES; i++)
			out[i] = site_nop[i];
		return SITE_BYTES;
	}
	distance = (int64_t)(site_target(at, entry) - (at + SITE_BYTES));
	if (distance != (int32_t)distance)
		return 0;
	out[0] = OP_CALL;
	for (int i = 0; i < 4; i++)
		out[1 + i] = (uint8_t)((uint64_t)distance >> (8 * i));
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
