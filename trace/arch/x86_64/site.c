/* SPDX-License-Identifier: MIT */
/* site.c -- x86_64: the five bytes at a function's entry and at its returns, and the calls they become. */
#include "arch/arch.h"
#include "arch/x86_64/far.h"

#define SITE_BYTES 5
#define OP_CALL	   0xe8
#define OP_JMP	   0xe9
#define OP_RET	   0xc3
#define OP_NOP	   0x90
#define OP_INT3	   0xcc

/* entry.S */
void fathom_arch_entry_function(void);
void fathom_arch_entry_hijack(void);
void fathom_arch_entry_any(void);
void fathom_arch_exit_ret(void);
void fathom_arch_exit_tail(void);
void fathom_arch_entry_prefix(void);

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

/*
 * What takes the place of the NOPs in front of a function (-fpatchable-function-entry=17,12), for good: lea of what is after the
 * site into r11, jmp. The site then jumps to it, and the return predictor stays in step (entry.S).
 */
#define PREFIX_BYTES 12
#define PREFIX_HEAD  8
static const uint8_t prefix_head[PREFIX_HEAD] = {0x4c, 0x8d, 0x1d, PREFIX_BYTES - 7 + SITE_BYTES,
						 0,    0,    0,	   OP_JMP};

/* Not if it would begin on the page before: that need not be there. */
static int prefix_is_near(uintptr_t at)
{
	return at % 4096 >= PREFIX_BYTES;
}

static int site_has_prefix(uintptr_t at)
{
	return prefix_is_near(at) &&
	       site_equals((const uint8_t *)at - PREFIX_BYTES, prefix_head, PREFIX_HEAD);
}

/* NOPs, or the prefix already, or on the way from the one to the other: int3 in the first byte. */
static int prefix_is_ours(const uint8_t *code, const uint8_t *prefix)
{
	for (int i = 0; i < PREFIX_BYTES; i++)
		if (code[i] != OP_NOP && code[i] != prefix[i] && (i || code[i] != OP_INT3))
			return 0;
	return 1;
}

size_t fathom_arch_site_fixed(uintptr_t at, uint8_t out[FATHOM_PATCH_BYTES_MAX], uintptr_t *where)
{
	int64_t d = (int64_t)((uintptr_t)fathom_arch_entry_prefix - at);

	if (d != (int32_t)d || !prefix_is_near(at))
		return 0;
	for (int i = 0; i < PREFIX_HEAD; i++)
		out[i] = prefix_head[i];
	for (int i = 0; i < 4; i++)
		out[PREFIX_HEAD + i] = (uint8_t)((uint32_t)d >> (8 * i));
	if (!prefix_is_ours((const uint8_t *)at - PREFIX_BYTES, out))
		return 0;
	*where = at - PREFIX_BYTES;
	return PREFIX_BYTES;
}

/* 90, or 0f 1f with its operand; 66 and 2e may stand in front. */
size_t fathom_arch_nop_bytes(uintptr_t at)
{
	const uint8_t *code = (const uint8_t *)at;
	size_t n = 0;
	uint8_t operand;

	if (site_equals(code, prefix_head, PREFIX_HEAD))
		return PREFIX_BYTES; /* ours, of an earlier time */
	while (n < 8 && (code[n] == 0x66 || code[n] == 0x2e))
		n++;
	if (code[n] == OP_NOP)
		return n + 1;
	if (code[n] != 0x0f || code[n + 1] != 0x1f)
		return 0;
	operand = code[n + 2];
	n += 3 + ((operand & 7) == 4);
	return n + (operand >> 6 == 1 ? 1 : operand >> 6 == 2 ? 4 : 0);
}

size_t fathom_arch_pad_bytes(uintptr_t at)
{
	static const uint8_t endbr64[4] = {0xf3, 0x0f, 0x1e, 0xfa};

	return site_equals((const uint8_t *)at, endbr64, 4) ? 4 : 0;
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
	       code[0] == OP_CALL || code[0] == OP_JMP;
}

enum far_slot {
	FAR_FUNCTION,
	FAR_GRAPH,
	FAR_HIJACK,
	FAR_ANY,
	FAR_EXIT_RET,
	FAR_EXIT_TAIL,
	FAR_NR,
};

static void (*const far_target[FAR_NR])(void) = {
	fathom_arch_entry_function,
#if FATHOM_ARCH_DIRECT
	(void (*)(void))fathom_arch_entry_graph, /* another kind of function to clang */
#else
	fathom_arch_entry_graph_saved,
#endif
	fathom_arch_entry_hijack,
	fathom_arch_entry_any,
	fathom_arch_exit_ret,
	fathom_arch_exit_tail,
};

static enum far_slot entry_slot(enum fathom_entry entry)
{
	switch (entry) {
	case FATHOM_ENTRY_FUNCTION: return FAR_FUNCTION;
	case FATHOM_ENTRY_GRAPH: return FAR_GRAPH;
	case FATHOM_ENTRY_HIJACK: return FAR_HIJACK;
	default: return FAR_ANY;
	}
}

/* A return site in front of `ret` has less to save than one in front of a tail call. */
static enum far_slot site_slot(uintptr_t at, enum fathom_entry entry)
{
	if (entry != FATHOM_ENTRY_EXIT)
		return entry_slot(entry);
	return ((const uint8_t *)at)[SITE_BYTES] == OP_RET ? FAR_EXIT_RET : FAR_EXIT_TAIL;
}

static int site_reaches(uintptr_t at, uintptr_t target, int32_t *distance)
{
	int64_t d = (int64_t)(target - (at + SITE_BYTES));

	*distance = (int32_t)d;
	return d == *distance;
}

size_t fathom_arch_site_code(uintptr_t at, enum fathom_entry entry,
			     uint8_t out[FATHOM_PATCH_BYTES_MAX])
{
	enum far_slot slot;
	uintptr_t far;
	int32_t distance;

	if (entry == FATHOM_ENTRY_OFF) {
		for (int i = 0; i < SITE_BYTES; i++)
			out[i] = site_nop[i];
		return SITE_BYTES;
	}
	if (entry == FATHOM_ENTRY_HIJACK && site_has_prefix(at)) {
		out[0] = OP_JMP;
		out[1] = (uint8_t) - (PREFIX_BYTES + SITE_BYTES);
		out[2] = out[3] = out[4] = 0xff;
		return SITE_BYTES;
	}
	slot = site_slot(at, entry);
	if (!site_reaches(at, (uintptr_t)far_target[slot], &distance)) {
		far = fathom_module_far(at);
		if (!far || !site_reaches(at, far + slot * FATHOM_FAR_SLOT, &distance))
			return 0;
	}
	out[0] = OP_CALL;
	for (int i = 0; i < 4; i++)
		out[1 + i] = (uint8_t)((uint32_t)distance >> (8 * i));
	return SITE_BYTES;
}

size_t fathom_arch_site_bytes(void)
{
	return SITE_BYTES;
}

uintptr_t fathom_arch_entry_address(enum fathom_entry entry)
{
	return (uintptr_t)far_target[entry_slot(entry)];
}
