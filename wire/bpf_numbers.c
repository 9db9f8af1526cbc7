/* SPDX-License-Identifier: MIT */
/* bpf_numbers.c -- the verifier: what operations make of numbers and pointers. */
#include "wire/cold.h"

#include "wire/bpf_verify.h"
#include "wire/div.h"

#define BPF_OFFSET_MAX (1ll << 24) /* of a pointer: far more than any memory it may point to */

static int bpf_move_pointer(struct bpf_verifier *v, struct bpf_reg *d, const struct bpf_reg *by,
			    int minus)
{
	int64_t low = (int64_t)by->low, high = (int64_t)by->high;

	if (d->kind == BPF_IS_MAY_NULL || d->kind == BPF_IS_MAP)
		return bpf_refuse(v, "arithmetic on a pointer that cannot be moved");
	/* A constant may be negative; a range must be small and positive. */
	if (bpf_is_const(by) ? low > BPF_OFFSET_MAX || low < -BPF_OFFSET_MAX
			     : by->high > (uint64_t)BPF_OFFSET_MAX)
		return bpf_refuse(v, "a pointer is moved by a number without bounds");
	if (minus && !bpf_is_const(by))
		return bpf_refuse(v, "a pointer is moved down by a number that is not constant");
	d->low += (uint64_t)(minus ? -low : low);
	d->high += (uint64_t)(minus ? -low : high);
	if ((int64_t)d->low < -BPF_OFFSET_MAX || (int64_t)d->high > BPF_OFFSET_MAX)
		return bpf_refuse(v, "a pointer is moved too far");
	return 0;
}

/* Bounds of a result; what is not known to fit is any number. */
static struct bpf_reg bpf_calculate(int op, const struct bpf_reg *a, const struct bpf_reg *b,
				    int wide)
{
	uint64_t max = wide ? UINT64_MAX : UINT32_MAX;
	struct bpf_reg r = bpf_number(0, max);
	uint32_t n = (uint32_t)b->low & 63;
	int fits = a->high <= max && b->high <= max;

	if (!fits)
		return r;
	switch (op) {
	case BPF_ADD:
		if (a->high <= max - b->high)
			r = bpf_number(a->low + b->low, a->high + b->high);
		break;
	case BPF_SUB:
		if (a->low >= b->high)
			r = bpf_number(a->low - b->high, a->high - b->low);
		break;
	case BPF_AND: r.high = a->high < b->high ? a->high : b->high; break;
	case BPF_RSH:
		if (bpf_is_const(b) && b->low < (wide ? 64u : 32u))
			r = bpf_number(wire_shr(a->low, n), wire_shr(a->high, n));
		break;
	case BPF_LSH:
		if (bpf_is_const(b) && b->low < 32 && a->high <= wire_shr(max, n))
			r = bpf_number(wire_shl(a->low, n), wire_shl(a->high, n));
		break;
	case BPF_MUL:
		if (a->high <= UINT32_MAX && b->high <= UINT32_MAX &&
		    (wide || a->high * b->high <= max))
			r = bpf_number(a->low * b->low, a->high * b->high);
		break;
	case BPF_DIV: r.high = a->high; break;
	case BPF_MOD: r.high = bpf_is_const(b) && b->low ? b->low - 1 : a->high; break;
	default: break;
	}
	return r;
}

static int bpf_move(struct bpf_verifier *v, const struct bpf_insn *i, struct bpf_reg *d,
		    const struct bpf_reg *s, int wide)
{
	if (s->kind == BPF_IS_NOTHING)
		return bpf_refuse(v, "register is not initialised");
	if (bpf_is_pointer(s) && (!wide || i->off))
		return bpf_refuse(v, "part of a pointer");
	*d = *s;
	if (i->off || (!wide && s->high > UINT32_MAX))
		*d = bpf_number(0, wide ? UINT64_MAX : UINT32_MAX);
	return 0;
}

int fathom_bpf_alu(struct bpf_verifier *v, const struct bpf_insn *i)
{
	int op = BPF_OP(i->code), wide = BPF_CLASS(i->code) == BPF_ALU64;
	struct bpf_reg *d = &v->now->regs[BPF_DST(i)];
	uint64_t k = wide ? (uint64_t)(int64_t)i->imm : (uint32_t)i->imm;
	struct bpf_reg imm = bpf_number(k, k),
		       *s = i->code & BPF_X && op != BPF_END ? &v->now->regs[BPF_SRC(i)] : &imm;

	if (BPF_DST(i) == BPF_FP)
		return bpf_refuse(v, "the frame pointer cannot be changed");
	if (op == BPF_MOV)
		return bpf_move(v, i, d, s, wide);
	if (d->kind == BPF_IS_NOTHING || s->kind == BPF_IS_NOTHING)
		return bpf_refuse(v, "register is not initialised");
	if (bpf_is_pointer(d) && s->kind == BPF_IS_NUMBER && wide &&
	    (op == BPF_ADD || op == BPF_SUB))
		return bpf_move_pointer(v, d, s, op == BPF_SUB);
	if (bpf_is_pointer(s) && d->kind == BPF_IS_NUMBER && wide && op == BPF_ADD) {
		struct bpf_reg moved = *s;
		int err = bpf_move_pointer(v, &moved, d, 0);

		*d = moved;
		return err;
	}
	if (bpf_is_pointer(d) || bpf_is_pointer(s))
		return bpf_refuse(v, "arithmetic with a pointer");
	if (op == BPF_NEG || op == BPF_END || ((op == BPF_DIV || op == BPF_MOD) && i->off))
		*d = bpf_number(0, wide || op == BPF_END ? UINT64_MAX : UINT32_MAX);
	else
		*d = bpf_calculate(op, d, s, wide);
	return 0;
}
