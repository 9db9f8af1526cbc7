/* SPDX-License-Identifier: MIT */
/* bpf_form.c -- the verifier: what can be seen of a program without running it. */
#include "wire/cold.h"

#include "wire/bpf_verify.h"

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

int fathom_bpf_form(struct bpf_verifier *v)
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
