/* SPDX-License-Identifier: MIT */
/* bpf_verify.c -- prove that an eBPF program ends, and touches only what it may: states, jumps, passes. */
#include "wire/cold.h"

#include "wire/bpf_verify.h"

/* ---- states ---- */

/* memcpy() and memset() are loops here: the library may be traced where its kernel's are. */
static void bpf_copy_state(const struct bpf_verifier *v, struct bpf_state *to,
			   const struct bpf_state *from)
{
	uint32_t i;

	for (i = 0; i < BPF_NR_REGS; i++)
		to->regs[i] = from->regs[i];
	for (i = 0; i < v->nr_slots; i++)
		to->slots[i] = from->slots[i];
}

static uint8_t *bpf_arrived(const struct bpf_verifier *v, uint32_t at)
{
	return v->states + (v->label[at] - 1u) * (v->state_bytes + 8);
}

static struct bpf_state *bpf_state_at(const struct bpf_verifier *v, uint32_t at)
{
	return (struct bpf_state *)(void *)(bpf_arrived(v, at) + 8);
}

/* ---- joining ---- */

static int bpf_reg_equal(const struct bpf_reg *a, const struct bpf_reg *b)
{
	return a->kind == b->kind && a->map == b->map && a->id == b->id && a->low == b->low &&
	       a->high == b->high;
}

/* Make *to cover *with too; 1 if it grew. */
static int bpf_join_reg(struct bpf_reg *to, const struct bpf_reg *with, int widen)
{
	struct bpf_reg old = *to;

	if (to->kind == BPF_IS_NOTHING || bpf_reg_equal(to, with))
		return 0;
	if (to->kind != with->kind || to->map != with->map || to->id != with->id) {
		*to = bpf_nothing();
		return 1;
	}
	if (to->kind == BPF_IS_NUMBER) {
		if (with->low < to->low)
			to->low = widen ? 0 : with->low;
		if (with->high > to->high)
			to->high = widen ? UINT64_MAX : with->high;
		return !bpf_reg_equal(to, &old);
	}
	if (widen) {
		*to = bpf_nothing(); /* an offset that changes with every turn has no bound here */
		return 1;
	}
	if ((int64_t)with->low < (int64_t)to->low)
		to->low = with->low;
	if ((int64_t)with->high > (int64_t)to->high)
		to->high = with->high;
	return !bpf_reg_equal(to, &old);
}

static int bpf_join_slot(struct bpf_slot *to, const struct bpf_slot *with, int widen)
{
	uint8_t written =
		(uint8_t)((to->whole ? 0xff : to->written) & (with->whole ? 0xff : with->written));
	struct bpf_slot old = *to;

	if (to->whole && with->whole) {
		struct bpf_reg r = to->reg;
		int grew = bpf_join_reg(&r, &with->reg, widen);

		if (r.kind != BPF_IS_NOTHING) {
			to->reg = r;
			return grew;
		}
		/* Two numbers would still be a number: at least one was a pointer. */
		to->whole = 0;
		to->written = 0;
		return 1;
	}
	if (to->whole && bpf_is_pointer(&to->reg))
		written = 0; /* V3: its bytes are not numbers */
	if (with->whole && bpf_is_pointer(&with->reg))
		written = 0;
	to->whole = 0;
	to->written = written;
	return old.whole || old.written != written;
}

/* The state flows to an instruction that is a jump target. */
static void bpf_flow(struct bpf_verifier *v, const struct bpf_state *s, uint32_t to, int back)
{
	struct bpf_state *t = bpf_state_at(v, to);
	int grew = 0;
	uint32_t i;

	if (!*bpf_arrived(v, to)) {
		*bpf_arrived(v, to) = 1;
		bpf_copy_state(v, t, s);
		grew = 1;
	} else {
		for (i = 0; i < BPF_NR_REGS; i++)
			grew |= bpf_join_reg(&t->regs[i], &s->regs[i], back);
		for (i = 0; i < v->nr_slots; i++)
			grew |= bpf_join_slot(&t->slots[i], &s->slots[i], back);
	}
	v->again |= grew && back;
}

static void bpf_flow_jump(struct bpf_verifier *v, const struct bpf_state *s, uint32_t to)
{
	bpf_flow(v, s, to, to <= v->at);
}

/* ---- jumps ---- */

/*
 * Of the result of one lookup, in all places that hold it: it was found or not. They hold the result of the last turn: in a
 * loop, the state at its head covers the way that has not looked up yet, so nothing is known there of an earlier turn's.
 */
static void bpf_tell_null(struct bpf_verifier *v, struct bpf_state *s, uint32_t id, int null)
{
	uint32_t i;

	for (i = 0; i < BPF_NR_REGS + v->nr_slots; i++) {
		struct bpf_reg *r = i < BPF_NR_REGS ? &s->regs[i] : &s->slots[i - BPF_NR_REGS].reg;

		if (i >= BPF_NR_REGS && !s->slots[i - BPF_NR_REGS].whole)
			continue;
		if (r->kind != BPF_IS_MAY_NULL || r->id != id)
			continue;
		if (null) {
			*r = bpf_number(0, 0);
		} else {
			r->kind = BPF_IS_VALUE;
			r->id = 0;
		}
	}
}

/* Narrow the register by "value op k" being so. 0: it cannot be. */
static int bpf_narrow(struct bpf_reg *r, int op, uint64_t k)
{
	switch (op) {
	case BPF_JEQ:
		if (k < r->low || k > r->high)
			return 0;
		r->low = r->high = k;
		break;
	case BPF_JNE:
		if (r->low == k && r->high == k)
			return 0;
		r->low += r->low == k;
		r->high -= r->high == k;
		break;
	case BPF_JGT:
		if (r->high <= k)
			return 0;
		r->low = r->low > k ? r->low : k + 1;
		break;
	case BPF_JGE:
		if (r->high < k)
			return 0;
		r->low = r->low > k ? r->low : k;
		break;
	case BPF_JLT:
		if (r->low >= k)
			return 0;
		r->high = r->high < k ? r->high : k - 1;
		break;
	case BPF_JLE:
		if (r->low > k)
			return 0;
		r->high = r->high < k ? r->high : k;
		break;
	default: break;
	}
	return 1;
}

static int bpf_opposite(int op)
{
	switch (op) {
	case BPF_JEQ: return BPF_JNE;
	case BPF_JNE: return BPF_JEQ;
	case BPF_JGT: return BPF_JLE;
	case BPF_JGE: return BPF_JLT;
	case BPF_JLT: return BPF_JGE;
	case BPF_JLE: return BPF_JGT;
	default: return BPF_JSET; /* nothing is learnt */
	}
}

static int bpf_test_pointer(struct bpf_verifier *v, const struct bpf_insn *i, uint32_t to)
{
	struct bpf_reg *d = &v->now->regs[BPF_DST(i)];
	int null_jumps = BPF_OP(i->code) == BPF_JEQ;
	uint32_t id = d->id;

	if (BPF_CLASS(i->code) != BPF_JMP || i->code & BPF_X || i->imm ||
	    (BPF_OP(i->code) != BPF_JEQ && BPF_OP(i->code) != BPF_JNE))
		return bpf_refuse(v, "a pointer can only be compared with 0");
	if (d->kind != BPF_IS_MAY_NULL) { /* never 0 */
		if (!null_jumps)
			bpf_flow_jump(v, v->now, to);
		v->reached = null_jumps;
		return 0;
	}
	bpf_copy_state(v, v->other, v->now);
	bpf_tell_null(v, v->other, id, null_jumps);
	bpf_flow_jump(v, v->other, to);
	bpf_tell_null(v, v->now, id, !null_jumps);
	return 0;
}

static int bpf_branch(struct bpf_verifier *v, const struct bpf_insn *i)
{
	struct bpf_reg *d = &v->now->regs[BPF_DST(i)], *s = &v->now->regs[BPF_SRC(i)], old = *d;
	uint32_t to = (uint32_t)bpf_target_of(i, v->at);
	int op = BPF_OP(i->code), known, learn;
	uint64_t k;

	if (op == BPF_JA || i->code == BPF_MAY_GOTO) {
		bpf_flow_jump(v, v->now, to);
		v->reached = i->code == BPF_MAY_GOTO;
		return 0;
	}
	if (d->kind == BPF_IS_NOTHING || (i->code & BPF_X && s->kind == BPF_IS_NOTHING))
		return bpf_refuse(v, "register is not initialised");
	if (bpf_is_pointer(d) || (i->code & BPF_X && bpf_is_pointer(s)))
		return bpf_test_pointer(v, i, to);
	known = !(i->code & BPF_X) || bpf_is_const(s);
	k = i->code & BPF_X ? s->low : (uint64_t)(int64_t)i->imm;
	learn = known && BPF_CLASS(i->code) == BPF_JMP &&
		!(i->code & BPF_X && BPF_DST(i) == BPF_SRC(i));
	if (!learn) {
		bpf_flow_jump(v, v->now, to);
		return 0;
	}
	if (bpf_narrow(d, op, k))
		bpf_flow_jump(v, v->now, to);
	*d = old;
	v->reached = bpf_narrow(d, bpf_opposite(op), k);
	return 0;
}

/* ---- all of it ---- */

static int bpf_step(struct bpf_verifier *v, const struct bpf_insn *i)
{
	struct bpf_reg *d = &v->now->regs[BPF_DST(i)];

	switch (BPF_CLASS(i->code)) {
	case BPF_ALU:
	case BPF_ALU64: return fathom_bpf_alu(v, i);
	case BPF_LD:
		if (BPF_DST(i) == BPF_FP)
			return bpf_refuse(v, "the frame pointer cannot be changed");
		*d = bpf_number((uint32_t)i->imm | (uint64_t)(uint32_t)i[1].imm << 32,
				(uint32_t)i->imm | (uint64_t)(uint32_t)i[1].imm << 32);
		if (BPF_SRC(i) == BPF_PSEUDO_MAP) {
			d->kind = BPF_IS_MAP;
			d->map = (uint16_t)i->imm;
			d->low = d->high = 0;
		}
		return 0;
	case BPF_LDX:
		return BPF_DST(i) == BPF_FP ? bpf_refuse(v, "the frame pointer cannot be changed")
					    : fathom_bpf_load(v, i);
	case BPF_ST: return fathom_bpf_store(v, i);
	case BPF_STX:
		return BPF_MODE(i->code) == BPF_ATOMIC ? fathom_bpf_atomic(v, i)
						       : fathom_bpf_store(v, i);
	default: break;
	}
	if (BPF_OP(i->code) == BPF_CALL && BPF_CLASS(i->code) == BPF_JMP)
		return fathom_bpf_call(v, i);
	if (BPF_OP(i->code) == BPF_EXIT && BPF_CLASS(i->code) == BPF_JMP) {
		v->reached = 0;
		return v->now->regs[0].kind == BPF_IS_NUMBER
			       ? 0
			       : bpf_refuse(v, "the result in r0 is not a number");
	}
	return bpf_branch(v, i);
}

static void bpf_begin(struct bpf_verifier *v)
{
	uint32_t n;

	for (n = 0; n < BPF_NR_REGS; n++)
		v->now->regs[n] = bpf_nothing();
	for (n = 0; n < v->nr_slots; n++)
		v->now->slots[n] = (struct bpf_slot){0, 0, {0, 0, 0, 0, 0}};
	v->now->regs[1].kind = BPF_IS_CONTEXT;
	v->now->regs[BPF_FP].kind = BPF_IS_STACK;
	v->reached = 1;
}

/* From the first instruction to the last; states at jump targets take part as they are by then. */
static int bpf_pass(struct bpf_verifier *v)
{
	const struct bpf_insn *i;
	int err;

	bpf_begin(v);
	for (v->at = 0; v->at < v->in->nr; v->at += 1 + bpf_is_wide(i)) {
		i = &v->in->code[v->at];
		if (v->label[v->at]) {
			if (v->reached)
				bpf_flow(v, v->now, v->at, 0);
			v->reached = *bpf_arrived(v, v->at);
			if (v->reached)
				bpf_copy_state(v, v->now, bpf_state_at(v, v->at));
		}
		if (!v->reached)
			continue;
		err = bpf_step(v, i);
		if (err)
			return err;
	}
	return v->reached ? bpf_refuse(v, "the program runs past its end") : 0;
}

/* Labels, two states, then as many states of jump targets as there is room for. */
static int bpf_see_divide(struct bpf_verifier *v)
{
	const struct bpf_subject *in = v->in;
	uint32_t labels = (in->nr * 2 + 7) & ~7u, i;
	uint8_t *scratch = in->scratch;

	v->nr_slots = in->stack_bytes / 8;
	v->state_bytes =
		(uint32_t)(sizeof(struct bpf_state) + v->nr_slots * sizeof(struct bpf_slot));
	if (in->scratch_bytes < labels + 2 * v->state_bytes)
		return -BPF_ENOMEM_;
	v->label = (uint16_t *)(void *)scratch;
	v->now = (struct bpf_state *)(void *)(scratch + labels);
	v->other = (struct bpf_state *)(void *)(scratch + labels + v->state_bytes);
	v->states = scratch + labels + 2 * v->state_bytes;
	v->room_states = (in->scratch_bytes - labels - 2 * v->state_bytes) / (v->state_bytes + 8);
	for (i = 0; i < in->nr; i++)
		v->label[i] = 0;
	return 0;
}

#define BPF_PASSES_MAX 4096u /* a state grows a few times at each of its registers and slots */

int fathom_bpf_verify(const struct bpf_subject *in, struct bpf_verdict *out)
{
	struct bpf_verifier v = {.in = in, .out = out};
	uint32_t i;
	int err;

	out->at = 0;
	out->why = "";
	if (!in->nr || in->nr > 65536)
		return bpf_refuse(&v, "a program has 1 to 65536 instructions");
	if (in->stack_bytes > BPF_STACK_BYTES || in->stack_bytes & 7)
		return bpf_refuse(&v, "the stack has at most 512 bytes, in words of 8");
	err = bpf_see_divide(&v);
	if (!err)
		err = fathom_bpf_form(&v);
	for (i = 0; i < in->nr && !err; i++)
		if (v.label[i])
			*bpf_arrived(&v, i) = 0;
	for (i = 0, v.again = 1; !err && v.again && i < BPF_PASSES_MAX; i++) {
		v.again = 0;
		err = bpf_pass(&v);
	}
	return !err && v.again
		       ? bpf_refuse(&v, "the program's loops are too involved to be followed")
		       : err;
}
