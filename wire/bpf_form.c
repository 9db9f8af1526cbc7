/* SPDX-License-Identifier: MIT */
/* bpf_form.c -- the verifier: what can be seen of a program without running it. */
#include "wire/cold.h"

#include "wire/bpf_verify.h"

static const char bpf_unused[] = "unused fields are not zero";

static const char *bpf_form_alu(const struct bpf_insn *i)
{
	uint32_t op = BPF_OP(i->code), wide = BPF_CLASS(i->code) == BPF_ALU64;
	uint32_t reg = i->code & BPF_X, bits = wide ? 64 : 32;
	uint32_t off = (uint16_t)i->off, imm = (uint32_t)i->imm;

	if (op > BPF_END)
		return "unknown operation";
	if (op == BPF_END)
		return (imm != 16 && imm != 32 && imm != 64) || (wide && reg) || off || BPF_SRC(i)
			       ? "unknown width"
			       : 0;
	if (op == BPF_MOV) {
		if (off && (!reg || (off != 8 && off != 16 && (off != 32 || !wide))))
			return "unknown width";
		off = 0;
	}
	if (op == BPF_DIV || op == BPF_MOD) {
		if (!reg && !imm)
			return "division by zero";
		off &= ~1u;
	}
	if (off || (reg ? imm : BPF_SRC(i)) || (op == BPF_NEG && (reg || imm)))
		return bpf_unused;
	if (!reg && (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH) && imm >= bits)
		return "shift by more than the width";
	return 0;
}

static const char *bpf_form_jump(struct bpf_verifier *v, const struct bpf_insn *i)
{
	uint32_t op = BPF_OP(i->code), reg = i->code & BPF_X;
	uint32_t narrow = BPF_CLASS(i->code) == BPF_JMP32;
	int64_t to;

	if (op == BPF_CALL || op == BPF_EXIT)
		return narrow || reg || i->regs || i->off || (op == BPF_EXIT && i->imm) ? bpf_unused
											: 0;
	if (op > BPF_JSLE && i->code != BPF_MAY_GOTO)
		return "unknown operation";
	if (op == BPF_JA || op > BPF_JSLE ? reg || i->regs || (narrow ? i->off : i->imm)
					  : (reg ? i->imm : BPF_SRC(i)))
		return bpf_unused;
	to = bpf_target_of(i, v->at);
	if (to < 0 || to >= v->in->nr)
		return "jump out of the program";
	if (to && bpf_is_wide(&v->in->code[to - 1]))
		return "jump into an instruction's middle";
	if (to <= v->at && v->in->code[to].code != BPF_MAY_GOTO)
		return "loop without may_goto";
	if (!v->label[to] && v->nr_states < UINT16_MAX)
		v->label[to] = (uint16_t)++v->nr_states;
	return 0;
}

static const char *bpf_form_memory(const struct bpf_insn *i)
{
	uint32_t class = BPF_CLASS(i->code), mode = BPF_MODE(i->code), size = BPF_SIZE(i->code);
	uint32_t op = (uint32_t)i->imm & ~(uint32_t)BPF_FETCH;

	if (class == BPF_STX && mode == BPF_ATOMIC) {
		if (size != BPF_W && size != BPF_DW)
			return "unknown width";
		if (size == BPF_DW && sizeof(uintptr_t) < 8)
			return "no 64-bit atomic operations here";
		return i->imm != BPF_XCHG && i->imm != BPF_CMPXCHG && op != BPF_ADD &&
				       op != BPF_OR && op != BPF_AND && op != BPF_XOR
			       ? "unknown operation"
			       : 0;
	}
	if (mode != BPF_MEM && !(class == BPF_LDX && mode == BPF_MEMSX && size != BPF_DW))
		return "unknown operation";
	return (class == BPF_ST ? BPF_SRC(i) : i->imm) ? bpf_unused : 0;
}

static const char *bpf_form_wide(const struct bpf_verifier *v, const struct bpf_insn *i)
{
	if (!bpf_is_wide(i))
		return "unknown operation";
	if (v->at + 1 >= v->in->nr || i[1].code || i[1].regs || i[1].off || i->off)
		return "half of a wide instruction";
	return BPF_SRC(i) && (BPF_SRC(i) != BPF_PSEUDO_MAP || i[1].imm ||
			      (uint32_t)i->imm >= v->in->nr_maps)
		       ? "no such map"
		       : 0;
}

const char *fathom_bpf_form(struct bpf_verifier *v)
{
	const struct bpf_insn *i;
	const char *why = 0;

	for (v->at = 0; v->at < v->in->nr; v->at += 1 + bpf_is_wide(i)) {
		i = &v->in->code[v->at];
		if (BPF_DST(i) >= BPF_NR_REGS || BPF_SRC(i) >= BPF_NR_REGS)
			return "no such register";
		switch (BPF_CLASS(i->code)) {
		case BPF_ALU:
		case BPF_ALU64: why = bpf_form_alu(i); break;
		case BPF_JMP:
		case BPF_JMP32: why = bpf_form_jump(v, i); break;
		case BPF_LD: why = bpf_form_wide(v, i); break;
		default: why = bpf_form_memory(i);
		}
		if (why)
			return why;
	}
	return 0;
}
