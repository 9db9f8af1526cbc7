/* SPDX-License-Identifier: MIT */
/* listing.c -- the instructions of a compiled program, for people. */
#include "program/run.h"

static const char *const alu[] = {
	"+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "neg", "%=", "^=", "=", "s>>=", "swap"};
static const char *const jump[] = {"",	  "==", ">", ">=", "&",	 "!=", "s>",
				   "s>=", "",	"",  "<",  "<=", "s<", "s<="};
static const char *const size[] = {"u32", "u16", "u8", "u64"};

static void print_one(FILE *out, uint32_t at, const struct bpf_insn *i)
{
	int d = BPF_DST(i), s = BPF_SRC(i), op = BPF_OP(i->code) >> 4, class = BPF_CLASS(i->code);
	const char *width = size[BPF_SIZE(i->code) >> 3];

	fprintf(out, "%5u: ", at);
	if (i->code == BPF_LD_IMM64 && s == BPF_PSEUDO_MAP)
		fprintf(out, "r%d = map %d", d, i->imm);
	else if (i->code == BPF_LD_IMM64)
		fprintf(out, "r%d = 0x%llx", d,
			(unsigned long long)((uint32_t)i->imm | (uint64_t)(uint32_t)i[1].imm
									<< 32));
	else if (class == BPF_LDX)
		fprintf(out, "r%d = *(%s *)(r%d %+d)", d, width, s, i->off);
	else if (class == BPF_ST)
		fprintf(out, "*(%s *)(r%d %+d) = %d", width, d, i->off, i->imm);
	else if (class == BPF_STX)
		fprintf(out, "*(%s *)(r%d %+d) = r%d", width, d, i->off, s);
	else if (class == BPF_ALU || class == BPF_ALU64)
		fprintf(out, i->code & BPF_X ? "%s%d %s r%d" : "%s%d %s %d",
			class == BPF_ALU ? "w" : "r", d, alu[op], i->code & BPF_X ? s : i->imm);
	else if (BPF_OP(i->code) == BPF_CALL)
		fprintf(out, "call %d", i->imm);
	else if (BPF_OP(i->code) == BPF_EXIT)
		fputs("exit", out);
	else if (BPF_OP(i->code) == BPF_JA)
		fprintf(out, "goto %d", (int)at + 1 + i->off);
	else
		fprintf(out, i->code & BPF_X ? "if r%d %s r%d goto %d" : "if r%d %s %d goto %d", d,
			jump[op], i->code & BPF_X ? s : i->imm, (int)at + 1 + i->off);
	fputc('\n', out);
}

void listing_print(const struct generator *c, FILE *out)
{
	uint32_t i, k;

	for (i = 0; i < c->nr_probes; i++) {
		const struct probe *p = &c->probes[i];

		fprintf(out, "%s: %u instructions, %u bytes of stack\n", p->name, p->nr_code,
			p->stack_bytes);
		for (k = 0; k < p->nr_code; k++) {
			print_one(out, k, &p->code[k]);
			k += p->code[k].code == BPF_LD_IMM64;
		}
	}
}
