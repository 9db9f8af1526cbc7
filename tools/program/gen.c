/* SPDX-License-Identifier: MIT */
/* gen.c -- eBPF of one probe's clause: instructions, labels, statements, actions. */
#include "program/gen.h"
#include "program/tokens.h"

#include <stdlib.h>
#include <string.h>

/* ---- instructions ---- */

void gen_put(struct gen *g, int code, int dst, int src, int off, int64_t imm)
{
	if (g->nr == g->room) {
		struct bpf_insn *more =
			arena_take(&g->c->ast->arena, sizeof(*more) * (g->room * 2 + 64));

		if (g->nr)
			memcpy(more, g->code, sizeof(*more) * g->nr);
		g->room = g->room * 2 + 64;
		g->code = more;
	}
	g->code[g->nr++] =
		(struct bpf_insn){(uint8_t)code, BPF_REGS(dst, src), (int16_t)off, (int32_t)imm};
}

void gen_imm(struct gen *g, int dst, int64_t v)
{
	if (v >= INT32_MIN && v <= INT32_MAX) {
		gen_put(g, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, v);
		return;
	}
	gen_put(g, BPF_LD_IMM64, dst, BPF_PSEUDO_NUMBER, 0, (int32_t)v);
	gen_put(g, 0, 0, 0, 0, (int32_t)((uint64_t)v >> 32));
}

void gen_call(struct gen *g, enum bpf_helper which)
{
	gen_put(g, BPF_JMP | BPF_CALL, 0, 0, 0, which);
}

void gen_address(struct gen *g, int dst, int32_t at)
{
	gen_put(g, BPF_ALU64 | BPF_MOV | BPF_X, dst, BPF_FP, 0, 0);
	if (at)
		gen_put(g, BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, at);
}

struct map_spec *gen_spec(struct gen *g, const struct node *map)
{
	return &g->c->maps[(uintptr_t)map->bound - 1];
}

void gen_map(struct gen *g, int dst, const struct node *map)
{
	gen_put(g, BPF_LD_IMM64, dst, BPF_PSEUDO_MAP, 0, (int64_t)((uintptr_t)map->bound - 1));
	gen_put(g, 0, 0, 0, 0, 0);
}

/* ---- labels ---- */

uint32_t gen_label(struct gen *g)
{
	if (!(g->nr_labels & (g->nr_labels - 1))) {
		int32_t *more = arena_take(&g->c->ast->arena,
					   sizeof(*more) * (g->nr_labels ? g->nr_labels * 2 : 1));

		if (g->nr_labels)
			memcpy(more, g->labels, sizeof(*more) * g->nr_labels);
		g->labels = more;
	}
	g->labels[g->nr_labels] = -1;
	return g->nr_labels++;
}

void gen_here(struct gen *g, uint32_t label)
{
	g->labels[label] = (int32_t)g->nr;
}

void gen_goto(struct gen *g, int code, int dst, int src, int64_t imm, uint32_t label)
{
	if (!(g->nr_fixes & (g->nr_fixes - 1))) {
		void *more = arena_take(&g->c->ast->arena,
					sizeof(*g->fixes) * (g->nr_fixes ? g->nr_fixes * 2 : 1));

		if (g->nr_fixes)
			memcpy(more, g->fixes, sizeof(*g->fixes) * g->nr_fixes);
		g->fixes = more;
	}
	g->fixes[g->nr_fixes].at = g->nr;
	g->fixes[g->nr_fixes++].label = label;
	gen_put(g, code, dst, src, 0, imm);
}

static bool resolve(struct gen *g)
{
	uint32_t i;

	for (i = 0; i < g->nr_fixes; i++) {
		int64_t off = (int64_t)g->labels[g->fixes[i].label] - g->fixes[i].at - 1;

		if (off < INT16_MIN || off > INT16_MAX) {
			ast_error(g->c->ast, g->p->at,
				  "the clause is too long: a jump of %lld instructions",
				  (long long)off);
			return false;
		}
		g->code[g->fixes[i].at].off = (int16_t)off;
	}
	return true;
}

/* ---- stack ---- */

int32_t gen_take(struct gen *g, uint32_t bytes)
{
	g->used += (bytes + 7) & ~7u;
	if (g->used > g->most)
		g->most = g->used;
	return -(int32_t)g->used;
}

void gen_drop(struct gen *g, uint32_t mark)
{
	g->used = mark;
}

int32_t gen_variable(struct gen *g, const char *name)
{
	uint32_t i;

	for (i = 0; i < g->c->nr_variables; i++)
		if (!strcmp(g->c->variables[i].name, name))
			return g->c->variables[i].at;
	return -8;
}

static void variables(struct gen *g)
{
	uint32_t i, k;

	for (i = 0; i < g->c->nr_variables; i++) {
		struct variable *v = &g->c->variables[i];

		v->at = gen_take(g, type_room(&v->type));
		for (k = 0; k < type_room(&v->type); k += 8)
			gen_put(g, BPF_ST | BPF_MEM | BPF_DW, BPF_FP, 0, v->at + (int32_t)k, 0);
	}
}

/* ---- actions ---- */

struct action *compiler_action(struct generator *c, enum action_kind kind)
{
	struct action *more = arena_take(&c->ast->arena, sizeof(*more) * (c->nr_actions + 1));

	if (c->nr_actions)
		memcpy(more, c->actions, sizeof(*more) * c->nr_actions);
	c->actions = more;
	c->actions[c->nr_actions] = (struct action){.kind = kind};
	return &c->actions[c->nr_actions++];
}

static struct action *action(struct gen *g, enum action_kind kind)
{
	return compiler_action(g->c, kind);
}

/* Emit the action added last with the values of kids[from ...]. */
static void emit(struct gen *g, struct node *n, uint32_t from)
{
	struct action *a = &g->c->actions[g->c->nr_actions - 1];
	uint32_t mark = g->used, which = g->c->nr_actions - 1, bytes = 0, i,
		 nr = n->nr > from ? n->nr - from : 0;
	struct type *args = nr ? arena_take(&g->c->ast->arena, sizeof(*args) * nr) : NULL;
	int32_t at = 0, data = 0;

	for (i = 0; i < nr; i++) {
		args[i] = n->kids[from + i]->type;
		bytes += type_room(&args[i]);
	}
	a->args = args;
	a->nr_args = nr;
	if (bytes)
		data = at = gen_take(g, bytes);
	for (i = 0; i < nr; i++) {
		gen_store(g, n->kids[from + i], at, &args[i]);
		at += (int32_t)type_room(&args[i]);
	}
	gen_imm(g, 1, which);
	gen_address(g, 2, data);
	gen_imm(g, 3, bytes);
	gen_call(g, BPF_EMIT);
	gen_drop(g, mark);
}

static int64_t number_of(const struct node *n, uint32_t i)
{
	return i < n->nr ? n->kids[i]->number : 0;
}

static void emit_map(struct gen *g, struct node *n, enum action_kind kind)
{
	struct action *a = action(g, kind);

	a->map = (uint32_t)((uintptr_t)n->kids[0]->bound - 1);
	a->top = number_of(n, 1);
	a->div = number_of(n, 2);
	emit(g, n, n->nr);
}

static void delete_keys(struct gen *g, struct node *n)
{
	uint32_t i, mark = g->used;

	for (i = 0; i < n->nr; i++) {
		int32_t key = gen_keys(g, n->kids[i]);

		gen_map(g, 1, n->kids[i]);
		gen_address(g, 2, key);
		gen_call(g, BPF_MAP_DELETE);
		gen_drop(g, mark);
	}
}

void gen_action(struct gen *g, struct node *n)
{
	const char *t = n->text;

	if (!strcmp(t, "printf")) {
		action(g, ACTION_PRINTF)->format = n->kids[0]->text;
		emit(g, n, 1);
	} else if (!strcmp(t, "print") && n->kids[0]->kind == NODE_MAP && !n->kids[0]->nr) {
		emit_map(g, n, ACTION_PRINT_MAP);
	} else if (!strcmp(t, "print")) {
		action(g, ACTION_PRINT_VALUE);
		emit(g, n, 0);
	} else if (!strcmp(t, "clear") || !strcmp(t, "zero")) {
		emit_map(g, n, *t == 'c' ? ACTION_CLEAR : ACTION_ZERO);
	} else if (!strcmp(t, "delete")) {
		delete_keys(g, n);
	} else if (!strcmp(t, "time")) {
		action(g, ACTION_TIME)->format = n->nr ? n->kids[0]->text : "%H:%M:%S\n";
		emit(g, n, n->nr);
	} else if (!strcmp(t, "join")) {
		action(g, ACTION_JOIN);
		emit(g, n, 0);
	} else if (!strcmp(t, "exit")) {
		action(g, ACTION_EXIT);
		emit(g, n, n->nr);
		gen_goto(g, BPF_JMP | BPF_JA, 0, 0, 0, g->end);
	}
}

/* ---- statements ---- */

static void statement(struct gen *g, struct node *n);

static void gather(struct gen *g, struct node *to, struct node *v)
{
	struct map_spec *m = gen_spec(g, to);
	uint32_t mark = g->used;
	int32_t key = gen_keys(g, to);

	if (m->value.kind == VALUE_COUNT)
		gen_imm(g, 3, 1);
	else {
		gen_value(g, v->kids[0]);
		gen_put(g, BPF_ALU64 | BPF_MOV | BPF_X, 3, 0, 0, 0);
	}
	if (m->value.kind == VALUE_LHIST) {
		m->min = v->kids[1]->kind == NODE_UNARY ? -v->kids[1]->kids[0]->number
							: v->kids[1]->number;
		m->max = v->kids[2]->number;
		m->step = v->kids[3]->number;
	}
	gen_map(g, 1, to);
	gen_address(g, 2, key);
	gen_call(g, m->value.kind == VALUE_COUNT || m->value.kind == VALUE_SUM	  ? BPF_MAP_ADD
		    : m->value.kind == VALUE_HIST || m->value.kind == VALUE_LHIST ? BPF_MAP_HIST
										  : BPF_MAP_NOTE);
	gen_drop(g, mark);
}

/* `a op= b` is `a = a op b`. */
static struct node *expanded(struct gen *g, struct node *n)
{
	struct node *b = arena_take(&g->c->ast->arena, sizeof(*b));

	*b = (struct node){.kind = NODE_BINARY, .op = n->op, .at = n->at, .kids = n->kids, .nr = 2};
	b->type = type_int(8, n->kids[0]->type.is_signed);
	return b;
}

static void assign_map(struct gen *g, struct node *to, struct node *v)
{
	struct map_spec *m = gen_spec(g, to);
	uint32_t mark = g->used;
	int32_t value = gen_take(g, m->value_bytes), key;

	gen_store(g, v, value, &m->value);
	key = gen_keys(g, to);
	gen_map(g, 1, to);
	gen_address(g, 2, key);
	gen_address(g, 3, value);
	gen_imm(g, 4, 0);
	gen_call(g, BPF_MAP_UPDATE);
	gen_drop(g, mark);
}

static void add_to_map(struct gen *g, struct node *to, struct node *v, bool negative)
{
	uint32_t mark = g->used;
	int32_t key = gen_keys(g, to);

	gen_value(g, v);
	if (negative)
		gen_put(g, BPF_ALU64 | BPF_NEG, 0, 0, 0, 0);
	gen_put(g, BPF_ALU64 | BPF_MOV | BPF_X, 3, 0, 0, 0);
	gen_map(g, 1, to);
	gen_address(g, 2, key);
	gen_call(g, BPF_MAP_ADD);
	gen_drop(g, mark);
}

static void assign(struct gen *g, struct node *n)
{
	struct node *to = n->kids[0], *v = n->kids[1];

	if (to->kind == NODE_MAP && type_is_gathered(&v->type) && v->kind == NODE_CALL)
		gather(g, to, v);
	else if (to->kind == NODE_MAP && (n->op == '+' || n->op == '-'))
		add_to_map(g, to, v, n->op == '-');
	else if (to->kind == NODE_MAP)
		assign_map(g, to, n->op ? expanded(g, n) : v);
	else
		gen_store(g, n->op ? expanded(g, n) : v, gen_variable(g, to->text), &to->type);
}

static void loop(struct gen *g, struct node *n)
{
	uint32_t outer = g->loop, outer_end = g->loop_end;

	g->loop = gen_label(g);
	g->loop_end = gen_label(g);
	gen_here(g, g->loop);
	gen_goto(g, BPF_MAY_GOTO, 0, 0, 0, g->loop_end);
	gen_jump(g, n->kids[0], g->loop_end, false);
	statement(g, n->kids[1]);
	gen_goto(g, BPF_JMP | BPF_JA, 0, 0, 0, g->loop);
	gen_here(g, g->loop_end);
	g->loop = outer;
	g->loop_end = outer_end;
}

static void branch(struct gen *g, struct node *n)
{
	uint32_t no = gen_label(g), end = gen_label(g);

	gen_jump(g, n->kids[0], no, false);
	statement(g, n->kids[1]);
	if (n->nr > 2)
		gen_goto(g, BPF_JMP | BPF_JA, 0, 0, 0, end);
	gen_here(g, no);
	if (n->nr > 2)
		statement(g, n->kids[2]);
	gen_here(g, end);
}

static void jump(struct gen *g, struct node *n)
{
	bool returns = !strcmp(n->text, "return");

	if (!returns && !g->loop_end)
		ast_error(g->c->ast, n->at, "%s is only possible inside a loop", n->text);
	else
		gen_goto(g, BPF_JMP | BPF_JA, 0, 0, 0,
			 returns	   ? g->end
			 : *n->text == 'b' ? g->loop_end
					   : g->loop);
}

static void statement(struct gen *g, struct node *n)
{
	uint32_t i, mark = g->used;

	switch (n->kind) {
	case NODE_BLOCK:
		for (i = 0; i < n->nr; i++)
			statement(g, n->kids[i]);
		break;
	case NODE_ASSIGN: assign(g, n); break;
	case NODE_IF: branch(g, n); break;
	case NODE_WHILE: loop(g, n); break;
	case NODE_UNROLL:
		for (i = 0; i < (uint32_t)n->kids[0]->number; i++)
			statement(g, n->kids[1]);
		break;
	case NODE_JUMP: jump(g, n); break;
	default: gen_value(g, n);
	}
	gen_drop(g, mark);
}

/* The end returns something on every path to it: a call was the last thing, and nothing jumps there. */
static bool has_result(const struct gen *g)
{
	for (uint32_t i = 0; i < g->nr_fixes; i++)
		if (g->labels[g->fixes[i].label] == (int32_t)g->nr)
			return false;
	return g->nr && g->code[g->nr - 1].code == (BPF_JMP | BPF_CALL);
}

static bool uses_context(const struct gen *g)
{
	for (uint32_t i = 1; i < g->nr; i++)
		if (BPF_SRC(&g->code[i]) == 6)
			return true;
	return false;
}

bool gen_clause(struct generator *c, struct probe *p)
{
	struct gen g = {.c = c, .p = p};

	g.end = gen_label(&g); /* label 0: never a loop's */
	gen_put(&g, BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0);
	variables(&g);
	if (p->clause->predicate)
		gen_jump(&g, p->clause->predicate, g.end, false);
	statement(&g, p->clause->block);
	gen_here(&g, g.end);
	if (!has_result(&g))
		gen_imm(&g, 0, 0);
	gen_put(&g, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	p->code = g.code + !uses_context(&g); /* no jump leads to the first instruction */
	p->nr_code = g.nr - (uint32_t)(p->code - g.code);
	p->stack_bytes = g.most;
	if (g.most > 16384)
		ast_error(c->ast, p->at,
			  "the clause needs %u bytes for its strings and tuples, 16384 at most",
			  g.most);
	return !c->ast->failed && resolve(&g);
}
