/* SPDX-License-Identifier: MIT */
/* compile.c -- C expressions to bytecode: operators, casts, fields, types. Recursion is bounded by EXPR_DEPTH_MAX. */
#include "query/compile.h"

#include <string.h>

uint8_t type_common(uint8_t a, uint8_t b)
{
	uint8_t sa = a & TYPE_SIZE, sb = b & TYPE_SIZE;

	/* Integer promotion: what is smaller than int becomes int. */
	if (sa < 4)
		a = TYPE_INT, sa = 4;
	if (sb < 4)
		b = TYPE_INT, sb = 4;
	if (sa != sb)
		return sa > sb ? (uint8_t)(sa | (a & TYPE_SIGNED))
			       : (uint8_t)(sb | (b & TYPE_SIGNED));
	return (uint8_t)(sa | (a & b & TYPE_SIGNED));
}

static uint8_t type_promote(uint8_t t)
{
	return t & TYPE_BYTES ? TYPE_U64 : type_common(t, TYPE_INT);
}

/* ---- types ---- */

struct type_name {
	const char *name;
	uint8_t type;
};

static const struct type_name type_names[] = {
	{"u8", 1},
	{"__u8", 1},
	{"uint8_t", 1},
	{"s8", 1 | TYPE_SIGNED},
	{"__s8", 1 | TYPE_SIGNED},
	{"int8_t", 1 | TYPE_SIGNED},
	{"bool", 1},
	{"_Bool", 1},
	{"u16", 2},
	{"__u16", 2},
	{"uint16_t", 2},
	{"__le16", 2},
	{"__be16", 2},
	{"umode_t", 2},
	{"s16", 2 | TYPE_SIGNED},
	{"__s16", 2 | TYPE_SIGNED},
	{"int16_t", 2 | TYPE_SIGNED},
	{"u32", 4},
	{"__u32", 4},
	{"uint32_t", 4},
	{"__le32", 4},
	{"__be32", 4},
	{"dev_t", 4},
	{"gfp_t", 4},
	{"uid_t", 4},
	{"gid_t", 4},
	{"fmode_t", 4},
	{"s32", TYPE_INT},
	{"__s32", TYPE_INT},
	{"int32_t", TYPE_INT},
	{"pid_t", TYPE_INT},
	{"u64", 8},
	{"__u64", 8},
	{"uint64_t", 8},
	{"__le64", 8},
	{"__be64", 8},
	{"sector_t", 8},
	{"blkcnt_t", 8},
	{"s64", TYPE_LONG},
	{"__s64", TYPE_LONG},
	{"int64_t", TYPE_LONG},
	{"loff_t", TYPE_LONG},
	{"ktime_t", TYPE_LONG},
};

/* Words whose size is the machine's long. */
static const char *const long_names[] = {"size_t", "ssize_t",	"uintptr_t", "ino_t",
					 "off_t",  "ptrdiff_t", "pgoff_t"};

static bool known_type(struct compiler *c, uint8_t *type)
{
	for (size_t i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++)
		if (token_word(&c->t, type_names[i].name)) {
			*type = type_names[i].type;
			return true;
		}
	for (size_t i = 0; i < sizeof(long_names) / sizeof(long_names[0]); i++)
		if (token_word(&c->t, long_names[i])) {
			*type = c->long_bytes;
			if (i == 1 || i >= 4)
				*type |= TYPE_SIGNED;
			return true;
		}
	return false;
}

struct type_words {
	bool any, is_unsigned, is_signed, is_char, is_short, is_int, is_void, is_other;
	unsigned longs;
	uint8_t known;
};

/* One word of a type; false if it is none. */
static bool type_word(struct compiler *c, struct type_words *w)
{
	static const char *const ignored[] = {"const", "volatile", "__user", "__kernel", "__force"};

	if (c->t.kind != TOKEN_IDENT)
		return false;
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		if (token_word(&c->t, ignored[i]))
			return true;
	if (token_word(&c->t, "unsigned"))
		return w->is_unsigned = w->any = true;
	if (token_word(&c->t, "signed"))
		return w->is_signed = w->any = true;
	if (token_word(&c->t, "char"))
		return w->is_char = w->any = true;
	if (token_word(&c->t, "short"))
		return w->is_short = w->any = true;
	if (token_word(&c->t, "int"))
		return w->is_int = w->any = true;
	if (token_word(&c->t, "void"))
		return w->is_void = w->any = true;
	if (token_word(&c->t, "long")) {
		w->longs++;
		return w->any = true;
	}
	if (token_word(&c->t, "struct") || token_word(&c->t, "enum") ||
	    token_word(&c->t, "union")) {
		w->is_int = token_word(&c->t, "enum");
		compiler_advance(c);
		w->is_other = true;
		return w->any = c->t.kind == TOKEN_IDENT;
	}
	if (w->any)
		return false;
	if (known_type(c, &w->known))
		return w->any = true;
	/* A typedef that is not known: taken as one if it looks like one. */
	if (c->t.len > 2 && !memcmp(c->t.at + c->t.len - 2, "_t", 2)) {
		w->known = TYPE_LONG;
		return w->any = true;
	}
	return false;
}

bool compile_type(struct compiler *c, uint8_t *type)
{
	struct type_words w = {0};

	while (type_word(c, &w))
		compiler_advance(c);
	if (!w.any)
		return false;
	if (w.known)
		*type = w.known;
	else if (w.is_char)
		*type = w.is_unsigned ? 1 : 1 | TYPE_SIGNED;
	else if (w.is_short)
		*type = w.is_unsigned ? 2 : 2 | TYPE_SIGNED;
	else if (w.longs >= 2)
		*type = w.is_unsigned ? 8 : TYPE_LONG;
	else if (w.longs)
		*type = (uint8_t)(c->long_bytes | (w.is_unsigned ? 0 : TYPE_SIGNED));
	else if (w.is_void || w.is_other)
		*type = w.is_int ? TYPE_INT : c->long_bytes;
	else
		*type = w.is_unsigned ? 4 : TYPE_INT;
	if (token_is(&c->t, '*')) {
		uint8_t target = *type;

		while (token_is(&c->t, '*') || token_word(&c->t, "const"))
			compiler_advance(c);
		/* The element's type is kept for what is indexed behind the cast: ((u32 *)...)[i]. */
		*type = (uint8_t)(TYPE_POINTER | (target & (TYPE_SIZE | TYPE_SIGNED)));
	}
	return !c->failed;
}

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

/* Constants of the kernel that formats name without telling their value; any other name counts as 0. */
static const struct {
	const char *name;
	uint8_t value;
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

static uint64_t constant_value(const struct compiler *c, const struct token *t)
{
	uint64_t address;

	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
		if (token_word(t, constants[i].name) && (!c->trace_cmd || constants[i].trace_cmd))
			return constants[i].value;
	if (!c->in_table && symbol_address(c, t, &address))
		return address;
	/* libtraceevent lets an entry of a table that it cannot tell never match. */
	return c->trace_cmd && c->in_table ? UINT64_MAX : 0;
}

static bool compile_sizeof(struct compiler *c, uint8_t *type)
{
	uint32_t code = c->p->nr_code, stack = c->stack;
	uint64_t size;
	uint8_t t;

	if (!compiler_expect(c, '('))
		return false;
	if (compile_type(c, &t)) {
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

/* ---- binary operators ---- */

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
