/* SPDX-License-Identifier: MIT */
/* bpf_run.c -- run an eBPF program. */
#include "wire/bpf.h"
#include "wire/div.h"

/* Both forms of the second operand have a case of their own: the test would cost more than the operation. */
#define BPF_ALU_CASES(op, expr64, expr32)                                         \
	case BPF_ALU64 | op | BPF_K: {                                            \
		uint64_t a = r[d], b = (uint64_t)(int64_t)i->imm;                 \
		r[d] = expr64;                                                    \
		break;                                                            \
	}                                                                         \
	case BPF_ALU64 | op | BPF_X: {                                            \
		uint64_t a = r[d], b = r[s];                                      \
		r[d] = expr64;                                                    \
		break;                                                            \
	}                                                                         \
	case BPF_ALU | op | BPF_K:                                                \
	case BPF_ALU | op | BPF_X: {                                              \
		uint32_t a = (uint32_t)r[d],                                      \
			 b = i->code & BPF_X ? (uint32_t)r[s] : (uint32_t)i->imm; \
		r[d] = (uint32_t)(expr32);                                        \
		break;                                                            \
	}

#define BPF_JUMP_CASES(op, cmp, type64, type32)                                        \
	case BPF_JMP | op | BPF_K:                                                     \
		if ((type64)r[d] cmp(type64)(int64_t) i->imm)                          \
			goto jump;                                                     \
		break;                                                                 \
	case BPF_JMP | op | BPF_X:                                                     \
		if ((type64)r[d] cmp(type64) r[s])                                     \
			goto jump;                                                     \
		break;                                                                 \
	case BPF_JMP32 | op | BPF_K:                                                   \
	case BPF_JMP32 | op | BPF_X:                                                   \
		if ((type32)r[d] cmp(i->code & BPF_X ? (type32)r[s] : (type32)i->imm)) \
			goto jump;                                                     \
		break;

/* Memory may be unaligned; a packed member makes the compiler do the right thing. */
struct bpf_mem8 {
	uint8_t v;
} __attribute__((packed, may_alias));
struct bpf_mem16 {
	uint16_t v;
} __attribute__((packed, may_alias));
struct bpf_mem32 {
	uint32_t v;
} __attribute__((packed, may_alias));
struct bpf_mem64 {
	uint64_t v;
} __attribute__((packed, may_alias));

#define BPF_MEM_CASES(size, type, stype)                                                        \
	case BPF_LDX | BPF_MEM | size:                                                          \
		r[d] = ((const struct type *)(uintptr_t)(r[s] + (uint64_t)(int64_t)i->off))->v; \
		break;                                                                          \
	case BPF_LDX | BPF_MEMSX | size:                                                        \
		r[d] = (uint64_t)(int64_t)(stype)((const struct type                            \
							   *)(uintptr_t)(r[s] +                 \
									 (uint64_t)(int64_t)    \
										 i->off))       \
			       ->v;                                                             \
		break;                                                                          \
	case BPF_ST | BPF_MEM | size:                                                           \
		((struct type *)(uintptr_t)(r[d] + (uint64_t)(int64_t)i->off))->v =             \
			(__typeof__(((struct type *)0)->v))i->imm;                              \
		break;                                                                          \
	case BPF_STX | BPF_MEM | size:                                                          \
		((struct type *)(uintptr_t)(r[d] + (uint64_t)(int64_t)i->off))->v =             \
			(__typeof__(((struct type *)0)->v))r[s];                                \
		break;

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
	int bits = i->imm == 16 || i->imm == 32 ? i->imm : 64;

	return swap	    ? bpf_reversed(v, bits)
	       : bits == 64 ? v
			    : v & (bits == 16 ? 0xffff : 0xffffffff);
}

static uint64_t bpf_arithmetic(uint64_t v, uint32_t n)
{
	return (int64_t)v < 0 ? ~wire_shr(~v, n) : wire_shr(v, n);
}

static uint64_t bpf_extended(uint64_t v, int16_t bits)
{
	if (bits == 8)
		return (uint64_t)(int64_t)(int8_t)v;
	if (bits == 16)
		return (uint64_t)(int64_t)(int16_t)v;
	if (bits == 32)
		return (uint64_t)(int64_t)(int32_t)v;
	return v;
}

/* A 32-bit machine would call libgcc for it. */
uint64_t fathom_bpf_quotient(uint64_t a, uint64_t b, uint64_t *rest)
{
#if UINTPTR_MAX > 0xffffffffu
	*rest = a % b;
	return a / b;
#else
	uint64_t q = 0, r = 0;
	int i;

	for (i = 63; i >= 0; i--) {
		int top = r >> 63 & 1;

		r = r << 1 | (wire_shr(a, (uint32_t)i) & 1);
		if (top || r >= b) {
			r -= b;
			q |= wire_shl(1, (uint32_t)i);
		}
	}
	*rest = r;
	return q;
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
static void bpf_atomic(const struct bpf_insn *i, uint64_t *r)
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

uint64_t fathom_bpf_run(struct bpf_machine *m, const struct bpf_insn *program, const void *context)
{
	uint64_t r[BPF_NR_REGS];
	const struct bpf_insn *i = program;
	uint64_t left = m->budget;
	uint32_t loops = m->loops;

	r[1] = (uintptr_t)context;
	r[BPF_FP] = (uintptr_t)m->stack + m->stack_bytes;
	for (;; i++) {
		int d = BPF_DST(i), s = BPF_SRC(i);

		if (!left--) {
			m->budget = 0;
			return 0;
		}
		switch (i->code) {
			BPF_ALU_CASES(BPF_ADD, a + b, a + b)
			BPF_ALU_CASES(BPF_SUB, a - b, a - b)
			BPF_ALU_CASES(BPF_MUL, a * b, a * b)
			BPF_ALU_CASES(BPF_OR, a | b, a | b)
			BPF_ALU_CASES(BPF_AND, a & b, a & b)
			BPF_ALU_CASES(BPF_XOR, a ^ b, a ^ b)
			BPF_ALU_CASES(BPF_LSH, wire_shl(a, b & 63), a << (b & 31))
			BPF_ALU_CASES(BPF_RSH, wire_shr(a, b & 63), a >> (b & 31))
			BPF_ALU_CASES(BPF_ARSH, bpf_arithmetic(a, b & 63),
				      (uint32_t)((int32_t)a >> (b & 31)))
			BPF_ALU_CASES(BPF_DIV, bpf_divide(a, b, i->off, 0),
				      i->off ? bpf_divide(bpf_extended(a, 32), bpf_extended(b, 32),
							  1, 0)
					     : bpf_divide(a, b, 0, 0))
			BPF_ALU_CASES(BPF_MOD, bpf_divide(a, b, i->off, 1),
				      i->off ? bpf_divide(bpf_extended(a, 32), bpf_extended(b, 32),
							  1, 1)
					     : bpf_divide(a, b, 0, 1))
			BPF_ALU_CASES(BPF_MOV, ((void)a, bpf_extended(b, i->off)),
				      ((void)a, bpf_extended(b, i->off)))
		case BPF_ALU64 | BPF_NEG: r[d] = 0 - r[d]; break;
		case BPF_ALU | BPF_NEG: r[d] = (uint32_t)(0 - r[d]); break;
		case BPF_ALU | BPF_END | BPF_K:
		case BPF_ALU | BPF_END | BPF_X:
		case BPF_ALU64 | BPF_END | BPF_K:
			r[d] = bpf_swapped(i, r[d]);
			break;
			BPF_MEM_CASES(BPF_B, bpf_mem8, int8_t)
			BPF_MEM_CASES(BPF_H, bpf_mem16, int16_t)
			BPF_MEM_CASES(BPF_W, bpf_mem32, int32_t)
			BPF_MEM_CASES(BPF_DW, bpf_mem64, int64_t)
		case BPF_STX | BPF_ATOMIC | BPF_W:
		case BPF_STX | BPF_ATOMIC | BPF_DW: bpf_atomic(i, r); break;
		case BPF_LD_IMM64:
			r[d] = (uint32_t)i->imm | (uint64_t)(uint32_t)i[1].imm << 32;
			i++;
			break;
		case BPF_JMP | BPF_JA: goto jump;
		case BPF_MAY_GOTO:
			if (!loops)
				goto jump;
			loops--;
			break;
		case BPF_JMP32 | BPF_JA:
			i += i->imm;
			break;
			BPF_JUMP_CASES(BPF_JEQ, ==, uint64_t, uint32_t)
			BPF_JUMP_CASES(BPF_JNE, !=, uint64_t, uint32_t)
			BPF_JUMP_CASES(BPF_JGT, >, uint64_t, uint32_t)
			BPF_JUMP_CASES(BPF_JGE, >=, uint64_t, uint32_t)
			BPF_JUMP_CASES(BPF_JLT, <, uint64_t, uint32_t)
			BPF_JUMP_CASES(BPF_JLE, <=, uint64_t, uint32_t)
			BPF_JUMP_CASES(BPF_JSGT, >, int64_t, int32_t)
			BPF_JUMP_CASES(BPF_JSGE, >=, int64_t, int32_t)
			BPF_JUMP_CASES(BPF_JSLT, <, int64_t, int32_t)
			BPF_JUMP_CASES(BPF_JSLE, <=, int64_t, int32_t)
			BPF_JUMP_CASES(BPF_JSET, &, uint64_t, uint32_t)
		case BPF_JMP | BPF_CALL:
			r[0] = m->call(m, (uint32_t)i->imm, r[1], r[2], r[3], r[4], r[5]);
			break;
		default: /* BPF_JMP | BPF_EXIT */ m->budget = left; return r[0];
		}
		continue;
	jump:
		i += i->off;
	}
}
