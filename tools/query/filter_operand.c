/* SPDX-License-Identifier: MIT */
/* filter_operand.c -- what a filter compares: fields, elements, numbers, arithmetic. */
#include "query/filter_int.h"

/* Names that every event has. */
static bool context_name(struct compiler *c, const struct token *t, struct operand *o)
{
	static const struct {
		const char *name;
		uint8_t op, type;
	} names[] = {
		{"CPU", OP_CPU, TYPE_U32},	 {"PID", OP_PID, TYPE_INT},
		{"COMM", OP_COMM, TYPE_STRING},	 {"TIME", OP_TIME, TYPE_U64},
		{"EVENT", OP_NAME, TYPE_STRING}, {"cpu", OP_CPU, TYPE_U32},
		{"pid", OP_PID, TYPE_INT},	 {"comm", OP_COMM, TYPE_STRING},
		{"event", OP_NAME, TYPE_STRING},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (token_word(t, names[i].name)) {
			emit(c, (struct insn){names[i].op, 0, 0, 0, 0}, 0, 1);
			o->type = names[i].type;
			o->text = (o->type & TYPE_BYTES) != 0;
			return true;
		}
	return false;
}

static void note_missing(struct compiler *c, const struct token *name)
{
	struct missing_names *m = c->missing;

	if (!m || m->nr == sizeof(m->name) / sizeof(m->name[0]))
		return;
	m->name[m->nr].at = (uint32_t)(name->at - c->lex.begin);
	m->name[m->nr++].len = name->len;
}

static bool primary(struct compiler *c, struct operand *o);

/* field, field[3], a number, (arithmetic), -x, ~x. */
static bool named(struct compiler *c, struct operand *o)
{
	const struct format_field *f = compile_find_field(c, &c->t);
	struct token name = c->t;

	compiler_advance(c);
	if (f) {
		if (!compile_field(c, f, &o->type))
			return false;
		o->text = (o->type & TYPE_BYTES) != 0;
	} else if (!context_name(c, &name, o)) {
		note_missing(c, &name);
		o->missing = true;
		o->type = TYPE_INT;
		emit(c, (struct insn){OP_CONST, 0, 0, 0, 0}, 0, 1);
	}
	/* As Linux writes it: ip.function == vfs_read, name.ustring == bash. */
	if (token_is(&c->t, '.')) {
		compiler_advance(c);
		o->symbol = token_word(&c->t, "function");
		if (!o->symbol && !token_word(&c->t, "ustring"))
			return compiler_fail(c, "expected .function or .ustring");
		compiler_advance(c);
	}
	if (token_is(&c->t, '[')) {
		struct operand index = {0};

		compiler_advance(c);
		if (!primary(c, &index) || !compiler_expect(c, ']'))
			return false;
		o->missing |= index.missing || !o->text;
		o->type &= TYPE_SIZE | TYPE_SIGNED;
		if (o->text)
			emit(c, (struct insn){OP_INDEX, o->type, 0, 0, 0}, 2, 1);
		else
			emit(c, (struct insn){OP_AND, TYPE_INT, 0, 0, 0}, 2, 1);
		o->text = false;
	}
	return !c->failed;
}

static bool arithmetic(struct compiler *c, struct operand *o, unsigned level);

static bool primary(struct compiler *c, struct operand *o)
{
	bool ok = true;

	if (++c->depth > EXPR_DEPTH_MAX)
		return compiler_fail(c, "the filter is nested too deep");
	if (c->t.kind == TOKEN_NUMBER) {
		o->type = c->t.number > INT64_MAX ? TYPE_U64 : TYPE_LONG;
		emit(c, (struct insn){OP_CONST, 0, 0, 0, c->t.number}, 0, 1);
		compiler_advance(c);
	} else if (c->t.kind == TOKEN_IDENT) {
		ok = named(c, o);
	} else if (token_is(&c->t, '-') || token_is(&c->t, '~')) {
		uint8_t op = token_is(&c->t, '-') ? OP_NEG : OP_NOT;

		compiler_advance(c);
		ok = primary(c, o);
		if (ok && o->text && !o->missing)
			ok = compiler_fail(c, "text cannot be used in a calculation");
		o->text = false;
		o->type = TYPE_LONG;
		emit(c, (struct insn){op, TYPE_LONG, 0, 0, 0}, 1, 1);
	} else if (token_is(&c->t, '(')) {
		compiler_advance(c);
		ok = arithmetic(c, o, 0) && compiler_expect(c, ')');
	} else {
		ok = compiler_fail(c, "expected a field, a number or a text");
	}
	c->depth--;
	return ok && !c->failed;
}

static const struct {
	uint32_t punct;
	uint8_t op, level;
} sums[] = {
	{'|', OP_OR, 1},
	{'^', OP_XOR, 2},
	{'&', OP_AND, 3},
	{PUNCT2('<', '<'), OP_SHL, 4},
	{PUNCT2('>', '>'), OP_SHR, 4},
	{'+', OP_ADD, 5},
	{'-', OP_SUB, 5},
	{'*', OP_MUL, 6},
	{'/', OP_DIV, 6},
	{'%', OP_MOD, 6},
};

static bool arithmetic(struct compiler *c, struct operand *o, unsigned level)
{
	if (!primary(c, o))
		return false;
	for (;;) {
		struct operand right = {0};
		size_t i = 0;

		while (i < sizeof(sums) / sizeof(sums[0]) && !token_is(&c->t, sums[i].punct))
			i++;
		if (i == sizeof(sums) / sizeof(sums[0]) || sums[i].level <= level)
			return !c->failed;
		compiler_advance(c);
		if (!arithmetic(c, &right, sums[i].level))
			return false;
		if ((o->text || right.text) && !o->missing && !right.missing)
			return compiler_fail(c, "text cannot be used in a calculation");
		o->missing |= right.missing;
		o->text = false;
		o->type = type_common(o->type, right.type);
		emit(c, (struct insn){sums[i].op, o->type, 0, 0, 0}, 2, 1);
	}
}

bool filter_operand(struct compiler *c, struct operand *o)
{
	return arithmetic(c, o, 0);
}
