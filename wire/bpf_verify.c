/* SPDX-License-Identifier: MIT */
/* bpf_verify.c -- prove that an eBPF program ends, and touches only what it may: states, jumps, passes. */
#include "wire/cold.h"

#include "wire/bpf_verify.h"

#define BPF_EINVAL_ 22
#define BPF_ENOMEM_ 12

/* ---- states ---- */

/* memcpy() and memset() are loops here: the library may be traced where its kernel's are. */
static void bpf_copy_state(const struct bpf_verifier *v, struct bpf_reg *to,
			   const struct bpf_reg *from)
{
	for (uint32_t i = 0; i < v->nr; i++)
		to[i] = from[i];
}

static struct bpf_reg *bpf_state_at(const struct bpf_verifier *v, uint32_t at)
{
	return v->states + (v->label[at] - 1u) * v->nr;
}

/* ---- joining ---- */

/* Make *to cover *with too; 1 if it grew. */
static int bpf_join(struct bpf_reg *to, const struct bpf_reg *with, int widen)
{
	uint8_t written = bpf_written(to) & bpf_written(with);
	int grew = 0;

	if (to->kind == with->kind && to->map == with->map && to->id == with->id) {
		if (with->low < to->low) {
			to->low = widen ? BPF_LEAST : with->low;
			grew = 1;
		}
		if (with->high > to->high) {
			to->high = widen ? BPF_MOST : with->high;
			grew = 1;
		}
		/* The offset of a pointer that changes with every turn has no bound. */
		if (!grew || !widen || !bpf_is_pointer(to))
			return grew;
	}
	grew = to->kind != BPF_IS_NOTHING || to->map != written;
	*to = (struct bpf_reg){.map = written};
	return grew;
}

/* The state flows from this instruction to one that is a jump target. */
static void bpf_flow(struct bpf_verifier *v, const struct bpf_reg *s, uint32_t to)
{
	struct bpf_reg *t = bpf_state_at(v, to);
	int grew = t[BPF_FP].kind == BPF_IS_NOTHING, back = (int32_t)to <= (int32_t)v->at;

	if (grew)
		bpf_copy_state(v, t, s);
	for (uint32_t i = 0; i < v->nr; i++)
		grew |= bpf_join(&t[i], &s[i], back);
	v->again |= grew && back;
}

/* ---- jumps ---- */

/*
 * Of the result of one lookup, in all places that hold it: it was found or not. They hold the result of the last turn: in a
 * loop, the state at its head covers the way that has not looked up yet, so nothing is known there of an earlier turn's.
 */
static void bpf_tell_null(struct bpf_verifier *v, struct bpf_reg *r, uint16_t id, int null)
{
	for (uint32_t i = 0; i < v->nr; i++, r++)
		if (r->kind == BPF_IS_MAY_NULL && r->id == id) {
			r->kind = null ? BPF_IS_NUMBER : BPF_IS_VALUE;
			r->map = null ? 0 : r->map;
			r->id = 0;
		}
}

/* What a test says of the number, by operation / 16. */
enum bpf_says {
	BPF_SAYS_EQUAL = 1,
	BPF_SAYS_DIFFERS = 2,
	BPF_SAYS_ABOVE = 4, /* or equal, unless it is strict */
	BPF_SAYS_BELOW = 8,
	BPF_SAYS_STRICT = 16,
	BPF_SAYS_SIGNED = 32,
};
static const uint8_t bpf_says[] = {
	[BPF_JEQ >> 4] = BPF_SAYS_EQUAL,
	[BPF_JNE >> 4] = BPF_SAYS_DIFFERS,
	[BPF_JGT >> 4] = BPF_SAYS_ABOVE | BPF_SAYS_STRICT,
	[BPF_JGE >> 4] = BPF_SAYS_ABOVE,
	[BPF_JLT >> 4] = BPF_SAYS_BELOW | BPF_SAYS_STRICT,
	[BPF_JLE >> 4] = BPF_SAYS_BELOW,
	[BPF_JSGT >> 4] = BPF_SAYS_ABOVE | BPF_SAYS_STRICT | BPF_SAYS_SIGNED,
	[BPF_JSGE >> 4] = BPF_SAYS_ABOVE | BPF_SAYS_SIGNED,
	[BPF_JSLT >> 4] = BPF_SAYS_BELOW | BPF_SAYS_STRICT | BPF_SAYS_SIGNED,
	[BPF_JSLE >> 4] = BPF_SAYS_BELOW | BPF_SAYS_SIGNED,
};

static uint32_t bpf_says_not(uint32_t says)
{
	if (says & (BPF_SAYS_EQUAL | BPF_SAYS_DIFFERS))
		return says ^ (BPF_SAYS_EQUAL | BPF_SAYS_DIFFERS);
	return says ? says ^ (BPF_SAYS_ABOVE | BPF_SAYS_BELOW | BPF_SAYS_STRICT) : 0;
}

/* Narrow the register by what a comparison with k says. 0: it cannot be. */
static int bpf_narrow(struct bpf_reg *r, uint32_t says, int32_t k)
{
	int32_t low = r->low, high = r->high, strict = says & BPF_SAYS_STRICT ? 1 : 0;

	if (says & BPF_SAYS_DIFFERS) {
		if (low == k)
			low++;
		else if (high == k)
			high--;
	}
	if (says & BPF_SAYS_EQUAL)
		says |= BPF_SAYS_ABOVE | BPF_SAYS_BELOW | BPF_SAYS_SIGNED;
	/* Without a sign, what is below 0 is above all others. */
	if (says & BPF_SAYS_BELOW && !(says & BPF_SAYS_SIGNED) && low < 0)
		low = 0;
	if (says & BPF_SAYS_ABOVE && k + strict > low && (says & BPF_SAYS_SIGNED || low >= 0))
		low = k + strict;
	if (says & BPF_SAYS_BELOW && k - strict < high)
		high = k - strict;
	r->low = low;
	r->high = high;
	return low <= high;
}

static const char *bpf_test_pointer(struct bpf_verifier *v, const struct bpf_insn *i, uint32_t to)
{
	struct bpf_reg *d = &v->now[BPF_DST(i)];
	int null_jumps = i->code == (BPF_JMP | BPF_JEQ);
	uint16_t id = d->id;

	if (i->imm || (!null_jumps && i->code != (BPF_JMP | BPF_JNE)))
		return "a pointer can only be compared with 0";
	if (d->kind != BPF_IS_MAY_NULL) { /* never 0 */
		if (!null_jumps)
			bpf_flow(v, v->now, to);
		v->reached = null_jumps;
		return 0;
	}
	bpf_copy_state(v, v->other, v->now);
	bpf_tell_null(v, v->other, id, null_jumps);
	bpf_flow(v, v->other, to);
	bpf_tell_null(v, v->now, id, !null_jumps);
	return 0;
}

static const char *bpf_branch(struct bpf_verifier *v, const struct bpf_insn *i)
{
	struct bpf_reg *d = &v->now[BPF_DST(i)], *s = &v->now[BPF_SRC(i)], old = *d, k;
	uint32_t to = (uint32_t)bpf_target_of(i, v->at), op = BPF_OP(i->code), says;

	fathom_bpf_const(&k, i->imm);
	if (i->code & BPF_X)
		k = *s;
	if (op == BPF_JA || i->code == BPF_MAY_GOTO) {
		bpf_flow(v, v->now, to);
		v->reached = op != BPF_JA;
		return 0;
	}
	if (d->kind == BPF_IS_NOTHING || k.kind == BPF_IS_NOTHING)
		return "register is not initialised";
	if (bpf_is_pointer(d) || bpf_is_pointer(&k))
		return bpf_test_pointer(v, i, to);
	/* Something is learnt from a constant that leaves room for one more; and of low halves that are the whole. */
	says = bpf_says[op >> 4];
	if (!bpf_is_const(&k) || k.low >= BPF_MOST - 1 || k.low <= BPF_LEAST + 1 ||
	    (i->code & BPF_X && d == s) ||
	    (k.low < 0 &&
	     (BPF_CLASS(i->code) == BPF_JMP32 ||
	      (says & (BPF_SAYS_ABOVE | BPF_SAYS_BELOW) && !(says & BPF_SAYS_SIGNED)))) ||
	    (BPF_CLASS(i->code) == BPF_JMP32 && (d->low < 0 || d->high == BPF_MOST)))
		says = 0;
	if (bpf_narrow(d, says, k.low))
		bpf_flow(v, v->now, to);
	*d = old;
	v->reached = bpf_narrow(d, bpf_says_not(says), k.low);
	return 0;
}

/* ---- all of it ---- */

static const char *bpf_step(struct bpf_verifier *v, const struct bpf_insn *i)
{
	uint32_t class = BPF_CLASS(i->code);
	struct bpf_reg *d = &v->now[BPF_DST(i)];

	if (class == BPF_JMP && BPF_OP(i->code) == BPF_CALL)
		return fathom_bpf_call(v, i);
	if (class == BPF_JMP && BPF_OP(i->code) == BPF_EXIT) {
		v->reached = 0;
		return v->now[0].kind == BPF_IS_NUMBER ? 0 : "the result in r0 is not a number";
	}
	if (class == BPF_JMP || class == BPF_JMP32)
		return bpf_branch(v, i);
	if (class == BPF_STX && BPF_MODE(i->code) == BPF_ATOMIC)
		return fathom_bpf_atomic(v, i);
	if (class == BPF_STX || class == BPF_ST)
		return fathom_bpf_store(v, i);
	if (BPF_DST(i) == BPF_FP)
		return "the frame pointer cannot be changed";
	if (class == BPF_LDX)
		return fathom_bpf_load(v, i);
	if (class != BPF_LD)
		return fathom_bpf_alu(v, i);
	if (BPF_SRC(i) == BPF_PSEUDO_MAP) {
		*d = (struct bpf_reg){.kind = BPF_IS_MAP, .map = (uint8_t)i->imm};
	} else {
		int64_t k = (int64_t)((uint32_t)i->imm | (uint64_t)(uint32_t)i[1].imm << 32);

		fathom_bpf_const(d, k);
	}
	return 0;
}

/* From the first instruction to the last; states at jump targets take part as they are by then. */
static const char *bpf_pass(struct bpf_verifier *v)
{
	const struct bpf_insn *i;
	const char *why = 0;
	uint32_t next = 0;

	for (uint32_t n = 0; n < v->nr; n++)
		v->now[n] = (struct bpf_reg){0};
	v->now[1].kind = BPF_IS_CONTEXT;
	v->now[BPF_FP].kind = BPF_IS_STACK;
	v->reached = 1;
	for (v->at = UINT32_MAX; next < v->in->nr && !why; next += 1 + bpf_is_wide(i)) {
		i = &v->in->code[next];
		if (v->label[next]) {
			if (v->reached)
				bpf_flow(v, v->now, next);
			bpf_copy_state(v, v->now, bpf_state_at(v, next));
			v->reached = v->now[BPF_FP].kind;
		}
		v->at = next;
		if (v->reached)
			why = bpf_step(v, i);
	}
	if (!v->reached || why)
		return why;
	v->at = next;
	return "the program runs past its end";
}

#define BPF_PASSES_MAX 4096u /* a state grows a few times at each of its registers and slots */

/* Scratch: labels, two states, then the states of jump targets. */
static const char *bpf_prove(struct bpf_verifier *v, int *err)
{
	const struct bpf_subject *in = v->in;
	uint32_t labels = (in->nr * 2 + 7) & ~7u, i;
	const char *why = 0;

	*err = -BPF_EINVAL_;
	if (!in->nr || in->nr > 65536)
		return "too many instructions, or none";
	if (in->nr_maps > 256)
		return "too many maps";
	if (in->stack_bytes > BPF_STACK_BYTES || in->stack_bytes & 7)
		return "wrong size of the stack";
	v->nr = BPF_NR_REGS + in->stack_bytes / 8;
	v->label = in->scratch;
	v->now = (struct bpf_reg *)(void *)((uint8_t *)in->scratch + labels);
	v->other = v->now + v->nr;
	v->states = v->other + v->nr;
	for (i = 0; i < in->nr && in->scratch_bytes >= labels; i++)
		v->label[i] = 0;
	if (in->scratch_bytes >= labels)
		why = fathom_bpf_form(v);
	if (!why && in->scratch_bytes < labels + (v->nr_states + 2) * v->nr * sizeof(*v->now)) {
		*err = -BPF_ENOMEM_;
		return "";
	}
	for (i = 0; i < v->nr_states && !why; i++)
		v->states[i * v->nr + BPF_FP].kind = BPF_IS_NOTHING;
	for (i = 0, v->again = 1; !why && v->again && i < BPF_PASSES_MAX; i++) {
		v->again = 0;
		why = bpf_pass(v);
	}
	if (why || v->again)
		return why ? why : "its loops are too involved";
	*err = 0;
	return "";
}

int fathom_bpf_verify(const struct bpf_subject *in, struct bpf_verdict *out)
{
	struct bpf_verifier v = {.in = in};
	int err;

	out->why = bpf_prove(&v, &err);
	out->at = v.at;
	return err;
}
