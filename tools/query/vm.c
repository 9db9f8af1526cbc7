/* SPDX-License-Identifier: MIT */
/* vm.c -- run a program over a record. Keeps E1 to E4 of expr.h. */
#include "query/expr.h"
#include "query/strings.h"
#include "wire/glob.h"

#include <regex.h>
#include <string.h>

static bool inside(const struct expr_record *r, uint64_t offset, uint64_t size)
{
	return offset <= r->size && size <= r->size - offset;
}

static uint64_t load(const struct expr_record *r, uint32_t offset, uint8_t type)
{
	return inside(r, offset, type & TYPE_SIZE) ? expr_load(r->data + offset, type, r->env->swap)
						   : 0;
}

uint64_t expr_field_slow(const uint8_t *data, uint32_t size, const struct format_field *f,
			 bool swap)
{
	if (!f || f->offset > size || f->size > size - f->offset)
		return 0;
	if (f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8)
		return 0;
	return expr_load(data + f->offset,
			 (uint8_t)(f->size | (f->flags & FORMAT_SIGNED ? TYPE_SIGNED : 0)), swap);
}

struct value expr_dynamic(const struct expr_record *r, uint32_t offset, bool relative)
{
	uint32_t loc = (uint32_t)load(r, offset, TYPE_U32);
	uint64_t at = (loc & 0xffff) + (relative ? (uint64_t)offset + 4 : 0);
	uint32_t len = loc >> 16;

	if (!inside(r, at, len))
		return (struct value){0, "", 0};
	return (struct value){0, (const char *)r->data + at, len};
}

struct value expr_dynamic_text(const struct expr_record *r, uint32_t offset, bool relative)
{
	struct value v = expr_dynamic(r, offset, relative);

	if (v.len)
		v.len = (uint32_t)strnlen(v.s, (size_t)((const char *)r->data + r->size - v.s));
	return v;
}

/* Part of the record; what is outside is not there. */
static struct value bytes(const struct expr_record *r, uint64_t offset, uint64_t len)
{
	if (offset > r->size)
		return (struct value){0, "", 0};
	if (len > r->size - offset)
		len = r->size - offset;
	return (struct value){0, (const char *)r->data + offset, (uint32_t)len};
}

static uint64_t element(const struct expr_record *r, const struct value *v, uint64_t index,
			uint8_t type)
{
	uint32_t size = type & TYPE_SIZE;

	if (index >= v->len / size)
		return 0;
	return expr_load((const uint8_t *)v->s + index * size, type, r->env->swap);
}

static uint64_t divide(uint64_t a, uint64_t b, uint8_t type, bool rest)
{
	if (!b)
		return 0;
	if (!(type & TYPE_SIGNED))
		return rest ? a % b : a / b;
	if (b == UINT64_MAX) /* -1: INT64_MIN / -1 traps */
		return rest ? 0 : 0 - a;
	return rest ? (uint64_t)((int64_t)a % (int64_t)b) : (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t shift(uint64_t a, uint64_t n, uint8_t type, bool left)
{
	if (n >= 8u * (type & TYPE_SIZE))
		return 0;
	if (left)
		return a << n;
	return type & TYPE_SIGNED ? (uint64_t)((int64_t)a >> n) : a >> n;
}

static uint64_t arithmetic(uint8_t op, uint8_t type, uint64_t a, uint64_t b)
{
	switch (op) {
	case OP_ADD: return a + b;
	case OP_SUB: return a - b;
	case OP_MUL: return a * b;
	case OP_DIV:
	case OP_MOD: return divide(a, b, type, op == OP_MOD);
	case OP_SHL:
	case OP_SHR: return shift(a, b, type, op == OP_SHL);
	case OP_AND: return a & b;
	case OP_OR: return a | b;
	default: return a ^ b;
	}
}

static bool compare(uint8_t op, uint8_t type, uint64_t a, uint64_t b)
{
	bool less = type & TYPE_SIGNED ? (int64_t)a < (int64_t)b : a < b;

	switch (op) {
	case OP_EQ: return a == b;
	case OP_NE: return a != b;
	case OP_LT: return less;
	case OP_LE: return less || a == b;
	case OP_GT: return !less && a != b;
	default: return !less;
	}
}

static uint64_t swapped(uint64_t v, uint8_t size)
{
	return size == 2   ? __builtin_bswap16((uint16_t)v)
	       : size == 4 ? __builtin_bswap32((uint32_t)v)
			   : __builtin_bswap64(v);
}

static struct value text_value(const char *s)
{
	return (struct value){0, s ? s : "", s ? (uint32_t)strlen(s) : 0};
}

/* What the event itself says, outside of its record. */
static struct value context(uint8_t op, const struct expr_record *r)
{
	switch (op) {
	case OP_CPU: return (struct value){r->cpu, NULL, 0};
	case OP_PID: return (struct value){(uint64_t)(int64_t)r->pid, NULL, 0};
	case OP_TIME: return (struct value){r->time, NULL, 0};
	case OP_COMM: return text_value(r->env->comm ? r->env->comm(r->env->arg, r->pid) : NULL);
	default: return text_value(r->name);
	}
}

static uint32_t text_len(const struct value *v)
{
	return v->s ? (uint32_t)strnlen(v->s, v->len) : 0;
}

static bool matches(const struct program *p, const struct insn *i, const struct value *v)
{
	uint32_t n = text_len(v);
	const struct literal *l;

	if (i->op == OP_STR_REGEX) {
		char text[1024]; /* ended by NUL for regexec(); a longer text is matched as far */

		n = n < sizeof(text) ? n : (uint32_t)sizeof(text) - 1;
		memcpy(text, v->s ? v->s : "", n);
		text[n] = 0;
		return regexec(p->regexes[i->c], text, 0, NULL, 0) == 0;
	}
	l = &p->literals[i->c];
	if (i->op == OP_STR_GLOB)
		return fathom_glob(l->s, l->len, v->s, n);
	return n == l->len && (!n || !memcmp(v->s, l->s, n));
}

static struct value symbol_value(const struct expr_record *r, uint64_t addr)
{
	uint64_t offset, size;

	return text_value(r->env->symbol ? r->env->symbol(r->env->arg, addr, &offset, &size)
					 : NULL);
}

/* What is not there is 0. */
static uint64_t le16(const struct value *v)
{
	uint64_t n = v->s && v->len > 0 ? (uint8_t)v->s[0] : 0;

	return v->s && v->len > 1 ? n | (uint64_t)(uint8_t)v->s[1] << 8 : n;
}

/* Operators of two numbers, and nothing else, are between OP_ADD and OP_GE. */
static inline bool is_binary(uint8_t op)
{
	return op >= OP_ADD && op <= OP_GE;
}

static struct value unary(const struct program *p, const struct insn *i, struct expr_record *r,
			  const struct value *v)
{
	switch (i->op) {
	case OP_CAST: return (struct value){expr_convert(v->n, i->a), NULL, 0};
	case OP_NEG: return (struct value){expr_convert(0 - v->n, i->a), NULL, 0};
	case OP_NOT: return (struct value){expr_convert(~v->n, i->a), NULL, 0};
	case OP_LNOT: return (struct value){v->s ? !v->len : !v->n, NULL, 0};
	case OP_BOOL: return (struct value){v->s ? v->len != 0 : v->n != 0, NULL, 0};
	case OP_NS_SECS: return (struct value){v->n / 1000000000, NULL, 0};
	case OP_NS_REST: return (struct value){v->n % 1000000000, NULL, 0};
	case OP_SWAP: return (struct value){swapped(v->n, i->a), NULL, 0};
	case OP_LE16: return (struct value){le16(v), NULL, 0};
	case OP_DEVICE: return strings_device(r, v->n);
	case OP_HYPERCALL: return strings_hypercall(r, v->n);
	case OP_STRLEN: return (struct value){v->len, NULL, 0};
	case OP_FLAGS: return strings_flags(p, i, r, v->n);
	case OP_SYMBOLIC: return strings_symbolic(p, i, r, v->n);
	case OP_BITMASK: return i->b ? strings_cpus(r, v) : strings_bitmask(r, v);
	case OP_SYMBOL: return symbol_value(r, v->n);
	default: return (struct value){matches(p, i, v), NULL, 0};
	}
}

static struct value push(const struct program *p, const struct insn *i, const struct expr_record *r)
{
	switch (i->op) {
	case OP_CONST: return (struct value){i->imm, NULL, 0};
	case OP_LOAD: return (struct value){load(r, i->c, i->a), NULL, 0};
	case OP_BYTES: return bytes(r, i->c, i->imm);
	case OP_DYNAMIC: return expr_dynamic(r, i->c, i->b);
	case OP_DYNAMIC_LEN: return (struct value){expr_dynamic(r, i->c, i->b).len, NULL, 0};
	case OP_STRING: return (struct value){0, p->literals[i->c].s, p->literals[i->c].len};
	default: return context(i->op, r);
	}
}

struct value expr_run(const struct program *p, uint32_t begin, uint32_t end, struct expr_record *r)
{
	struct value stack[EXPR_STACK + 1];
	struct value *top = stack; /* the next free place */

	*top = (struct value){0, NULL, 0};
	for (uint32_t pc = begin; pc < end; pc++) {
		const struct insn *i = &p->code[pc];

		if (is_binary(i->op)) {
			struct value *a = top - 2, *b = top - 1;

			if (i->op >= OP_EQ)
				a->n = compare(i->op, i->a, expr_convert(a->n, i->a),
					       expr_convert(b->n, i->a));
			else
				a->n = expr_convert(arithmetic(i->op, i->a,
							       expr_convert(a->n, i->a),
							       i->op == OP_SHL || i->op == OP_SHR
								       ? b->n
								       : expr_convert(b->n, i->a)),
						    i->a);
			a->s = NULL;
			top--;
			continue;
		}
		switch (i->op) {
		case OP_JUMP: pc = i->c - 1; break;
		case OP_JUMP_IF_ZERO:
		case OP_JUMP_IF_SET:
			top--;
			if ((top->s ? top->len != 0 : top->n != 0) == (i->op == OP_JUMP_IF_SET))
				pc = i->c - 1;
			break;
		case OP_INDEX:
			top--;
			top[-1] = (struct value){element(r, &top[-1], top->n, i->a), NULL, 0};
			break;
		case OP_BYTES_AT: {
			uint64_t skip = top[-1].n * (i->a & TYPE_SIZE);

			top--;
			if (!top[-1].s || top[-1].n > UINT32_MAX || skip > top[-1].len)
				skip = top[-1].len;
			top[-1].s += skip;
			top[-1].len -= (uint32_t)skip;
			break;
		}
		case OP_HEX:
			top--;
			top[-1] = strings_hex(r, &top[-1], top->n, i->b);
			break;
		case OP_CDB:
			top--;
			if (top->n < top[-1].len)
				top[-1].len = (uint32_t)top->n;
			top[-1] = strings_cdb(r, &top[-1]);
			break;
		case OP_ARRAY:
			top -= 2;
			top[-1] = strings_array(r, &top[-1], top[0].n, top[1].n, i->b);
			break;
		case OP_HEX_DUMP:
			top -= 5;
			top[-1] = strings_hex_dump(r, &p->literals[i->c], top - 1, i->b);
			break;
		case OP_CONST:
		case OP_LOAD:
		case OP_BYTES:
		case OP_DYNAMIC:
		case OP_DYNAMIC_LEN:
		case OP_STRING:
		case OP_CPU:
		case OP_PID:
		case OP_TIME:
		case OP_COMM:
		case OP_NAME: *top++ = push(p, i, r); break;
		default: top[-1] = unary(p, i, r, &top[-1]); break;
		}
	}
	return top == stack ? stack[0] : top[-1];
}
