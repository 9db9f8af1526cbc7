/* SPDX-License-Identifier: MIT */
/* bpf_verify.c -- prove that an eBPF program ends, and touches only what it may. */
#include "wire/cold.h"

#include "wire/bpf.h"
#include "wire/div.h"

/*
 * The program is run with sets of values instead of values. A register is nothing yet, a number between two bounds, or a
 * pointer into one of four kinds of memory at an offset between two bounds. Where ways through the program meet (at the
 * target of a jump) the sets are joined, so the work does not grow with the number of ways.
 *
 *   V1  Jumps go forward, except to a BPF_MAY_GOTO: every loop passes one, and a run takes each only so many times. What
 *       remains without those is a straight line, so every run ends.
 *   V2  The state kept at a jump target covers every state that arrives there. A state that grows is walked again; what
 *       grows by a jump back is widened to "any number", so it can grow only a few times.
 *   V3  A pointer is never stored where the program could read it as a number, nor returned, nor changed but by adding a
 *       bounded number: a program cannot make up an address, nor tell one.
 *   V4  Memory is read only after it was written, on the stack byte by byte.
 */

#define BPF_EINVAL_ 22
#define BPF_ENOMEM_ 12

enum bpf_kind {
	BPF_IS_NOTHING, /* never written, or different things on different ways */
	BPF_IS_NUMBER,
	BPF_IS_STACK, /* fp + [low, high] */
	BPF_IS_CONTEXT,
	BPF_IS_VALUE,	 /* of a map, at [low, high] */
	BPF_IS_MAY_NULL, /* BPF_IS_VALUE at 0, or 0: the result of a lookup */
	BPF_IS_MAP,
};

struct bpf_reg {
	uint8_t kind;
	uint16_t map;
	uint32_t
		id; /* of BPF_IS_MAY_NULL: the same for copies, so that a test of one is a test of all */
	uint64_t low, high; /* BPF_IS_NUMBER: unsigned bounds; pointers: signed offsets */
};

struct bpf_slot {
	uint8_t written; /* a bit per byte, when it is not a whole register */
	uint8_t whole;	 /* holds `reg` */
	struct bpf_reg reg;
};

struct bpf_state {
	struct bpf_reg regs[BPF_NR_REGS];
	struct bpf_slot slots[]; /* from the lowest; verifier.nr_slots */
};

struct bpf_verifier {
	const struct bpf_subject *in;
	struct bpf_verdict *out;
	uint32_t at;
	uint32_t nr_slots, state_bytes;
	struct bpf_state *now,
		*other;	 /* of the instruction at hand; of the other way out of a test */
	int reached;	 /* `now` is a state that can be */
	uint16_t *label; /* per instruction: 1 + number of its state, 0: not a jump target */
	uint8_t *states; /* each: one byte that says that something is in it, 7 unused, the state */
	uint32_t nr_states, room_states;
	int again; /* a state before the instruction at hand has grown */
};

static int bpf_refuse(struct bpf_verifier *v, const char *why)
{
	v->out->at = v->at;
	v->out->why = why;
	return -BPF_EINVAL_;
}

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

static struct bpf_reg bpf_number(uint64_t low, uint64_t high)
{
	struct bpf_reg r = {BPF_IS_NUMBER, 0, 0, low, high};

	return r;
}

static struct bpf_reg bpf_any_number(void)
{
	return bpf_number(0, UINT64_MAX);
}

static struct bpf_reg bpf_nothing(void)
{
	struct bpf_reg r = {BPF_IS_NOTHING, 0, 0, 0, 0};

	return r;
}

static int bpf_is_pointer(const struct bpf_reg *r)
{
	return r->kind > BPF_IS_NUMBER;
}

static int bpf_is_const(const struct bpf_reg *r)
{
	return r->kind == BPF_IS_NUMBER && r->low == r->high;
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

/* ---- form: what can be seen without running ---- */

static int bpf_is_wide(const struct bpf_insn *i)
{
	return i->code == BPF_LD_IMM64;
}

static int64_t bpf_target_of(const struct bpf_insn *i, uint32_t at)
{
	return (int64_t)at + 1 + (i->code == (BPF_JMP32 | BPF_JA) ? i->imm : i->off);
}

static int bpf_form_alu(struct bpf_verifier *v, const struct bpf_insn *i)
{
	int op = BPF_OP(i->code), wide = BPF_CLASS(i->code) == BPF_ALU64, reg = i->code & BPF_X;

	if (op > BPF_END)
		return bpf_refuse(v, "unknown operation");
	if (op == BPF_END)
		return (i->imm != 16 && i->imm != 32 && i->imm != 64) || (wide && reg) || i->off ||
				       BPF_SRC(i)
			       ? bpf_refuse(v, "byte swap of an unknown width")
			       : 0;
	if (op == BPF_NEG)
		return reg || i->off || i->imm || BPF_SRC(i)
			       ? bpf_refuse(v, "unused fields are not zero")
			       : 0;
	if (op == BPF_MOV && i->off &&
	    (!reg || (i->off != 8 && i->off != 16 && i->off != 32) || (!wide && i->off == 32)))
		return bpf_refuse(v, "sign extension from an unknown width");
	if ((op == BPF_DIV || op == BPF_MOD) && i->off != 0 && i->off != 1)
		return bpf_refuse(v, "division of an unknown kind");
	if (op != BPF_MOV && op != BPF_DIV && op != BPF_MOD && i->off)
		return bpf_refuse(v, "unused fields are not zero");
	if (reg ? i->imm : BPF_SRC(i))
		return bpf_refuse(v, "unused fields are not zero");
	if (!reg && (op == BPF_DIV || op == BPF_MOD) && !i->imm)
		return bpf_refuse(v, "division by zero");
	if (!reg && (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH) &&
	    (uint32_t)i->imm >= (wide ? 64u : 32u))
		return bpf_refuse(v, "shift by more than the width");
	return 0;
}

static int bpf_form_jump(struct bpf_verifier *v, const struct bpf_insn *i)
{
	int op = BPF_OP(i->code), reg = i->code & BPF_X;
	int64_t to;

	if (op == BPF_CALL)
		return i->code != (BPF_JMP | BPF_CALL) || i->regs || i->off
			       ? bpf_refuse(v, "call of an unknown kind")
			       : 0;
	if (op == BPF_EXIT)
		return i->code != (BPF_JMP | BPF_EXIT) || i->regs || i->off || i->imm
			       ? bpf_refuse(v, "unused fields are not zero")
			       : 0;
	if (i->code == BPF_MAY_GOTO) {
		if (i->regs || i->imm)
			return bpf_refuse(v, "unused fields are not zero");
	} else if (op > BPF_JSLE) {
		return bpf_refuse(v, "unknown jump");
	} else if (op == BPF_JA) {
		if (reg || i->regs || (BPF_CLASS(i->code) == BPF_JMP ? i->imm != 0 : i->off != 0))
			return bpf_refuse(v, "unused fields are not zero");
	} else if (reg ? i->imm : BPF_SRC(i)) {
		return bpf_refuse(v, "unused fields are not zero");
	}
	to = bpf_target_of(i, v->at);
	if (to < 0 || to >= v->in->nr)
		return bpf_refuse(v, "jump out of the program");
	if (to && bpf_is_wide(&v->in->code[to - 1]))
		return bpf_refuse(v, "jump into the middle of an instruction");
	if (to <= v->at && v->in->code[to].code != BPF_MAY_GOTO)
		return bpf_refuse(v, "loop without may_goto: it cannot be shown to end");
	if (!v->label[to]) {
		if (v->nr_states == v->room_states || v->nr_states == UINT16_MAX - 1u)
			return -BPF_ENOMEM_;
		v->label[to] = (uint16_t)++v->nr_states;
	}
	return 0;
}

static int bpf_form_memory(struct bpf_verifier *v, const struct bpf_insn *i)
{
	int class = BPF_CLASS(i->code), mode = BPF_MODE(i->code), size = BPF_SIZE(i->code);

	if (class == BPF_STX && mode == BPF_ATOMIC) {
		int op = i->imm & ~BPF_FETCH;

		if (size != BPF_W && size != BPF_DW)
			return bpf_refuse(v, "atomic operation of an unknown width");
		if (size == BPF_DW && sizeof(uintptr_t) < 8)
			return bpf_refuse(v, "this machine has no atomic operation of 64 bits");
		if (i->imm != BPF_XCHG && i->imm != BPF_CMPXCHG && op != BPF_ADD && op != BPF_OR &&
		    op != BPF_AND && op != BPF_XOR)
			return bpf_refuse(v, "unknown atomic operation");
		return 0;
	}
	if (mode != BPF_MEM && !(class == BPF_LDX && mode == BPF_MEMSX && size != BPF_DW))
		return bpf_refuse(v, "unknown kind of memory access");
	if (class == BPF_ST ? BPF_SRC(i) : i->imm)
		return bpf_refuse(v, "unused fields are not zero");
	return 0;
}

static int bpf_form_wide(struct bpf_verifier *v, const struct bpf_insn *i)
{
	if (v->at + 1 >= v->in->nr || i[1].code || i[1].regs || i[1].off || i->off)
		return bpf_refuse(v, "half of a wide instruction");
	if (BPF_SRC(i) == BPF_PSEUDO_NUMBER)
		return 0;
	if (BPF_SRC(i) != BPF_PSEUDO_MAP || i[1].imm || (uint32_t)i->imm >= v->in->nr_maps)
		return bpf_refuse(v, "no such map");
	return 0;
}

static int bpf_form(struct bpf_verifier *v)
{
	const struct bpf_insn *i;
	int err = 0;

	for (v->at = 0; v->at < v->in->nr && !err; v->at += 1 + bpf_is_wide(i)) {
		i = &v->in->code[v->at];
		if (BPF_DST(i) >= BPF_NR_REGS || (BPF_SRC(i) >= BPF_NR_REGS))
			return bpf_refuse(v, "no such register");
		switch (BPF_CLASS(i->code)) {
		case BPF_ALU:
		case BPF_ALU64: err = bpf_form_alu(v, i); break;
		case BPF_JMP:
		case BPF_JMP32: err = bpf_form_jump(v, i); break;
		case BPF_LD:
			err = bpf_is_wide(i) ? bpf_form_wide(v, i) : bpf_refuse(v, "unknown load");
			break;
		default: err = bpf_form_memory(v, i);
		}
		if (err)
			return err;
	}
	return 0;
}

/* ---- memory ---- */

static uint32_t bpf_bytes_of(uint8_t code)
{
	switch (BPF_SIZE(code)) {
	case BPF_B: return 1;
	case BPF_H: return 2;
	case BPF_W: return 4;
	default: return 8;
	}
}

/* Is [low, high + bytes) of the pointer inside its memory? */
static int bpf_inside(struct bpf_verifier *v, const struct bpf_reg *r, int64_t low, int64_t high,
		      uint64_t bytes, int write)
{
	switch (r->kind) {
	case BPF_IS_STACK:
		return low < -(int64_t)v->in->stack_bytes || high + (int64_t)bytes > 0
			       ? bpf_refuse(v, "outside the stack")
			       : 0;
	case BPF_IS_VALUE:
		return low < 0 || (uint64_t)high + bytes > v->in->maps[r->map].value_bytes
			       ? bpf_refuse(v, "outside the value of the map")
			       : 0;
	case BPF_IS_CONTEXT:
		if (write)
			return bpf_refuse(v, "the context is read only");
		return low < 0 || (uint64_t)high + bytes > v->in->context_bytes
			       ? bpf_refuse(v, "outside the context")
			       : 0;
	case BPF_IS_MAY_NULL:
		return bpf_refuse(v, "the result of a lookup is used before it is compared with 0");
	case BPF_IS_NOTHING: return bpf_refuse(v, "register is not initialised");
	default: return bpf_refuse(v, "not a pointer");
	}
}

static struct bpf_slot *bpf_slot_at(struct bpf_verifier *v, int64_t off)
{
	return &v->now->slots[(uint64_t)(off + v->in->stack_bytes) / 8];
}

static int bpf_byte_is_written(struct bpf_verifier *v, int64_t off)
{
	struct bpf_slot *s = bpf_slot_at(v, off);

	if (s->whole)
		return !bpf_is_pointer(&s->reg);
	return s->written >> ((uint64_t)off & 7) & 1;
}

static int bpf_stack_is_written(struct bpf_verifier *v, int64_t low, int64_t end)
{
	for (; low < end; low++)
		if (!bpf_byte_is_written(v, low))
			return bpf_refuse(v, "stack is read before it is written");
	return 0;
}

/* Bytes become numbers of some value. If it is not sure which (`maybe`), what was not written stays so. */
static void bpf_stack_write(struct bpf_verifier *v, int64_t low, int64_t end, int maybe)
{
	for (; low < end; low++) {
		struct bpf_slot *s = bpf_slot_at(v, low);
		uint8_t bit = (uint8_t)(1u << ((uint64_t)low & 7));

		if (s->whole) {
			s->written = bpf_is_pointer(&s->reg) ? 0 : 0xff;
			s->whole = 0;
		}
		if (!maybe)
			s->written |= bit;
	}
}

/* Stack, context or value: [off, off + bytes) of the register may be read (and is numbers) or written. */
static int bpf_touch(struct bpf_verifier *v, const struct bpf_reg *r, int64_t off, uint64_t bytes,
		     int write)
{
	int64_t low = (int64_t)r->low + off, high = (int64_t)r->high + off;
	int err = bpf_inside(v, r, low, high, bytes, write);

	if (err || r->kind != BPF_IS_STACK)
		return err;
	if (!write)
		return bpf_stack_is_written(v, low, high + (int64_t)bytes);
	bpf_stack_write(v, low, high + (int64_t)bytes, low != high);
	return 0;
}

static int bpf_load(struct bpf_verifier *v, const struct bpf_insn *i)
{
	struct bpf_reg *r = &v->now->regs[BPF_SRC(i)], *d = &v->now->regs[BPF_DST(i)];
	uint32_t bytes = bpf_bytes_of(i->code);
	int64_t off = (int64_t)r->low + i->off;
	int err;

	if (r->kind == BPF_IS_STACK && r->low == r->high && bytes == 8 && !(off & 7) &&
	    off >= -(int64_t)v->in->stack_bytes && off <= -8 && bpf_slot_at(v, off)->whole) {
		*d = bpf_slot_at(v, off)->reg;
		return 0;
	}
	err = bpf_touch(v, r, i->off, bytes, 0);
	if (err)
		return err;
	*d = bytes == 8 || BPF_MODE(i->code) == BPF_MEMSX
		     ? bpf_any_number()
		     : bpf_number(0, wire_shl(1, bytes * 8) - 1);
	return 0;
}

static int bpf_store(struct bpf_verifier *v, const struct bpf_insn *i)
{
	struct bpf_reg *r = &v->now->regs[BPF_DST(i)], *s = &v->now->regs[BPF_SRC(i)];
	struct bpf_reg imm = bpf_number((uint64_t)(int64_t)i->imm, (uint64_t)(int64_t)i->imm);
	uint32_t bytes = bpf_bytes_of(i->code);
	int64_t off = (int64_t)r->low + i->off;
	int whole, err;

	if (BPF_CLASS(i->code) == BPF_ST)
		s = &imm;
	if (s->kind == BPF_IS_NOTHING)
		return bpf_refuse(v, "register is not initialised");
	whole = r->kind == BPF_IS_STACK && r->low == r->high && bytes == 8 && !(off & 7);
	if (bpf_is_pointer(s) && !whole)
		return bpf_refuse(v, "a pointer can be kept only on the stack, as a whole");
	err = bpf_touch(v, r, i->off, bytes, 1);
	if (!err && whole) {
		bpf_slot_at(v, off)->whole = 1;
		bpf_slot_at(v, off)->reg = *s;
	}
	return err;
}

static int bpf_see_atomic(struct bpf_verifier *v, const struct bpf_insn *i)
{
	struct bpf_reg *r = &v->now->regs[BPF_DST(i)], *s = &v->now->regs[BPF_SRC(i)];
	uint32_t bytes = bpf_bytes_of(i->code);
	int err;

	if (s->kind != BPF_IS_NUMBER ||
	    (i->imm == BPF_CMPXCHG && v->now->regs[0].kind != BPF_IS_NUMBER))
		return bpf_refuse(v, "an atomic operation takes numbers");
	if (r->low != r->high || ((uint64_t)i->off + r->low) % bytes)
		return bpf_refuse(v, "an atomic operation is not aligned");
	err = bpf_touch(v, r, i->off, bytes, 0);
	if (!err)
		err = bpf_touch(v, r, i->off, bytes, 1);
	if (i->imm == BPF_CMPXCHG)
		v->now->regs[0] = bpf_any_number();
	else if (i->imm & BPF_FETCH)
		*s = bpf_any_number();
	return err;
}

/* ---- arithmetic ---- */

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

static int bpf_alu(struct bpf_verifier *v, const struct bpf_insn *i)
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

/* ---- calls ---- */

enum bpf_argument {
	BPF_ARG_NONE,
	BPF_ARG_NUMBER,
	BPF_ARG_CONTEXT,
	BPF_ARG_MAP,
	BPF_ARG_KEY,   /* of the map before it */
	BPF_ARG_VALUE, /* of the map before it */
	BPF_ARG_READ,  /* as many bytes as the next BPF_ARG_BYTES says */
	BPF_ARG_WRITE,
	BPF_ARG_BYTES,
};

#define BPF_KEYED (uint16_t) ~(1u << BPF_MAP_RING)
#define BPF_SUMS                                                           \
	(1u << BPF_MAP_COUNTS | 1u << BPF_MAP_HASH | 1u << BPF_MAP_ARRAY | \
	 1u << BPF_MAP_PERCPU_HASH | 1u << BPF_MAP_PERCPU_ARRAY)
#define BPF_HISTS (1u << BPF_MAP_LOG2 | 1u << BPF_MAP_LINEAR)

static const struct {
	uint16_t helper;
	uint16_t kinds; /* of maps that it takes: a bit each */
	uint8_t args[5];
} bpf_helpers[] = {
	{BPF_MAP_LOOKUP, BPF_KEYED, {BPF_ARG_MAP, BPF_ARG_KEY}},
	{BPF_MAP_UPDATE, BPF_KEYED, {BPF_ARG_MAP, BPF_ARG_KEY, BPF_ARG_VALUE, BPF_ARG_NUMBER}},
	{BPF_MAP_DELETE, BPF_KEYED, {BPF_ARG_MAP, BPF_ARG_KEY}},
	{BPF_KTIME_NS, 0, {0}},
	{BPF_CPU, 0, {0}},
	{BPF_PID_TGID, 0, {0}},
	{BPF_TID, 0, {0}},
	{BPF_COMM, 0, {BPF_ARG_WRITE, BPF_ARG_BYTES}},
	{BPF_STACK_ID, 0, {BPF_ARG_CONTEXT, BPF_ARG_NUMBER, BPF_ARG_NUMBER}},
	{BPF_RING_OUTPUT,
	 1u << BPF_MAP_RING,
	 {BPF_ARG_MAP, BPF_ARG_READ, BPF_ARG_BYTES, BPF_ARG_NUMBER}},
	{BPF_MAP_ADD, BPF_SUMS, {BPF_ARG_MAP, BPF_ARG_KEY, BPF_ARG_NUMBER}},
	{BPF_MAP_NOTE, 1u << BPF_MAP_NOTES, {BPF_ARG_MAP, BPF_ARG_KEY, BPF_ARG_NUMBER}},
	{BPF_MAP_HIST, BPF_HISTS, {BPF_ARG_MAP, BPF_ARG_KEY, BPF_ARG_NUMBER}},
	{BPF_FIELD_STR,
	 0,
	 {BPF_ARG_CONTEXT, BPF_ARG_NUMBER, BPF_ARG_WRITE, BPF_ARG_BYTES, BPF_ARG_NUMBER}},
	{BPF_STR_DIFFER, 0, {BPF_ARG_READ, BPF_ARG_READ, BPF_ARG_BYTES}},
	{BPF_ELAPSED, 0, {0}},
	{BPF_PROBE_ID, 0, {0}},
	{BPF_EMIT, 0, {BPF_ARG_NUMBER, BPF_ARG_READ, BPF_ARG_BYTES}},
};

/* The bytes that argument n (BPF_ARG_READ, BPF_ARG_WRITE) must have: the bound of the next BPF_ARG_BYTES. */
static int bpf_argument_memory(struct bpf_verifier *v, const uint8_t *args, uint32_t n)
{
	struct bpf_reg *r = &v->now->regs[n + 1];
	uint32_t b = n;

	while (args[b] != BPF_ARG_BYTES)
		b++;
	if (v->now->regs[b + 1].kind != BPF_IS_NUMBER)
		return bpf_refuse(v, "a helper's number of bytes is not a number");
	if (v->now->regs[b + 1].high > 65536)
		return bpf_refuse(v, "a helper's number of bytes has no bound");
	if (!v->now->regs[b + 1].high)
		return 0;
	if (args[n] == BPF_ARG_WRITE && !bpf_is_const(&v->now->regs[b + 1]))
		return bpf_refuse(v, "a helper's number of bytes to write is not constant");
	return bpf_touch(v, r, 0, v->now->regs[b + 1].high, args[n] == BPF_ARG_WRITE);
}

static int bpf_argument(struct bpf_verifier *v, const uint8_t *args, uint32_t n, uint32_t kinds,
			uint32_t *map)
{
	struct bpf_reg *r = &v->now->regs[n + 1];

	if (r->kind == BPF_IS_NOTHING)
		return bpf_refuse(v, "a helper's argument is not initialised");
	switch (args[n]) {
	case BPF_ARG_NUMBER:
	case BPF_ARG_BYTES:
		return r->kind == BPF_IS_NUMBER
			       ? 0
			       : bpf_refuse(v, "a helper's argument is not a number");
	case BPF_ARG_CONTEXT:
		return r->kind == BPF_IS_CONTEXT && !r->low && !r->high
			       ? 0
			       : bpf_refuse(v, "a helper's argument is not the context");
	case BPF_ARG_MAP:
		*map = r->map;
		if (r->kind != BPF_IS_MAP)
			return bpf_refuse(v, "a helper's argument is not a map");
		return kinds >> v->in->maps[r->map].kind & 1 &&
				       (kinds != BPF_SUMS || v->in->maps[r->map].value_bytes >= 8)
			       ? 0
			       : bpf_refuse(v, "the helper does not work on this kind of map");
	case BPF_ARG_KEY:
		return v->in->maps[*map].key_bytes
			       ? bpf_touch(v, r, 0, v->in->maps[*map].key_bytes, 0)
			       : 0;
	case BPF_ARG_VALUE: return bpf_touch(v, r, 0, v->in->maps[*map].value_bytes, 0);
	default: return bpf_argument_memory(v, args, n);
	}
}

static int bpf_call(struct bpf_verifier *v, const struct bpf_insn *i)
{
	uint32_t h, n, map = 0, nr = sizeof(bpf_helpers) / sizeof(*bpf_helpers);
	struct bpf_reg *r = v->now->regs;
	int err;

	for (h = 0; h < nr && bpf_helpers[h].helper != (uint32_t)i->imm; h++)
		;
	if (h == nr)
		return bpf_refuse(v, "no such helper");
	for (n = 0; n < 5 && bpf_helpers[h].args[n]; n++) {
		err = bpf_argument(v, bpf_helpers[h].args, n, bpf_helpers[h].kinds, &map);
		if (err)
			return err;
	}
	for (n = 1; n <= 5; n++)
		r[n] = bpf_nothing();
	r[0] = bpf_any_number();
	if (bpf_helpers[h].helper == BPF_MAP_LOOKUP) {
		r[0].kind = BPF_IS_MAY_NULL;
		r[0].map = (uint16_t)map;
		r[0].id = v->at + 1;
		r[0].low = r[0].high = 0;
	}
	return 0;
}

/* ---- all of it ---- */

static int bpf_step(struct bpf_verifier *v, const struct bpf_insn *i)
{
	struct bpf_reg *d = &v->now->regs[BPF_DST(i)];

	switch (BPF_CLASS(i->code)) {
	case BPF_ALU:
	case BPF_ALU64: return bpf_alu(v, i);
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
					    : bpf_load(v, i);
	case BPF_ST: return bpf_store(v, i);
	case BPF_STX:
		return BPF_MODE(i->code) == BPF_ATOMIC ? bpf_see_atomic(v, i) : bpf_store(v, i);
	default: break;
	}
	if (BPF_OP(i->code) == BPF_CALL && BPF_CLASS(i->code) == BPF_JMP)
		return bpf_call(v, i);
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
		err = bpf_form(&v);
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
