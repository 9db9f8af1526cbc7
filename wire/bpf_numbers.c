/* SPDX-License-Identifier: MIT */
/* bpf_numbers.c -- the verifier: what operations make of numbers and pointers. */
#include "wire/cold.h"

#include "wire/bpf_verify.h"

#define BPF_OFFSET_MAX (1 << 24) /* of a pointer: far more than any memory it may point to */

void fathom_bpf_number(struct bpf_reg *r, int32_t low, int32_t high)
{
	*r = (struct bpf_reg){.kind = BPF_IS_NUMBER, .low = low, .high = high};
}

void fathom_bpf_const(struct bpf_reg *r, int64_t k)
{
	if (k > BPF_LEAST && k < BPF_MOST)
		fathom_bpf_number(r, (int32_t)k, (int32_t)k);
	else
		fathom_bpf_number(r, k < 0 ? BPF_LEAST : 0, BPF_MOST);
}

static int bpf_is_small(const struct bpf_reg *r)
{
	return r->low >= -BPF_OFFSET_MAX && r->high <= BPF_OFFSET_MAX;
}

static const char *bpf_move_pointer(struct bpf_reg *d, const struct bpf_reg *by, int minus)
{
	if (d->kind == BPF_IS_MAY_NULL || d->kind == BPF_IS_MAP)
		return "arithmetic with a pointer";
	if (!bpf_is_small(by))
		return "a pointer is moved by a number without bounds";
	d->low += minus ? -by->high : by->low;
	d->high += minus ? -by->low : by->high;
	return bpf_is_small(d) ? 0 : "a pointer is moved too far";
}

/* Its low 32 bits: of a number that is not known to have only them, any. */
static void bpf_low_half(struct bpf_reg *r)
{
	if (r->kind == BPF_IS_NUMBER && (r->low < 0 || r->high == BPF_MOST))
		fathom_bpf_number(r, 0, BPF_MOST);
}

static int bpf_is_bounded(const struct bpf_reg *r)
{
	return r->low > BPF_LEAST && r->high < BPF_MOST;
}

/* *a op b; what is not known to fit is any number. `bits` are those of the operation. */
static void bpf_calculate(struct bpf_reg *a, const struct bpf_reg *b, uint32_t op, uint32_t bits)
{
	int32_t al = a->low, ah = a->high, bl = b->low, bh = b->high;
	int32_t low = BPF_LEAST, high = BPF_MOST, n = bl == bh ? bl : 0;
	int bounded = bpf_is_bounded(a) && bpf_is_bounded(b);

	if (op == BPF_SUB && bounded) {
		op = BPF_ADD;
		bl = -b->high;
		bh = -b->low;
	}
	if (op == BPF_LSH && n > 0 && n < 31) {
		op = BPF_MUL;
		bl = bh = 1 << n;
	}
	if (op == BPF_ADD || op == BPF_MUL) {
		if (!bounded ||
		    (op == BPF_ADD ? __builtin_add_overflow(al, bl, &low) ||
					     __builtin_add_overflow(ah, bh, &high)
				   : al < 0 || bl < 0 || __builtin_mul_overflow(ah, bh, &high))) {
			low = BPF_LEAST;
			high = BPF_MOST;
		} else if (op == BPF_MUL) {
			low = al * bl;
		}
	} else if (op == BPF_RSH && n > 0 && n < (int32_t)bits) { /* zeros come from above */
		low = 0;
		if (al >= 0 && ah < BPF_MOST)
			high = n < 31 ? ah >> n : 0;
		else if (bits - (uint32_t)n < 32)
			high = (int32_t)((1u << (bits - (uint32_t)n)) - 1);
	} else if (op == BPF_AND || op == BPF_DIV || op == BPF_MOD) {
		if (op == BPF_MOD && n > 0) {
			low = 0;
			high = n - 1;
		} else if (op == BPF_AND && bl >= 0 && (al < 0 || bh < ah)) {
			low = 0;
			high = bh;
		} else if (al >= 0) {
			low = 0;
			high = ah;
		}
	}
	fathom_bpf_number(a, low, high);
}

const char *fathom_bpf_alu(struct bpf_verifier *v, const struct bpf_insn *i)
{
	uint32_t op = BPF_OP(i->code), wide = BPF_CLASS(i->code) == BPF_ALU64;
	struct bpf_reg *d = &v->now[BPF_DST(i)], b, was;

	fathom_bpf_const(&b, wide ? (int64_t)i->imm : (int64_t)(uint32_t)i->imm);
	if (i->code & BPF_X && op != BPF_END)
		b = v->now[BPF_SRC(i)];
	if (b.kind == BPF_IS_NOTHING || (op != BPF_MOV && d->kind == BPF_IS_NOTHING))
		return "register is not initialised";
	was = *d;
	if (op == BPF_MOV || (op == BPF_ADD && bpf_is_pointer(&b))) {
		*d = b;
		b = was;
	}
	if (op == BPF_MOV) {
		if (bpf_is_pointer(d))
			return !wide || i->off ? "part of a pointer" : 0;
	} else if (bpf_is_pointer(&b) ||
		   (bpf_is_pointer(d) && (!wide || (op != BPF_ADD && op != BPF_SUB)))) {
		return "arithmetic with a pointer";
	} else if (bpf_is_pointer(d)) {
		return bpf_move_pointer(d, &b, op == BPF_SUB);
	}
	if (op == BPF_END || i->off) {
		fathom_bpf_number(d, BPF_LEAST, BPF_MOST);
	} else if (op != BPF_MOV) {
		if (!wide) {
			bpf_low_half(d);
			bpf_low_half(&b);
		}
		bpf_calculate(d, &b, op, wide ? 64 : 32);
	}
	if (!wide && op != BPF_END)
		bpf_low_half(d);
	return 0;
}
