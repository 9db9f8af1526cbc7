/* SPDX-License-Identifier: MIT */
/* calls.c -- the helpers that print fmts call: __print_flags(), __get_str() and their family. */
#include "query/compile.h"

#include <string.h>

enum call_kind {
	CALL_FLAGS,
	CALL_SYMBOLIC,
	CALL_HEX,
	CALL_ARRAY,
	CALL_HEX_DUMP,
	CALL_DYNAMIC, /* a: TYPE_TEXT for a string */
	CALL_DYNAMIC_LEN,
	CALL_BITMASK, /* a: of CPUs, which libtraceevent lists */
	CALL_SOCKADDR,
	CALL_UNARY, /* a: op */
	CALL_NAMED, /* a: op that makes a text of a number */
	CALL_LE16,
	CALL_SAME,  /* the argument itself */
	CALL_SWAP,  /* a: bytes */
	CALL_ZERO,  /* 0, the argument is not looked at */
	CALL_FIRST, /* the first of two arguments */
	CALL_CDB,   /* a SCSI command: where to write, its bytes, their number */
};

static const struct call {
	const char *name;
	uint8_t kind;
	uint8_t a;
} calls[] = {
	{"__print_flags", CALL_FLAGS, 0},
	{"__print_flags_u64", CALL_FLAGS, 0},
	{"__print_symbolic", CALL_SYMBOLIC, 0},
	{"__print_symbolic_u64", CALL_SYMBOLIC, 0},
	{"__print_hex", CALL_HEX, 0},
	{"__print_hex_str", CALL_HEX, 1},
	{"__print_array", CALL_ARRAY, 0},
	{"__print_dynamic_array", CALL_ARRAY, 1},
	{"__print_hex_dump", CALL_HEX_DUMP, 0},
	{"__print_ns_to_secs", CALL_UNARY, OP_NS_SECS},
	{"__print_ns_without_secs", CALL_UNARY, OP_NS_REST},
	{"__get_str", CALL_DYNAMIC, TYPE_TEXT},
	{"__get_rel_str", CALL_DYNAMIC, TYPE_TEXT},
	{"__get_dynamic_array", CALL_DYNAMIC, 0},
	{"__get_rel_dynamic_array", CALL_DYNAMIC, 0},
	{"__get_dynamic_array_len", CALL_DYNAMIC_LEN, 0},
	{"__get_rel_dynamic_array_len", CALL_DYNAMIC_LEN, 0},
	{"__get_bitmask", CALL_BITMASK, 0},
	{"__get_rel_bitmask", CALL_BITMASK, 0},
	{"__get_cpumask", CALL_BITMASK, 1},
	{"__get_rel_cpumask", CALL_BITMASK, 1},
	{"__get_sockaddr", CALL_SOCKADDR, 0},
	{"__get_rel_sockaddr", CALL_SOCKADDR, 0},
	{"__print_untrusted_str", CALL_SAME, 0},
	{"jiffies_to_msecs", CALL_SAME, 0},
	{"jiffies_to_usecs", CALL_SAME, 0},
	{"__builtin_constant_p", CALL_ZERO, 0},
	{"__builtin_expect", CALL_FIRST, 0},
	{"__builtin_bswap16", CALL_SWAP, 2},
	{"__builtin_bswap32", CALL_SWAP, 4},
	{"__builtin_bswap64", CALL_SWAP, 8},
	{"__fswab16", CALL_SWAP, 2},
	{"__fswab32", CALL_SWAP, 4},
	{"__fswab64", CALL_SWAP, 8},
	{"ntohs", CALL_SWAP, 2},
	{"ntohl", CALL_SWAP, 4},
	{"scsi_trace_parse_cdb", CALL_CDB, 0},
	{"jbd2_dev_to_name", CALL_NAMED, OP_DEVICE},
	{"xen_hypercall_name", CALL_NAMED, OP_HYPERCALL},
	{"__le16_to_cpup", CALL_LE16, 0},
};

static bool table_value(struct compiler *c, uint64_t *value)
{
	bool ok;

	c->in_table = true;
	ok = compile_constant(c, value);
	c->in_table = false;
	return ok;
}

/* { VALUE, "TEXT" }, ... up to the `)`; the token to come is after the first comma or is the `)`. */
static bool entries(struct compiler *c, uint32_t table)
{
	while (token_is(&c->t, ',') || token_is(&c->t, '{')) {
		uint64_t value;

		if (token_is(&c->t, ','))
			compiler_advance(c);
		if (token_is(&c->t, ')'))
			break;
		if (!compiler_expect(c, '{') || !table_value(c, &value) || !compiler_expect(c, ','))
			return false;
		if (c->t.kind == TOKEN_STRING) {
			if (!table_add(c, value, c->lex.string, c->lex.string_len))
				return false;
			compiler_advance(c);
		} else if (!compile_constant(c,
					     &value)) { /* NULL: the end of a table, not an entry */
			return false;
		}
		if (!compiler_expect(c, '}'))
			return false;
	}
	table_end(c, table);
	return compiler_expect(c, ')');
}

static bool call_table(struct compiler *c, bool flags, uint8_t *type)
{
	uint32_t delimiter = 0, table;
	uint8_t value;

	if (!compile_expr(c, &value))
		return false;
	if (flags) {
		if (!compiler_expect(c, ','))
			return false;
		if (c->t.kind == TOKEN_STRING) {
			delimiter = literal_add(c, c->lex.string, c->lex.string_len);
			compiler_advance(c);
		} else {
			delimiter = literal_add(c, "", 0);
		}
		if (delimiter > UINT16_MAX)
			return compiler_fail(c, "too many strings");
	}
	table = table_begin(c);
	if (c->failed || !entries(c, table))
		return false;
	/* libtraceevent does not extend the sign of a field: what is left over has the field's size. */
	emit(c,
	     (struct insn){flags ? OP_FLAGS : OP_SYMBOLIC, c->trace_cmd ? value & TYPE_SIZE : 0,
			   (uint16_t)delimiter, table, 0},
	     1, 1);
	*type = TYPE_STRING;
	return !c->failed;
}

static bool bytes_argument(struct compiler *c)
{
	uint8_t type;

	if (!compile_expr(c, &type))
		return false;
	return type & TYPE_BYTES || compiler_fail(c, "expected an array");
}

static bool number_argument(struct compiler *c)
{
	uint8_t type;

	if (!compile_expr(c, &type))
		return false;
	return !(type & TYPE_BYTES) || compiler_fail(c, "expected a number");
}

static bool call_hex(struct compiler *c, bool joined, uint8_t *type)
{
	if (!bytes_argument(c) || !compiler_expect(c, ',') || !number_argument(c))
		return false;
	emit(c, (struct insn){OP_HEX, 0, joined, 0, 0}, 2, 1);
	*type = TYPE_STRING;
	return compiler_expect(c, ')');
}

/* __print_array(ptr, count, size); __print_dynamic_array(field, size) counts by itself. */
static const struct format_field *field_argument(struct compiler *c);

static bool call_array(struct compiler *c, bool dynamic, uint8_t *type)
{
	if (dynamic) {
		const struct format_field *f = field_argument(c);

		if (!f)
			return false;
		compile_field(c, f, type);
		emit(c, (struct insn){OP_CONST, 0, 0, 0, UINT32_MAX}, 0, 1);
	} else if (!bytes_argument(c) || !compiler_expect(c, ',') || !number_argument(c)) {
		return false;
	}
	if (!compiler_expect(c, ',') || !number_argument(c))
		return false;
	emit(c, (struct insn){OP_ARRAY, 0, c->trace_cmd && !dynamic, 0, 0}, 3, 1);
	*type = TYPE_STRING;
	return compiler_expect(c, ')');
}

/* __print_hex_dump(prefix, prefix_type, rowsize, groupsize, buf, len, ascii) */
static bool call_hex_dump(struct compiler *c, uint8_t *type)
{
	uint32_t prefix;

	if (c->t.kind != TOKEN_STRING)
		return compiler_fail(c, "expected a string");
	prefix = literal_add(c, c->lex.string, c->lex.string_len);
	compiler_advance(c);
	for (int i = 0; i < 6; i++)
		if (!compiler_expect(c, ',') || !(i == 3 ? bytes_argument(c) : number_argument(c)))
			return false;
	emit(c, (struct insn){OP_HEX_DUMP, 0, !c->trace_cmd, prefix, 0}, 6, 1);
	*type = TYPE_STRING;
	return compiler_expect(c, ')');
}

/* scsi_trace_parse_cdb(p, bytes, length): `p` is the kernel's buffer for the text. */
static bool call_cdb(struct compiler *c, uint8_t *type)
{
	if (!token_word(&c->t, "p"))
		return compiler_fail(c, "expected p");
	compiler_advance(c);
	if (!compiler_expect(c, ',') || !bytes_argument(c) || !compiler_expect(c, ',') ||
	    !number_argument(c))
		return false;
	emit(c, (struct insn){OP_CDB, 0, 0, 0, 0}, 2, 1);
	*type = TYPE_STRING;
	return compiler_expect(c, ')');
}

static bool call_named(struct compiler *c, uint8_t op, uint8_t *type)
{
	if (!number_argument(c))
		return false;
	emit(c, (struct insn){op, 0, 0, 0, 0}, 1, 1);
	*type = TYPE_STRING;
	return compiler_expect(c, ')');
}

/* Of a pointer into the record: __get_dynamic_array(), with or without a cast. */
static bool call_le16(struct compiler *c, uint8_t *type)
{
	if (!bytes_argument(c))
		return false;
	emit(c, (struct insn){OP_LE16, 0, 0, 0, 0}, 1, 1);
	*type = 2;
	return compiler_expect(c, ')');
}

static const struct format_field *field_argument(struct compiler *c)
{
	const struct format_field *f = compile_find_field(c, &c->t);

	if (!f) {
		compiler_fail(c, "the event has no such field");
		return NULL;
	}
	compiler_advance(c);
	return f;
}

static bool call_dynamic(struct compiler *c, const struct call *call, uint8_t *type)
{
	const struct format_field *f = field_argument(c);

	if (!f || !compiler_expect(c, ')'))
		return false;
	if (call->kind == CALL_DYNAMIC_LEN) {
		if (!(f->flags & FORMAT_DYNAMIC))
			return compiler_fail(c, "the field is not dynamic");
		emit(c,
		     (struct insn){OP_DYNAMIC_LEN, 0, f->flags & FORMAT_REL_LOC ? 1 : 0, f->offset,
				   0},
		     0, 1);
		*type = TYPE_INT;
		return !c->failed;
	}
	if (!compile_field(c, f, type))
		return false;
	if (!(*type & TYPE_BYTES))
		return compiler_fail(c, "the field is not an array");
	if (call->kind == CALL_BITMASK) {
		emit(c, (struct insn){OP_BITMASK, 0, call->a && c->trace_cmd, 0, 0}, 1, 1);
		*type = TYPE_STRING;
	} else if (call->kind == CALL_SOCKADDR) {
		*type = 1 | TYPE_BYTES;
	} else {
		*type = (uint8_t)((*type & ~TYPE_TEXT) | call->a);
		/* __get_str() gives a pointer: the text ends at its NUL, whatever length the field has. */
		if (call->a && c->p->code[c->p->nr_code - 1].op == OP_DYNAMIC)
			c->p->code[c->p->nr_code - 1].a = 1;
	}
	return !c->failed;
}

static bool call_unary(struct compiler *c, const struct call *call, uint8_t *type)
{
	uint32_t code = c->p->nr_code, stack = c->stack;

	if (!compile_expr(c, type))
		return false;
	if (call->kind == CALL_UNARY) {
		emit(c, (struct insn){call->a, 0, 0, 0, 0}, 1, 1);
		*type = TYPE_U64;
	} else if (call->kind == CALL_SWAP) {
		emit(c, (struct insn){OP_SWAP, call->a, 0, 0, 0}, 1, 1);
		*type = call->a;
	} else if (call->kind == CALL_ZERO) {
		c->p->nr_code = code;
		c->stack = stack;
		emit(c, (struct insn){OP_CONST, 0, 0, 0, 0}, 0, 1);
		*type = TYPE_INT;
	} else if (call->kind == CALL_FIRST) {
		uint64_t ignored;

		if (!compiler_expect(c, ',') || !compile_constant(c, &ignored))
			return false;
	}
	return compiler_expect(c, ')');
}

bool compile_call(struct compiler *c, const struct token *name, uint8_t *type)
{
	const struct call *call = NULL;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && !call; i++)
		if (token_word(name, calls[i].name))
			call = &calls[i];
	if (!call)
		return compiler_fail(c, "an unknown helper");
	switch (call->kind) {
	case CALL_FLAGS:
	case CALL_SYMBOLIC: return call_table(c, call->kind == CALL_FLAGS, type);
	case CALL_HEX: return call_hex(c, call->a, type);
	case CALL_ARRAY: return call_array(c, call->a, type);
	case CALL_HEX_DUMP: return call_hex_dump(c, type);
	case CALL_CDB: return call_cdb(c, type);
	case CALL_NAMED: return call_named(c, call->a, type);
	case CALL_LE16: return call_le16(c, type);
	case CALL_DYNAMIC:
	case CALL_DYNAMIC_LEN:
	case CALL_BITMASK:
	case CALL_SOCKADDR: return call_dynamic(c, call, type);
	default: return call_unary(c, call, type);
	}
}
