/* SPDX-License-Identifier: MIT */
/* bpf_run.c -- run an eBPF program. */
#include "wire/cold.h"

#include "wire/bpf.h"
#include "wire/div.h"

/* Memory may be unaligned; a packed member makes the compiler do the right thing. */
#define BPF_MEM_TYPE(bits)        \
	struct bpf_mem##bits {    \
		uint##bits##_t v; \
	} __attribute__((packed, may_alias))
BPF_MEM_TYPE(8);
BPF_MEM_TYPE(16);
BPF_MEM_TYPE(32);
BPF_MEM_TYPE(64);
/* Rare: made small, not fast. */
#define BPF_RARE static __attribute__((cold, noinline))
/* Not so rare, but long: one place for it where code is small. */
#ifdef __OPTIMIZE_SIZE__
#define BPF_LONG BPF_RARE
#else
#define BPF_LONG static inline
#endif
#define BPF_AT(bits, base) \
	(((struct bpf_mem##bits *)(uintptr_t)((base) + (uint64_t)(int64_t)i->off))->v)

/* The compiler's own would be a call into libgcc on riscv64. */
static uint64_t bpf_reversed(uint64_t v, int bits)
{
	uint64_t out = 0;

	for (; bits; bits -= 8, v >>= 8)
		out = out << 8 | (v & 0xff);
	return out;
}

static uint64_t bpf_swapped(const struct bpf_insn *i, uint64_t v)
{
	const uint16_t one = 1;
	int little = *(const uint8_t *)&one;
	/* BPF_X of class ALU means "to big endian", BPF_K "to little endian"; class ALU64 always swaps. */
	int swap = BPF_CLASS(i->code) == BPF_ALU64 || (i->code & BPF_X ? little : !little);

	return swap	      ? bpf_reversed(v, i->imm)
	       : i->imm == 64 ? v
			      : v & (i->imm == 16 ? 0xffff : 0xffffffff);
}

static uint64_t bpf_extended(uint64_t v, int bits)
{
	return bits == 8    ? (uint64_t)(int8_t)v
	       : bits == 16 ? (uint64_t)(int16_t)v
	       : bits == 32 ? (uint64_t)(int32_t)v
			    : v;
}

/* In one place where it is long: registers of 32 bits. */
#if UINTPTR_MAX > 0xffffffffu
static inline
#else
BPF_RARE
#endif
	uint64_t
	bpf_shift(uint64_t v, uint32_t n, int left)
{
	return left ? wire_shl(v, n) : wire_shr(v, n);
}

/* A 32-bit machine would call libgcc for it. */
uint64_t fathom_bpf_quotient(uint64_t a, uint64_t b, uint64_t *rest)
{
#if UINTPTR_MAX > 0xffffffffu
	*rest = a % b;
	return a / b;
#else
	uint64_t r = 0;

	for (int i = 0; i < 64;
	     i++) { /* what comes out of a above is replaced by the quotient below */
		uint64_t top = r >> 63;

		r = r << 1 | a >> 63;
		a <<= 1;
		if (top || r >= b) {
			r -= b;
			a |= 1;
		}
	}
	*rest = r;
	return a;
#endif
}

/* By 0: the quotient is 0 and the rest is a, as RFC 9669 has it. The sign of the rest is a's. */
static uint64_t bpf_divide(uint64_t a, uint64_t b, int is_signed, int want_rest)
{
	int minus_a = is_signed && (int64_t)a < 0, minus_b = is_signed && (int64_t)b < 0;
	uint64_t q, rest;

	if (!b)
		return want_rest ? a : 0;
	q = fathom_bpf_quotient(minus_a ? 0 - a : a, minus_b ? 0 - b : b, &rest);
	if (want_rest)
		return minus_a ? 0 - rest : rest;
	return minus_a != minus_b ? 0 - q : q;
}

/* Operations that are rare, or whose 32-bit form is not the low half of the 64-bit one. */
BPF_RARE uint64_t bpf_operate(const struct bpf_insn *i, uint64_t a, uint64_t b)
{
	int op = BPF_OP(i->code), wide = BPF_CLASS(i->code) == BPF_ALU64;
	int is_signed = op == BPF_ARSH || i->off;
	uint32_t n = (uint32_t)b & (wide ? 63 : 31);
	uint64_t sign;

	if (op == BPF_MOV)
		return bpf_extended(b, i->off);
	if (op == BPF_END)
		return bpf_swapped(i, a);
	if (!wide) {
		a = is_signed ? bpf_extended(a, 32) : (uint32_t)a;
		b = is_signed ? bpf_extended(b, 32) : (uint32_t)b;
	}
	switch (op) {
	case BPF_MUL: return a * b;
	case BPF_DIV:
	case BPF_MOD: return bpf_divide(a, b, is_signed, op == BPF_MOD);
	case BPF_XOR: return a ^ b;
	case BPF_NEG: return 0 - a;
	case BPF_LSH: return bpf_shift(a, n, 1);
	default: /* BPF_RSH, BPF_ARSH */
		sign = is_signed && (int64_t)a < 0 ? UINT64_MAX : 0;
		return bpf_shift(a ^ sign, n, 0) ^ sign;
	}
}

static int bpf_jumps(const struct bpf_insn *i, uint64_t a, uint64_t b)
{
	if (BPF_CLASS(i->code) == BPF_JMP32) { /* in this place they compare as in the low one */
		a <<= 32;
		b <<= 32;
	}
	switch (BPF_OP(i->code)) {
	case BPF_JEQ: return a == b;
	case BPF_JNE: return a != b;
	case BPF_JSET: return (a & b) != 0;
	case BPF_JGT: return a > b;
	case BPF_JGE: return a >= b;
	case BPF_JLT: return a < b;
	case BPF_JLE: return a <= b;
	case BPF_JSGT: return (int64_t)a > (int64_t)b;
	case BPF_JSGE: return (int64_t)a >= (int64_t)b;
	case BPF_JSLT: return (int64_t)a < (int64_t)b;
	default: return (int64_t)a <= (int64_t)b; /* BPF_JSLE */
	}
}

static uint64_t bpf_changed(int32_t op, uint64_t old, uint64_t with, uint64_t expected)
{
	switch (op & 0xf0) {
	case BPF_ADD: return old + with;
	case BPF_OR: return old | with;
	case BPF_AND: return old & with;
	case BPF_XOR: return old ^ with;
	case BPF_XCHG & 0xf0: return with;
	default: return old == expected ? with : old; /* BPF_CMPXCHG */
	}
}

typedef uint32_t bpf_alias32 __attribute__((may_alias));

/* Other CPUs change the same value, and so do programs that interrupt this one. The verifier has seen that it is aligned. */
BPF_RARE void bpf_atomic(const struct bpf_insn *i, uint64_t *r)
{
	uintptr_t at = (uintptr_t)(r[BPF_DST(i)] + (uint64_t)(int64_t)i->off);
	uint64_t with = r[BPF_SRC(i)], was;

#if UINTPTR_MAX > 0xffffffffu
	typedef uint64_t bpf_alias64 __attribute__((may_alias));

	if (BPF_SIZE(i->code) == BPF_DW) {
		bpf_alias64 *p = (bpf_alias64 *)at;
		uint64_t old = __atomic_load_n(p, __ATOMIC_RELAXED);

		while (!__atomic_compare_exchange_n(p, &old, bpf_changed(i->imm, old, with, r[0]),
						    0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			;
		was = old;
	} else
#endif
	{
		bpf_alias32 *p = (bpf_alias32 *)at;
		uint32_t old = __atomic_load_n(p, __ATOMIC_RELAXED);

		while (!__atomic_compare_exchange_n(
			p, &old, (uint32_t)bpf_changed(i->imm, old, with, (uint32_t)r[0]), 0,
			__ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			;
		was = old;
	}
	if (i->imm == BPF_CMPXCHG)
		r[0] = was;
	else if (i->imm & BPF_FETCH)
		r[BPF_SRC(i)] = was;
}

/* What is done with an instruction. All forms of one operation are one, so that the code is small; the switch has no gaps. */
enum bpf_do {
	BPF_DO_EXIT,
	BPF_DO_OPERATE,
	BPF_DO_ADD,
	BPF_DO_SUB,
	BPF_DO_RSH64,
	BPF_DO_AND,
	BPF_DO_OR,
	BPF_DO_SET,
	BPF_DO_MOV,
	BPF_DO_JUMPS,
	BPF_DO_JA,
	BPF_DO_JA32,
	BPF_DO_MAY_GOTO,
	BPF_DO_CALL,
	BPF_DO_WIDE,
	BPF_DO_ATOMIC,
	BPF_DO_LOAD_SIGNED,
	BPF_DO_LOAD8,
	BPF_DO_LOAD16,
	BPF_DO_LOAD32,
	BPF_DO_LOAD64,
	BPF_DO_STORE8,
	BPF_DO_STORE16,
	BPF_DO_STORE32,
	BPF_DO_STORE64,
};

#define BPF_FORMS(narrow, wide, op, act)                                                     \
	[narrow | op | BPF_K] = act, [narrow | op | BPF_X] = act, [wide | op | BPF_K] = act, \
		       [wide | op | BPF_X] = act
#define BPF_ALUS(op, act)  BPF_FORMS(BPF_ALU, BPF_ALU64, op, act)
#define BPF_JUMPS(op, act) BPF_FORMS(BPF_JMP32, BPF_JMP, op, act)
#define BPF_SIZES(size, bits)                                                   \
	[BPF_LDX | BPF_MEM | size] = BPF_DO_LOAD##bits,                         \
			     [BPF_ST | BPF_MEM | size] = BPF_DO_STORE##bits,    \
			     [BPF_STX | BPF_MEM | size] = BPF_DO_STORE##bits,   \
			     [BPF_LDX | BPF_MEMSX | size] = BPF_DO_LOAD_SIGNED, \
			     [BPF_STX | BPF_ATOMIC | size] = BPF_DO_ATOMIC

static const uint8_t bpf_do[256] = {
	BPF_ALUS(BPF_ADD, BPF_DO_ADD),
	BPF_ALUS(BPF_AND, BPF_DO_AND),
	BPF_ALUS(BPF_OR, BPF_DO_OR),
	[BPF_ALU | BPF_MOV | BPF_K] = BPF_DO_MOV,
	[BPF_ALU | BPF_MOV | BPF_X] = BPF_DO_MOV,
	[BPF_ALU64 | BPF_MOV | BPF_K] = BPF_DO_SET,
	[BPF_ALU64 | BPF_MOV | BPF_X] = BPF_DO_MOV,
	BPF_ALUS(BPF_SUB, BPF_DO_SUB),
	BPF_ALUS(BPF_MUL, BPF_DO_OPERATE),
	BPF_ALUS(BPF_DIV, BPF_DO_OPERATE),
	BPF_ALUS(BPF_MOD, BPF_DO_OPERATE),
	BPF_ALUS(BPF_XOR, BPF_DO_OPERATE),
	BPF_ALUS(BPF_NEG, BPF_DO_OPERATE),
	BPF_ALUS(BPF_LSH, BPF_DO_OPERATE),
	[BPF_ALU | BPF_RSH | BPF_K] = BPF_DO_OPERATE,
	[BPF_ALU | BPF_RSH | BPF_X] = BPF_DO_OPERATE,
	[BPF_ALU64 | BPF_RSH | BPF_K] = BPF_DO_RSH64,
	[BPF_ALU64 | BPF_RSH | BPF_X] = BPF_DO_RSH64,
	BPF_ALUS(BPF_ARSH, BPF_DO_OPERATE),
	BPF_ALUS(BPF_END, BPF_DO_OPERATE),
	BPF_JUMPS(BPF_JEQ, BPF_DO_JUMPS),
	BPF_JUMPS(BPF_JNE, BPF_DO_JUMPS),
	BPF_JUMPS(BPF_JGT, BPF_DO_JUMPS),
	BPF_JUMPS(BPF_JGE, BPF_DO_JUMPS),
	BPF_JUMPS(BPF_JLT, BPF_DO_JUMPS),
	BPF_JUMPS(BPF_JLE, BPF_DO_JUMPS),
	BPF_JUMPS(BPF_JSGT, BPF_DO_JUMPS),
	BPF_JUMPS(BPF_JSGE, BPF_DO_JUMPS),
	BPF_JUMPS(BPF_JSLT, BPF_DO_JUMPS),
	BPF_JUMPS(BPF_JSLE, BPF_DO_JUMPS),
	BPF_JUMPS(BPF_JSET, BPF_DO_JUMPS),
	BPF_SIZES(BPF_B, 8),
	BPF_SIZES(BPF_H, 16),
	BPF_SIZES(BPF_W, 32),
	BPF_SIZES(BPF_DW, 64),
	[BPF_LD_IMM64] = BPF_DO_WIDE,
	[BPF_JMP | BPF_JA] = BPF_DO_JA,
	[BPF_JMP32 | BPF_JA] = BPF_DO_JA32,
	[BPF_MAY_GOTO] = BPF_DO_MAY_GOTO,
	[BPF_JMP | BPF_CALL] = BPF_DO_CALL,
};

BPF_LONG uint64_t bpf_load_signed(const struct bpf_insn *i, uint64_t s)
{
	switch (BPF_SIZE(i->code)) {
	case BPF_B: return bpf_extended(BPF_AT(8, s), 8);
	case BPF_H: return bpf_extended(BPF_AT(16, s), 16);
	default: return bpf_extended(BPF_AT(32, s), 32);
	}
}

#define BPF_NUMBER     ((uint64_t)(int64_t)i->imm)
#define BPF_OPERAND    (i->code & BPF_X ? r[BPF_SRC(i)] : BPF_NUMBER)
/* A result is as wide as its instruction. */
#define BPF_AS_WIDE(v) (BPF_CLASS(i->code) == BPF_ALU64 ? (v) : (uint32_t)(v))
/* Of BPF_STX the register, of BPF_ST the immediate. */
#define BPF_STORED     (i->code & 1 ? BPF_S : BPF_NUMBER)

/*
 * BPF_MAKES(what, value) and BPF_DOES(what, statements) are instructions; BPF_D is the register that changes, BPF_S the source
 * register, BPF_B the second operand. Where code may be large, each instruction goes to the next one by a jump of its own, which
 * the processor learns, and takes only the operands that it has. Else they share what they can.
 */
#ifdef __OPTIMIZE_SIZE__
#define BPF_DOES(what, ...)  \
	case BPF_DO_##what:  \
		__VA_ARGS__; \
		continue
#define BPF_MAKES(what, v)  \
	case BPF_DO_##what: \
		b = (v);    \
		break
#define BPF_D (*d)
#define BPF_S s
#define BPF_B b
#else
#define BPF_DOES(what, ...)              \
	case BPF_DO_##what:              \
		at_##what : __VA_ARGS__; \
		i++;                     \
		if (!left--)             \
			goto used_up;    \
		goto *to[bpf_do[i->code]]
#define BPF_MAKES(what, v) BPF_DOES(what, made = (v); BPF_D = BPF_AS_WIDE(made))
#define BPF_LABEL(what)	   [BPF_DO_##what] = &&at_##what
#define BPF_D		   r[BPF_DST(i)]
#define BPF_S		   r[BPF_SRC(i)]
#define BPF_B		   BPF_OPERAND
#endif

uint64_t fathom_bpf_run(struct bpf_machine *m, const struct bpf_insn *program, const void *context)
{
#ifndef __OPTIMIZE_SIZE__
	static const void *const to[] = {
		BPF_LABEL(EXIT),	BPF_LABEL(OPERATE), BPF_LABEL(ADD),	BPF_LABEL(SUB),
		BPF_LABEL(RSH64),	BPF_LABEL(AND),	    BPF_LABEL(OR),	BPF_LABEL(SET),
		BPF_LABEL(MOV),		BPF_LABEL(JUMPS),   BPF_LABEL(JA),	BPF_LABEL(JA32),
		BPF_LABEL(MAY_GOTO),	BPF_LABEL(CALL),    BPF_LABEL(WIDE),	BPF_LABEL(ATOMIC),
		BPF_LABEL(LOAD_SIGNED), BPF_LABEL(LOAD8),   BPF_LABEL(LOAD16),	BPF_LABEL(LOAD32),
		BPF_LABEL(LOAD64),	BPF_LABEL(STORE8),  BPF_LABEL(STORE16), BPF_LABEL(STORE32),
		BPF_LABEL(STORE64),
	};
#endif
	uint64_t r[BPF_NR_REGS];
	const struct bpf_insn *i = program;
	uint32_t left = m->budget;
	uint32_t loops = m->loops;

	r[0] = 0; /* as "source" of instructions that have none */
	r[1] = (uintptr_t)context;
	r[BPF_FP] = (uintptr_t)m->stack + m->stack_bytes;
	for (;; i++) {
#ifdef __OPTIMIZE_SIZE__
		uint64_t *d = &r[BPF_DST(i)], s = r[BPF_SRC(i)], b = BPF_OPERAND;
#else
		uint64_t made;
#endif
		if (!left--)
			goto used_up;
		switch (bpf_do[i->code]) {
			BPF_MAKES(ADD, BPF_D + BPF_B);
			BPF_MAKES(SUB, BPF_D - BPF_B);
			BPF_MAKES(AND, BPF_D & BPF_B);
			BPF_MAKES(OR, BPF_D | BPF_B);
			BPF_MAKES(RSH64, bpf_shift(BPF_D, (uint32_t)BPF_B & 63, 0));
			BPF_MAKES(MOV, i->off ? bpf_operate(i, BPF_D, BPF_B) : BPF_B);
			BPF_MAKES(OPERATE, bpf_operate(i, BPF_D, BPF_B));
			BPF_DOES(SET, BPF_D = BPF_NUMBER);
			BPF_DOES(JUMPS, i += bpf_jumps(i, BPF_D, BPF_B) ? i->off : 0);
			BPF_DOES(MAY_GOTO, i += loops ? loops--, 0 : i->off);
			BPF_DOES(JA, i += i->off);
			BPF_DOES(JA32, i += i->imm);
			BPF_DOES(CALL,
				 r[0] = m->call(m, (uint32_t)i->imm, r[1], r[2], r[3], r[4], r[5]));
			BPF_DOES(WIDE,
				 BPF_D = (uint32_t)i->imm | (uint64_t)(uint32_t)i[1].imm << 32;
				 i++);
			BPF_DOES(ATOMIC, bpf_atomic(i, r));
			BPF_DOES(LOAD8, BPF_D = BPF_AT(8, BPF_S));
			BPF_DOES(LOAD16, BPF_D = BPF_AT(16, BPF_S));
			BPF_DOES(LOAD32, BPF_D = BPF_AT(32, BPF_S));
			BPF_DOES(LOAD64, BPF_D = BPF_AT(64, BPF_S));
			BPF_DOES(LOAD_SIGNED, BPF_D = bpf_load_signed(i, BPF_S));
			BPF_DOES(STORE8, BPF_AT(8, BPF_D) = (uint8_t)BPF_STORED);
			BPF_DOES(STORE16, BPF_AT(16, BPF_D) = (uint16_t)BPF_STORED);
			BPF_DOES(STORE32, BPF_AT(32, BPF_D) = (uint32_t)BPF_STORED);
			BPF_DOES(STORE64, BPF_AT(64, BPF_D) = BPF_STORED);
			BPF_DOES(EXIT, m->budget = left; return r[0]);
		default: __builtin_unreachable();
		}
#ifdef __OPTIMIZE_SIZE__
		*d = BPF_AS_WIDE(b);
#endif
	}
used_up:
	m->budget = 0;
	return 0;
}
