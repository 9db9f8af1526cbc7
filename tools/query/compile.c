/* SPDX-License-Identifier: MIT */
/* compile.c -- C expressions to bytecode: binary operators by their rank, `?:`, constants. Recursion is bounded by EXPR_DEPTH_MAX. */
#include "query/compile.h"

struct binary {
	uint32_t punct;
	uint8_t op;
	uint8_t level; /* binds tighter the higher */
};

static const struct binary binaries[] = {
	{PUNCT2('|', '|'), OP_BOOL, 1},
	{PUNCT2('&', '&'), OP_BOOL, 2},
	{'|', OP_OR, 3},
	{'^', OP_XOR, 4},
	{'&', OP_AND, 5},
	{PUNCT2('=', '='), OP_EQ, 6},
	{PUNCT2('!', '='), OP_NE, 6},
	{'<', OP_LT, 7},
	{'>', OP_GT, 7},
	{PUNCT2('<', '='), OP_LE, 7},
	{PUNCT2('>', '='), OP_GE, 7},
	{PUNCT2('<', '<'), OP_SHL, 8},
	{PUNCT2('>', '>'), OP_SHR, 8},
	{'+', OP_ADD, 9},
	{'-', OP_SUB, 9},
	{'*', OP_MUL, 10},
	{'/', OP_DIV, 10},
	{'%', OP_MOD, 10},
};

static const struct binary *binary_at(const struct token *t)
{
	if (t->kind == TOKEN_PUNCT)
		for (size_t i = 0; i < sizeof(binaries) / sizeof(binaries[0]); i++)
			if (binaries[i].punct == t->punct)
				return &binaries[i];
	return NULL;
}

static bool compile_binary(struct compiler *c, uint8_t *type, unsigned level);

/* && and || run the right side only if it matters, and give 0 or 1. */
static bool compile_logical(struct compiler *c, const struct binary *b)
{
	bool is_or = b->level == 1;
	uint32_t skip, end;
	uint8_t right;

	skip = emit(c, (struct insn){is_or ? OP_JUMP_IF_SET : OP_JUMP_IF_ZERO, 0, 0, 0, 0}, 1, 0);
	if (!compile_binary(c, &right, b->level + 1u))
		return false;
	emit(c, (struct insn){OP_BOOL, 0, 0, 0, 0}, 1, 1);
	end = emit(c, (struct insn){OP_JUMP, 0, 0, 0, 0}, 1, 0);
	if (c->failed)
		return false;
	c->p->code[skip].c = c->p->nr_code;
	emit(c, (struct insn){OP_CONST, 0, 0, 0, is_or}, 0, 1);
	if (c->failed)
		return false;
	c->p->code[end].c = c->p->nr_code;
	return true;
}

static bool compile_binary(struct compiler *c, uint8_t *type, unsigned level)
{
	const struct binary *b;

	if (!compile_unary(c, type))
		return false;
	while (!c->failed && (b = binary_at(&c->t)) && b->level >= level) {
		uint8_t right, common;

		compiler_advance(c);
		if (b->op == OP_BOOL) {
			if (!compile_logical(c, b))
				return false;
			*type = TYPE_INT;
			continue;
		}
		if (!compile_binary(c, &right, b->level + 1u))
			return false;
		if (b->op == OP_ADD && *type & TYPE_BYTES && !(right & TYPE_BYTES)) {
			emit(c, (struct insn){OP_BYTES_AT, *type, 0, 0, 0}, 2, 1);
			continue; /* a pointer into the array: what follows it */
		}
		common = type_common(type_promote(*type), type_promote(right));
		if (b->op == OP_SHL || b->op == OP_SHR)
			common = type_promote(*type);
		emit(c, (struct insn){b->op, common, 0, 0, 0}, 2, 1);
		*type = b->op >= OP_EQ && b->op <= OP_GE ? TYPE_INT : common;
	}
	return !c->failed;
}

static bool compile_ternary(struct compiler *c, uint8_t *type)
{
	uint32_t skip, end;
	uint8_t no;

	compiler_advance(c);
	skip = emit(c, (struct insn){OP_JUMP_IF_ZERO, 0, 0, 0, 0}, 1, 0);
	if (!compile_expr(c, type) || !compiler_expect(c, ':'))
		return false;
	end = emit(c, (struct insn){OP_JUMP, 0, 0, 0, 0}, 1, 0);
	if (c->failed)
		return false;
	c->p->code[skip].c = c->p->nr_code;
	if (!compile_expr(c, &no))
		return false;
	c->p->code[end].c = c->p->nr_code;
	if ((*type ^ no) & TYPE_BYTES)
		*type = *type & TYPE_BYTES ? *type : no;
	else if (!(no & TYPE_BYTES))
		*type = (uint8_t)(type_common(*type, no) | ((*type | no) & TYPE_POINTER));
	return true;
}

bool compile_expr(struct compiler *c, uint8_t *type)
{
	bool ok;

	if (++c->depth > EXPR_DEPTH_MAX)
		return compiler_fail(c, "the expression is nested too deep");
	ok = compile_binary(c, type, 1);
	if (ok && token_is(&c->t, '?'))
		ok = compile_ternary(c, type);
	c->depth--;
	return ok && !c->failed;
}

bool compile_constant(struct compiler *c, uint64_t *value)
{
	struct expr_record none = {.data = (const uint8_t *)""};
	uint32_t begin = c->p->nr_code;
	struct value v;
	uint8_t type;

	if (!compile_expr(c, &type))
		return false;
	none.env = &(const struct expr_env){0};
	v = expr_run(c->p, begin, c->p->nr_code, &none);
	c->p->nr_code = begin;
	c->stack--;
	*value = v.n;
	return true;
}
