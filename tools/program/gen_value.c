/* SPDX-License-Identifier: MIT */
/* gen_value.c -- numbers: into register 0, or into a jump. */
#include "program/gen.h"
#include "program/tokens.h"

#include <string.h>

/* ---- values that wait ---- */

static void wait_push(struct gen *g, int32_t *at)
{
	*at = 0;
	if (g->waiting < 3) {
		gen_put(g, BPF_ALU64 | BPF_MOV | BPF_X, 7 + (int)g->waiting, 0, 0, 0);
	} else {
		*at = gen_take(g, 8);
		gen_put(g, BPF_STX | BPF_MEM | BPF_DW, BPF_FP, 0, *at, 0);
	}
	g->waiting++;
}

static void wait_pop(struct gen *g, int dst, int32_t at)
{
	g->waiting--;
	if (!at)
		gen_put(g, BPF_ALU64 | BPF_MOV | BPF_X, dst, 7 + (int)g->waiting, 0, 0);
	else
		gen_put(g, BPF_LDX | BPF_MEM | BPF_DW, dst, BPF_FP, at, 0);
}

static bool is_small(const struct node *n)
{
	return n->kind == NODE_NUMBER && n->number >= INT32_MIN && n->number <= INT32_MAX;
}

/* Left into r0, right into r1; or, if the right one is a small number, nothing: true. */
static bool pair(struct gen *g, struct node *a, struct node *b)
{
	int32_t at;

	gen_value(g, a);
	if (is_small(b))
		return true;
	if (b->kind == NODE_VARIABLE) {
		gen_put(g, BPF_LDX | BPF_MEM | BPF_DW, 1, BPF_FP, gen_variable(g, b->text), 0);
		return false;
	}
	wait_push(g, &at);
	gen_value(g, b);
	gen_put(g, BPF_ALU64 | BPF_MOV | BPF_X, 1, 0, 0, 0);
	wait_pop(g, 0, at);
	return false;
}

/* ---- fields ---- */

static int size_code(uint32_t bytes)
{
	return bytes == 1 ? BPF_B : bytes == 2 ? BPF_H : bytes == 4 ? BPF_W : BPF_DW;
}

static void extend(struct gen *g, uint32_t bytes, bool is_signed)
{
	int shift = 64 - (int)bytes * 8;

	if (!shift)
		return;
	gen_put(g, BPF_ALU64 | BPF_LSH | BPF_K, 0, 0, 0, shift);
	gen_put(g, BPF_ALU64 | (is_signed ? BPF_ARSH : BPF_RSH) | BPF_K, 0, 0, 0, shift);
}

static bool host_is_big(void)
{
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

void gen_field(struct gen *g, const struct format_field *f, uint32_t index)
{
	uint32_t bytes = f->elem_size, at = f->offset + index * bytes;
	bool is_signed = f->flags & FORMAT_SIGNED && !(f->flags & FORMAT_POINTER), swap;

	if (at + bytes > g->p->record_bytes)
		g->p->record_bytes = at + bytes;
	swap = bytes > 1 && g->c->source && g->c->source->big_endian != host_is_big();
	gen_put(g,
		BPF_LDX | (is_signed && !swap && bytes < 8 ? BPF_MEMSX : BPF_MEM) |
			size_code(bytes),
		0, 6, (int)at, 0);
	if (!swap)
		return;
	gen_put(g, BPF_ALU64 | BPF_END, 0, 0, 0, bytes * 8);
	if (is_signed)
		extend(g, bytes, true);
}

/* ---- builtins ---- */

static void function_address(struct gen *g)
{
	const struct format_field *f = format_field(g->p->format, "func");

	if (!f)
		f = format_field(g->p->format, "ip");
	if (f)
		gen_field(g, f, 0);
	else
		gen_imm(g, 0, 0);
}

static void stack_id(struct gen *g, bool user)
{
	g->p->uses_stack = true;
	g->p->uses_user_stack |= user;
	gen_put(g, BPF_ALU64 | BPF_MOV | BPF_X, 1, 6, 0, 0);
	gen_imm(g, 2, 0);
	gen_imm(g, 3, user);
	gen_call(g, BPF_STACK_ID);
}

static void builtin(struct gen *g, struct node *n)
{
	const char *t = n->text;

	if (!strcmp(t, "pid")) {
		gen_call(g, BPF_PID_TGID);
		gen_put(g, BPF_ALU64 | BPF_RSH | BPF_K, 0, 0, 0, 32);
	} else if (!strcmp(t, "tid")) {
		gen_call(g, BPF_TID);
	} else if (!strcmp(t, "cpu")) {
		gen_call(g, BPF_CPU);
	} else if (!strcmp(t, "nsecs")) {
		gen_call(g, BPF_KTIME_NS);
	} else if (!strcmp(t, "elapsed")) {
		gen_call(g, BPF_ELAPSED);
	} else if (!strcmp(t, "probe")) {
		gen_call(g, BPF_PROBE_ID);
	} else if (!strcmp(t, "func")) {
		function_address(g);
	} else if (!strcmp(t, "kstack") || !strcmp(t, "ustack")) {
		stack_id(g, *t == 'u');
	} else if (n->bound) { /* argN, retval */
		gen_field(g, n->bound, (uint32_t)n->number);
	}
}

/* ---- operators ---- */

static int alu_op(int op)
{
	switch (op) {
	case '+': return BPF_ADD;
	case '-': return BPF_SUB;
	case '*': return BPF_MUL;
	case '/': return BPF_DIV;
	case '%': return BPF_MOD;
	case '&': return BPF_AND;
	case '|': return BPF_OR;
	case '^': return BPF_XOR;
	case TOKEN_LEFT: return BPF_LSH;
	case TOKEN_RIGHT: return BPF_RSH;
	default: return -1;
	}
}

static int jump_op(int op, bool is_signed, bool when)
{
	switch (op) {
	case TOKEN_EQ: return when ? BPF_JEQ : BPF_JNE;
	case TOKEN_NE: return when ? BPF_JNE : BPF_JEQ;
	case '<': return is_signed ? (when ? BPF_JSLT : BPF_JSGE) : (when ? BPF_JLT : BPF_JGE);
	case '>': return is_signed ? (when ? BPF_JSGT : BPF_JSLE) : (when ? BPF_JGT : BPF_JLE);
	case TOKEN_LE: return is_signed ? (when ? BPF_JSLE : BPF_JSGT) : (when ? BPF_JLE : BPF_JGT);
	case TOKEN_GE: return is_signed ? (when ? BPF_JSGE : BPF_JSLT) : (when ? BPF_JGE : BPF_JLT);
	default: return -1;
	}
}

/* Is one string unlike the other: into r0. */
static void strings_differ(struct gen *g, struct node *a, struct node *b, uint32_t most)
{
	uint32_t mark = g->used,
		 bytes = a->type.bytes > b->type.bytes ? a->type.bytes : b->type.bytes;
	struct type t = type_string(bytes);
	int32_t at = gen_take(g, type_room(&t)), other = gen_take(g, type_room(&t));

	gen_store(g, a, at, &t);
	gen_store(g, b, other, &t);
	gen_address(g, 1, at);
	gen_address(g, 2, other);
	gen_imm(g, 3, most < bytes ? most : bytes);
	gen_call(g, BPF_STR_DIFFER);
	gen_drop(g, mark);
}

static void compare(struct gen *g, struct node *n, uint32_t label, bool when)
{
	struct node *a = n->kids[0], *b = n->kids[1];
	int code = BPF_JMP | jump_op(n->op, a->type.is_signed && b->type.is_signed, when);

	if (a->type.kind == VALUE_STRING && b->type.kind == VALUE_STRING) {
		strings_differ(g, a, b, UINT32_MAX);
		gen_goto(g, BPF_JMP | ((n->op == TOKEN_EQ) == when ? BPF_JEQ : BPF_JNE) | BPF_K, 0,
			 0, 0, label);
	} else if (pair(g, a, b)) {
		gen_goto(g, code | BPF_K, 0, 0, b->number, label);
	} else {
		gen_goto(g, code | BPF_X, 0, 1, 0, label);
	}
}

void gen_jump(struct gen *g, struct node *n, uint32_t label, bool when)
{
	if (n->kind == NODE_UNARY && n->op == '!') {
		gen_jump(g, n->kids[0], label, !when);
	} else if (n->kind == NODE_BINARY && (n->op == TOKEN_AND || n->op == TOKEN_OR)) {
		bool both = n->op == TOKEN_AND;

		if (both != when) { /* either decides */
			gen_jump(g, n->kids[0], label, when);
			gen_jump(g, n->kids[1], label, when);
		} else {
			uint32_t past = gen_label(g);

			gen_jump(g, n->kids[0], past, !when);
			gen_jump(g, n->kids[1], label, when);
			gen_here(g, past);
		}
	} else if (n->kind == NODE_BINARY && jump_op(n->op, false, true) >= 0) {
		compare(g, n, label, when);
	} else {
		gen_value(g, n);
		gen_goto(g, BPF_JMP | (when ? BPF_JNE : BPF_JEQ) | BPF_K, 0, 0, 0, label);
	}
}

static void truth(struct gen *g, struct node *n)
{
	uint32_t no = gen_label(g), end = gen_label(g);

	gen_jump(g, n, no, false);
	gen_imm(g, 0, 1);
	gen_goto(g, BPF_JMP | BPF_JA, 0, 0, 0, end);
	gen_here(g, no);
	gen_imm(g, 0, 0);
	gen_here(g, end);
}

static void binary(struct gen *g, struct node *n)
{
	int op = alu_op(n->op);

	if (op < 0)
		truth(g, n);
	else if (pair(g, n->kids[0], n->kids[1]))
		gen_put(g, BPF_ALU64 | op | BPF_K, 0, 0, 0, n->kids[1]->number);
	else
		gen_put(g, BPF_ALU64 | op | BPF_X, 0, 1, 0, 0);
}

static void unary(struct gen *g, struct node *n)
{
	if (n->op == '!') {
		truth(g, n);
		return;
	}
	gen_value(g, n->kids[0]);
	if (n->op == '-')
		gen_put(g, BPF_ALU64 | BPF_NEG, 0, 0, 0, 0);
	else
		gen_put(g, BPF_ALU64 | BPF_XOR | BPF_K, 0, 0, 0, -1);
}

static void ternary(struct gen *g, struct node *n)
{
	uint32_t no = gen_label(g), end = gen_label(g);

	gen_jump(g, n->kids[0], no, false);
	gen_value(g, n->kids[1]);
	gen_goto(g, BPF_JMP | BPF_JA, 0, 0, 0, end);
	gen_here(g, no);
	gen_value(g, n->kids[2]);
	gen_here(g, end);
}

/* ---- maps ---- */

void gen_lookup(struct gen *g, struct node *n)
{
	uint32_t mark = g->used;
	int32_t key = gen_keys(g, n);

	gen_map(g, 1, n);
	gen_address(g, 2, key);
	gen_call(g, BPF_MAP_LOOKUP);
	gen_drop(g, mark);
}

/* Gathered values lie as { count, total, min, max }; sums and counts are their total. */
static void map_value(struct gen *g, struct node *n)
{
	enum type_kind kind = gen_spec(g, n)->value.kind;
	uint32_t none = gen_label(g);

	gen_lookup(g, n);
	gen_goto(g, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0, none);
	switch (kind) {
	case VALUE_AVG:
		gen_put(g, BPF_LDX | BPF_MEM | BPF_DW, 1, 0, 0, 0);
		gen_put(g, BPF_LDX | BPF_MEM | BPF_DW, 0, 0, 8, 0);
		gen_put(g, BPF_ALU64 | BPF_DIV | BPF_X, 0, 1, 0, 0);
		break;
	case VALUE_MIN:
	case VALUE_MAX:
		gen_put(g, BPF_LDX | BPF_MEM | BPF_DW, 0, 0, kind == VALUE_MIN ? 16 : 24, 0);
		break;
	default: gen_put(g, BPF_LDX | BPF_MEM | BPF_DW, 0, 0, 0, 0);
	}
	gen_here(g, none);
}

static void step(struct gen *g, struct node *n)
{
	struct node *kid = n->kids[0];
	int by = n->op == TOKEN_INCREMENT ? 1 : -1;
	uint32_t mark = g->used;

	if (kid->kind == NODE_VARIABLE) {
		int32_t at = gen_variable(g, kid->text);

		gen_put(g, BPF_LDX | BPF_MEM | BPF_DW, 0, BPF_FP, at, 0);
		gen_put(g, BPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, by);
		gen_put(g, BPF_STX | BPF_MEM | BPF_DW, BPF_FP, 0, at, 0);
	} else {
		int32_t key = gen_keys(g, kid);

		gen_map(g, 1, kid);
		gen_address(g, 2, key);
		gen_imm(g, 3, by);
		gen_call(g, BPF_MAP_ADD);
		gen_drop(g, mark);
	}
	if (!n->number)
		gen_put(g, BPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, -by);
}

static void field(struct gen *g, struct node *n)
{
	struct type *t = &n->kids[0]->type;
	uint32_t mark = g->used, i;
	int32_t at;

	if (types_is_args(n->kids[0])) {
		gen_field(g, n->bound, 0);
		return;
	}
	at = gen_take(g, type_room(t)); /* a tuple's member */
	gen_store(g, n->kids[0], at, t);
	for (i = 0; i < (uint32_t)n->number; i++)
		at += (int32_t)type_room(&t->of[i]);
	gen_put(g, BPF_LDX | BPF_MEM | BPF_DW, 0, BPF_FP, at, 0);
	gen_drop(g, mark);
}

static void call(struct gen *g, struct node *n)
{
	const char *t = n->text;

	if (!strcmp(t, "kstack") || !strcmp(t, "ustack")) {
		stack_id(g, *t == 'u');
	} else if (!strcmp(t, "strncmp")) {
		strings_differ(g, n->kids[0], n->kids[1], (uint32_t)n->kids[2]->number);
	} else if (!strcmp(t, "bswap")) {
		gen_value(g, n->kids[0]);
		if (n->type.bytes > 1)
			gen_put(g, BPF_ALU64 | BPF_END, 0, 0, 0, n->type.bytes * 8);
	} else if (n->nr && (!strcmp(t, "ksym") || !strcmp(t, "usym") || !strcmp(t, "str"))) {
		gen_value(g, n->kids[0]);
	} else {
		gen_action(g, n);
	}
}

void gen_value(struct gen *g, struct node *n)
{
	switch (n->kind) {
	case NODE_NUMBER: gen_imm(g, 0, n->number); break;
	case NODE_NAME:
	case NODE_BUILTIN: builtin(g, n); break;
	case NODE_VARIABLE:
		gen_put(g, BPF_LDX | BPF_MEM | BPF_DW, 0, BPF_FP, gen_variable(g, n->text), 0);
		break;
	case NODE_MAP: map_value(g, n); break;
	case NODE_FIELD: field(g, n); break;
	case NODE_INDEX: gen_field(g, n->kids[0]->bound, (uint32_t)n->kids[1]->number); break;
	case NODE_CALL: call(g, n); break;
	case NODE_UNARY: unary(g, n); break;
	case NODE_BINARY: binary(g, n); break;
	case NODE_TERNARY: ternary(g, n); break;
	case NODE_CAST:
		gen_value(g, n->kids[0]);
		extend(g, n->type.bytes, n->type.is_signed);
		break;
	case NODE_STEP: step(g, n); break;
	default: break;
	}
}
