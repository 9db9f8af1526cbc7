/* SPDX-License-Identifier: MIT */
/* operands.c -- what operators stand between: fields, constants, casts, sizeof, elements, signs. */
#include "query/compile.h"

#include <string.h>

/* ---- fields ---- */

const struct format_field *compile_find_field(struct compiler *c, const struct token *t)
{
	char name[128];

	if (!c->format || t->kind != TOKEN_IDENT || t->len >= sizeof(name))
		return NULL;
	memcpy(name, t->at, t->len);
	name[t->len] = 0;
	for (uint32_t i = 0; i < c->format->nr_fields; i++)
		if (!strcmp(c->format->fields[i].name, name))
			return &c->format->fields[i];
	return NULL;
}

bool compile_field(struct compiler *c, const struct format_field *f, uint8_t *type)
{
	uint8_t sign = f->flags & FORMAT_SIGNED ? TYPE_SIGNED : 0;
	uint8_t elem =
		f->elem_size == 1 || f->elem_size == 2 || f->elem_size == 4 || f->elem_size == 8
			? (uint8_t)f->elem_size
			: 1;

	if (f->flags & FORMAT_DYNAMIC) {
		emit(c,
		     (struct insn){OP_DYNAMIC, 0, f->flags & FORMAT_REL_LOC ? 1 : 0, f->offset, 0},
		     0, 1);
		*type = (uint8_t)(elem | sign | TYPE_BYTES |
				  (f->flags & FORMAT_STRING ? TYPE_TEXT : 0));
	} else if (f->flags & FORMAT_ARRAY ||
		   (f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8)) {
		/* An open array runs to the end of the record. */
		emit(c, (struct insn){OP_BYTES, 0, 0, f->offset, f->size ? f->size : UINT32_MAX}, 0,
		     1);
		*type = (uint8_t)(elem | sign | TYPE_BYTES |
				  (f->flags & FORMAT_STRING ? TYPE_TEXT : 0));
	} else {
		*type = (uint8_t)(f->size | sign);
		emit(c, (struct insn){OP_LOAD, *type, 0, f->offset, 0}, 0, 1);
		if (f->flags & FORMAT_POINTER)
			*type |= TYPE_POINTER;
	}
	return !c->failed;
}

/* ---- primaries ---- */

static bool compile_rec(struct compiler *c, uint8_t *type)
{
	const struct format_field *f;

	if (!compiler_expect(c, PUNCT2('-', '>')))
		return false;
	f = compile_find_field(c, &c->t);
	if (!f)
		return compiler_fail(c, "the event has no such field");
	compiler_advance(c);
	return compile_field(c, f, type);
}

/* Constants of the kernel that formats name without giving their value; any other name counts as 0. */
static const struct {
	const char *name;
	uint32_t value;
	bool trace_cmd; /* libtraceevent knows it too */
} constants[] = {
	{"HI_SOFTIRQ", 0, true},
	{"TIMER_SOFTIRQ", 1, true},
	{"NET_TX_SOFTIRQ", 2, true},
	{"NET_RX_SOFTIRQ", 3, true},
	{"BLOCK_SOFTIRQ", 4, true},
	{"IRQ_POLL_SOFTIRQ", 5, true},
	{"TASKLET_SOFTIRQ", 6, true},
	{"SCHED_SOFTIRQ", 7, true},
	{"HRTIMER_SOFTIRQ", 8, true},
	{"RCU_SOFTIRQ", 9, true},
	{"HRTIMER_NORESTART", 0, true},
	{"HRTIMER_RESTART", 1, true},
	{"HRTIMER_MODE_ABS", 0, false},
	{"HRTIMER_MODE_REL", 1, false},
	{"HRTIMER_MODE_ABS_PINNED", 2, false},
	{"HRTIMER_MODE_REL_PINNED", 3, false},
	{"HRTIMER_MODE_ABS_SOFT", 4, false},
	{"HRTIMER_MODE_REL_SOFT", 5, false},
	{"HRTIMER_MODE_ABS_PINNED_SOFT", 6, false},
	{"HRTIMER_MODE_REL_PINNED_SOFT", 7, false},
	{"HRTIMER_MODE_ABS_HARD", 8, false},
	{"HRTIMER_MODE_REL_HARD", 9, false},
	{"HRTIMER_MODE_ABS_PINNED_HARD", 10, false},
	{"HRTIMER_MODE_REL_PINNED_HARD", 11, false},
	{"TCP_ESTABLISHED", 1, false},
	{"TCP_SYN_SENT", 2, false},
	{"TCP_SYN_RECV", 3, false},
	{"TCP_FIN_WAIT1", 4, false},
	{"TCP_FIN_WAIT2", 5, false},
	{"TCP_TIME_WAIT", 6, false},
	{"TCP_CLOSE", 7, false},
	{"TCP_CLOSE_WAIT", 8, false},
	{"TCP_LAST_ACK", 9, false},
	{"TCP_LISTEN", 10, false},
	{"TCP_CLOSING", 11, false},
	{"TCP_NEW_SYN_RECV", 12, false},
	{"DEV_PM_QOS_RESUME_LATENCY", 1, false},
	{"DEV_PM_QOS_FLAGS", 5, false},
	{"PM_QOS_UPDATE_REQ", 1, false},
	{"PM_QOS_REMOVE_REQ", 2, false},
	{"VMSCAN_THROTTLE_ISOLATED", 1, false},
	{"VMSCAN_THROTTLE_NOPROGRESS", 2, false},
	{"VMSCAN_THROTTLE_CONGESTED", 3, false},
	{"IOPRIO_CLASS_NONE", 0, false},
	{"IOPRIO_CLASS_RT", 1, false},
	{"IOPRIO_CLASS_BE", 2, false},
	{"IOPRIO_CLASS_IDLE", 3, false},
	{"IOPRIO_CLASS_INVALID", 7, false},
	/* Formats name them since they are an enumeration; these are its bits. */
	{"I_NEW", 1 << 0, false},
	{"I_SYNC", 1 << 1, false},
	{"I_LRU_ISOLATING", 1 << 2, false},
	{"I_DIRTY_SYNC", 1 << 4, false},
	{"I_DIRTY_DATASYNC", 1 << 5, false},
	{"I_DIRTY_PAGES", 1 << 6, false},
	{"I_WILL_FREE", 1 << 7, false},
	{"I_FREEING", 1 << 8, false},
	{"I_CLEAR", 1 << 9, false},
	{"I_REFERENCED", 1 << 10, false},
	{"I_LINKABLE", 1 << 11, false},
	{"I_DIRTY_TIME", 1 << 12, false},
	{"I_WB_SWITCH", 1 << 13, false},
	{"I_OVL_INUSE", 1 << 14, false},
	{"I_CREATING", 1 << 15, false},
	{"I_DONTCACHE", 1 << 16, false},
	{"I_SYNC_QUEUED", 1 << 17, false},
	{"I_PINNING_NETFS_WB", 1 << 18, false},
	{"DUMP_PREFIX_NONE", 0, true},
	{"DUMP_PREFIX_ADDRESS", 1, true},
	{"DUMP_PREFIX_OFFSET", 2, true},
	{"true", 1, false},
};

/*
 * A name that is a symbol: libtraceevent takes its address. That is right for the labels of the linker, which formats count
 * offsets from; the value of a variable such as jiffies is not in a trace.
 */
static bool symbol_address(const struct compiler *c, const struct token *t, uint64_t *address)
{
	char name[64];

	if (!c->env || !c->env->address || t->len >= sizeof(name))
		return false;
	if (!c->trace_cmd && !token_word(t, "_stext") && !token_word(t, "_text"))
		return false;
	memcpy(name, t->at, t->len);
	name[t->len] = 0;
	return c->env->address(c->env->arg, name, address);
}

/* What the kernel reads as it prints: the age of something is then that of the moment of printing. */
static bool is_variable(const struct token *t)
{
	return token_word(t, "jiffies") || token_word(t, "jiffies_64");
}

static uint64_t constant_value(const struct compiler *c, const struct token *t)
{
	uint64_t address;

	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
		if (token_word(t, constants[i].name) && (!c->trace_cmd || constants[i].trace_cmd))
			return constants[i].value;
	if (!c->in_table && symbol_address(c, t, &address))
		return address;
	/* An entry of a table whose value the trace does not give matches nothing: the number is shown. */
	return c->in_table ? UINT64_MAX : 0;
}

static bool compile_sizeof(struct compiler *c, uint8_t *type)
{
	uint32_t code = c->p->nr_code, stack = c->stack;
	bool aggregate;
	uint64_t size;
	uint8_t t;

	if (!compiler_expect(c, '('))
		return false;
	aggregate = token_word(&c->t, "struct") || token_word(&c->t, "union");
	if (compile_type(c, &t)) {
		if (aggregate && !(t & TYPE_POINTER))
			return compiler_fail(c, "the size of a struct is not known");
		size = t & TYPE_POINTER ? c->long_bytes : t & TYPE_SIZE;
	} else {
		if (!compile_expr(c, &t))
			return false;
		size = t & TYPE_SIZE;
		if (t & TYPE_BYTES && c->p->code[c->p->nr_code - 1].op == OP_BYTES)
			size = c->p->code[c->p->nr_code - 1].imm;
		/* Only its type was wanted. */
		c->p->nr_code = code;
		c->stack = stack;
	}
	emit(c, (struct insn){OP_CONST, 0, 0, 0, size}, 0, 1);
	*type = c->long_bytes;
	return compiler_expect(c, ')');
}

/* What a parenthesis holds: (REC), a cast, or an expression. */
static bool compile_paren(struct compiler *c, uint8_t *type)
{
	uint8_t cast;

	compiler_advance(c);
	if (token_word(&c->t, "REC")) {
		struct compiler save = *c;

		compiler_advance(c);
		if (token_is(&c->t, ')')) {
			compiler_advance(c);
			return compile_rec(c, type);
		}
		*c = save;
	} else if (c->t.kind == TOKEN_IDENT) {
		struct compiler save = *c;

		if (compile_type(c, &cast) && token_is(&c->t, ')')) {
			compiler_advance(c);
			if (!compile_unary(c, type))
				return false;
			if (cast & TYPE_POINTER) {
				/* Bytes stay bytes, now of another element; an integer becomes an address. */
				if (*type & TYPE_BYTES)
					*type = (uint8_t)((cast & ~TYPE_POINTER) | TYPE_BYTES);
				else
					*type = (uint8_t)(c->long_bytes | TYPE_POINTER);
			} else if (!(*type & TYPE_BYTES)) {
				*type = cast;
				emit(c, (struct insn){OP_CAST, cast, 0, 0, 0}, 1, 1);
			}
			return !c->failed;
		}
		*c = save;
	}
	return compile_expr(c, type) && compiler_expect(c, ')');
}

static bool compile_ident(struct compiler *c, uint8_t *type)
{
	struct token name = c->t;
	uint64_t value;

	compiler_advance(c);
	if (token_word(&name, "REC"))
		return compile_rec(c, type);
	if (token_word(&name, "sizeof"))
		return compile_sizeof(c, type);
	if (token_is(&c->t, '(')) {
		compiler_advance(c);
		return compile_call(c, &name, type);
	}
	c->unknown |= !c->in_table && is_variable(&name);
	value = constant_value(c, &name);
	*type = value > INT32_MAX ? TYPE_U64 : TYPE_INT;
	emit(c, (struct insn){OP_CONST, 0, 0, 0, value}, 0, 1);
	return !c->failed;
}

static bool compile_primary(struct compiler *c, uint8_t *type)
{
	switch (c->t.kind) {
	case TOKEN_NUMBER:
		*type = c->t.is_long ? (c->t.is_unsigned ? TYPE_U64 : TYPE_LONG)
				     : (c->t.is_unsigned ? TYPE_U32 : TYPE_INT);
		emit(c, (struct insn){OP_CONST, 0, 0, 0, c->t.number}, 0, 1);
		compiler_advance(c);
		return !c->failed;
	case TOKEN_STRING:
		emit(c,
		     (struct insn){OP_STRING, 0, 0,
				   literal_add(c, c->lex.string, c->lex.string_len), 0},
		     0, 1);
		*type = TYPE_STRING;
		compiler_advance(c);
		return !c->failed;
	case TOKEN_IDENT: return compile_ident(c, type);
	default:
		if (token_is(&c->t, '('))
			return compile_paren(c, type);
		return compiler_fail(c, "expected a value");
	}
}

/* REC->array[3] is a field like any other: one load, if the index is inside. */
static bool fold_index(struct compiler *c, uint32_t begin, uint8_t elem)
{
	struct insn *i = &c->p->code[begin];
	uint32_t size = elem & TYPE_SIZE;

	if (c->failed || c->address || c->p->nr_code != begin + 2 || i[0].op != OP_BYTES ||
	    i[1].op != OP_CONST || i[0].imm == UINT32_MAX || i[1].imm >= i[0].imm / size)
		return false;
	i[0] = (struct insn){OP_LOAD, elem, 0, i[0].c + (uint32_t)i[1].imm * size, 0};
	c->p->nr_code--;
	c->stack--;
	return true;
}

static bool compile_postfix(struct compiler *c, uint8_t *type)
{
	uint32_t begin = c->p->nr_code;

	if (!compile_primary(c, type))
		return false;
	while (token_is(&c->t, '[')) {
		uint8_t index;

		compiler_advance(c);
		if (!(*type & TYPE_BYTES))
			return compiler_fail(c, "only an array can be indexed");
		if (!compile_expr(c, &index) || !compiler_expect(c, ']'))
			return false;
		*type &= TYPE_SIZE | TYPE_SIGNED;
		if (!fold_index(c, begin, *type))
			emit(c, (struct insn){OP_INDEX, *type, 0, 0, 0}, 2, 1);
	}
	return !c->failed;
}

static bool compile_deref(struct compiler *c, uint8_t *type)
{
	if (!compile_unary(c, type))
		return false;
	if (!(*type & TYPE_BYTES))
		return compiler_fail(c, "only an array can be dereferenced");
	*type &= TYPE_SIZE | TYPE_SIGNED;
	emit(c, (struct insn){OP_CONST, 0, 0, 0, 0}, 0, 1);
	emit(c, (struct insn){OP_INDEX, *type, 0, 0, 0}, 2, 1);
	return !c->failed;
}

/* &REC->array[i]: the bytes from there on. */
static bool compile_address(struct compiler *c, uint8_t *type)
{
	uint32_t begin = c->p->nr_code;
	bool ok;

	c->address = true;
	ok = compile_unary(c, type);
	c->address = false;
	if (!ok)
		return false;
	if (*type & TYPE_BYTES)
		return true;
	if (c->p->nr_code > begin && c->p->code[c->p->nr_code - 1].op == OP_INDEX) {
		c->p->code[c->p->nr_code - 1].op = OP_BYTES_AT;
	} else if (c->p->nr_code == begin + 1 && c->p->code[begin].op == OP_LOAD) {
		c->p->code[begin] =
			(struct insn){OP_BYTES, 0, 0, c->p->code[begin].c, *type & TYPE_SIZE};
	} else {
		return compiler_fail(c, "only a field has an address");
	}
	*type = (uint8_t)((*type & (TYPE_SIZE | TYPE_SIGNED)) | TYPE_BYTES);
	return true;
}

bool compile_unary(struct compiler *c, uint8_t *type)
{
	static const struct {
		char punct;
		uint8_t op;
	} ops[] = {{'-', OP_NEG}, {'~', OP_NOT}, {'!', OP_LNOT}};
	bool ok;

	if (++c->depth > EXPR_DEPTH_MAX)
		return compiler_fail(c, "the expression is nested too deep");
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (token_is(&c->t, (uint8_t)ops[i].punct)) {
			compiler_advance(c);
			if (!compile_unary(c, type))
				return false;
			*type = ops[i].op == OP_LNOT ? TYPE_INT : type_promote(*type);
			emit(c, (struct insn){ops[i].op, *type, 0, 0, 0}, 1, 1);
			c->depth--;
			return !c->failed;
		}
	if (token_is(&c->t, '+')) {
		compiler_advance(c);
		ok = compile_unary(c, type);
	} else if (token_is(&c->t, '*')) {
		compiler_advance(c);
		ok = compile_deref(c, type);
	} else if (token_is(&c->t, '&')) {
		compiler_advance(c);
		ok = compile_address(c, type);
	} else {
		ok = compile_postfix(c, type);
	}
	c->depth--;
	return ok;
}
