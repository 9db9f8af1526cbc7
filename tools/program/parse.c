/* SPDX-License-Identifier: MIT */
/* parse.c -- the text of a program to its tree. */
#include "program/ast.h"
#include "program/tokens.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 200 /* of nested expressions and blocks: the parser calls itself */

struct parser {
	struct tokens l;
	struct ast *t;
	uint32_t depth;
};

static struct node *expression(struct parser *p);
static struct node *unary(struct parser *p);
static struct node *block(struct parser *p);

static struct node *node(struct parser *p, enum node_kind kind, struct place at)
{
	struct node *n = arena_take(&p->t->arena, sizeof(*n));

	*n = (struct node){.kind = kind, .at = at};
	return n;
}

static void adopt(struct parser *p, struct node *n, struct node *kid)
{
	if (!(n->nr & (n->nr - 1))) { /* full at each power of two */
		struct node **more =
			arena_take(&p->t->arena, sizeof(*more) * (n->nr ? n->nr * 2 : 1));

		if (n->nr)
			memcpy(more, n->kids, n->nr * sizeof(*more));
		n->kids = more;
	}
	n->kids[n->nr++] = kid;
	if (kid && kid->at.line == n->at.line && kid->at.end > n->at.end)
		n->at.end = kid->at.end;
}

static void unexpected(struct parser *p)
{
	if (!p->t->failed)
		ast_error(p->t, p->l.place, "syntax error, unexpected %s", tokens_describe(&p->l));
}

static bool is(const struct parser *p, int token)
{
	return p->l.token == token;
}

static bool accept(struct parser *p, int token)
{
	if (!is(p, token))
		return false;
	tokens_next(&p->l);
	return true;
}

static bool expect(struct parser *p, int token)
{
	if (accept(p, token))
		return true;
	unexpected(p);
	return false;
}

static bool deeper(struct parser *p)
{
	if (p->depth++ < DEPTH_MAX)
		return true;
	if (!p->t->failed)
		ast_error(p->t, p->l.place, "this is nested too deeply: %d levels at most",
			  DEPTH_MAX);
	return false;
}

/* The kids of a call or the keys of a map, up to `close`, which is taken. */
static void list(struct parser *p, struct node *n, int close)
{
	if (accept(p, close))
		return;
	do {
		adopt(p, n, expression(p));
	} while (!p->t->failed && accept(p, ','));
	n->at.end = p->l.place.line == n->at.line ? p->l.place.end : n->at.end;
	expect(p, close);
}

static struct node *parenthesised(struct parser *p)
{
	struct place at = p->l.place;
	struct node *n, *tuple;

	tokens_next(&p->l);
	n = expression(p);
	if (!is(p, ',')) {
		expect(p, ')');
		return n;
	}
	tuple = node(p, NODE_TUPLE, at);
	adopt(p, tuple, n);
	while (!p->t->failed && accept(p, ','))
		adopt(p, tuple, expression(p));
	expect(p, ')');
	return tuple;
}

static struct node *name(struct parser *p)
{
	struct node *n = node(p, NODE_NAME, p->l.place);

	n->text = p->l.text;
	tokens_next(&p->l);
	if (is(p, '(') && strcmp(n->text, "args")) {
		n->kind = NODE_CALL;
		tokens_next(&p->l);
		list(p, n, ')');
	}
	return n;
}

/* $1: a number if it looks like one, else text. */
static struct node *parameter(struct parser *p)
{
	struct node *n = node(p, NODE_NUMBER, p->l.place);
	unsigned long which = strtoul(p->l.text + 1, NULL, 10);
	char *end;

	n->number = 0;
	if (p->l.text[1] == '#') {
		n->number = p->t->nr_parameters;
	} else if (which && which <= p->t->nr_parameters) {
		n->text = p->t->parameters[which - 1];
		n->number = (int64_t)strtoull(n->text, &end, 0);
		if (end == n->text || *end)
			n->kind = NODE_STRING;
	}
	tokens_next(&p->l);
	return n;
}

static struct node *primary(struct parser *p)
{
	struct node *n;

	switch (p->l.token) {
	case TOKEN_NUMBER:
		n = node(p, NODE_NUMBER, p->l.place);
		n->number = p->l.number;
		break;
	case TOKEN_STRING:
		n = node(p, NODE_STRING, p->l.place);
		n->text = p->l.text;
		break;
	case TOKEN_VARIABLE:
		n = node(p, NODE_VARIABLE, p->l.place);
		n->text = p->l.text + 1;
		break;
	case TOKEN_PARAMETER: return parameter(p);
	case TOKEN_IDENT: return name(p);
	case TOKEN_MAP:
		n = node(p, NODE_MAP, p->l.place);
		n->text = p->l.text;
		tokens_next(&p->l);
		if (accept(p, '['))
			list(p, n, ']');
		return n;
	case '(': return parenthesised(p);
	default: unexpected(p); return node(p, NODE_NUMBER, p->l.place);
	}
	tokens_next(&p->l);
	return n;
}

static struct node *field_of(struct parser *p, struct node *of)
{
	struct node *n = node(p, NODE_FIELD, of->at);

	tokens_next(&p->l);
	adopt(p, n, of);
	if (is(p, TOKEN_NUMBER)) { /* a tuple's member */
		n->number = p->l.number;
		n->text = "";
	} else {
		n->text = p->l.text;
	}
	n->at.end = p->l.place.line == n->at.line ? p->l.place.end : n->at.end;
	if (!is(p, TOKEN_NUMBER) && !is(p, TOKEN_IDENT))
		unexpected(p);
	tokens_next(&p->l);
	return n;
}

static struct node *step(struct parser *p, struct node *of, int op, bool before)
{
	struct node *n = node(p, NODE_STEP, of->at);

	n->op = op;
	n->number = before;
	adopt(p, n, of);
	if (of->kind != NODE_MAP && of->kind != NODE_VARIABLE && !p->t->failed)
		ast_error(p->t, of->at, "syntax error, %s needs a map or a variable",
			  op == TOKEN_INCREMENT ? "++" : "--");
	return n;
}

static struct node *postfix(struct parser *p)
{
	struct node *n = primary(p), *i;

	while (!p->t->failed) {
		if (is(p, '.') || is(p, TOKEN_ARROW)) {
			n = field_of(p, n);
		} else if (is(p, '[')) {
			i = node(p, NODE_INDEX, n->at);
			adopt(p, i, n);
			tokens_next(&p->l);
			list(p, i, ']');
			n = i;
		} else if (is(p, TOKEN_INCREMENT) || is(p, TOKEN_DECREMENT)) {
			n = step(p, n, p->l.token, false);
			tokens_next(&p->l);
		} else {
			break;
		}
	}
	return n;
}

/* After "(": is this the name of a type and its ")"? Then it is taken. */
static struct node *cast(struct parser *p)
{
	static const char *const names[] = {"int8",   "int16",	"int32",  "int64",  "uint8",
					    "uint16", "uint32", "uint64", "struct", NULL};
	struct parser back = *p;
	struct node *n = node(p, NODE_CAST, p->l.place);
	int i;

	tokens_next(&p->l);
	for (i = 0; names[i] && (!is(p, TOKEN_IDENT) || strcmp(names[i], p->l.text)); i++)
		;
	n->text = names[i];
	if (names[i]) {
		tokens_next(&p->l);
		if (!strcmp(n->text, "struct") && is(p, TOKEN_IDENT))
			tokens_next(&p->l);
		while (accept(p, '*'))
			n->text = "struct"; /* an address */
		if (accept(p, ')')) {
			adopt(p, n, unary(p));
			return n;
		}
	}
	*p = back;
	return NULL;
}

static struct node *unary(struct parser *p)
{
	struct node *n = NULL;
	int op = p->l.token;

	if (!deeper(p))
		return node(p, NODE_NUMBER, p->l.place);
	if (op == '!' || op == '-' || op == '~' || op == '*') {
		n = node(p, NODE_UNARY, p->l.place);
		n->op = op;
		tokens_next(&p->l);
		adopt(p, n, unary(p));
	} else if (op == TOKEN_INCREMENT || op == TOKEN_DECREMENT) {
		tokens_next(&p->l);
		n = step(p, unary(p), op, true);
	} else if (op == '(') {
		n = cast(p);
	}
	if (!n)
		n = postfix(p);
	p->depth--;
	return n;
}

static int rank(int token)
{
	switch (token) {
	case TOKEN_OR: return 1;
	case TOKEN_AND: return 2;
	case '|': return 3;
	case '^': return 4;
	case '&': return 5;
	case TOKEN_EQ:
	case TOKEN_NE: return 6;
	case '<':
	case '>':
	case TOKEN_LE:
	case TOKEN_GE: return 7;
	case TOKEN_LEFT:
	case TOKEN_RIGHT: return 8;
	case '+':
	case '-': return 9;
	case '*':
	case '/':
	case '%': return 10;
	default: return 0;
	}
}

static struct node *binary(struct parser *p, int least)
{
	struct node *left = unary(p), *n;
	int r;

	while (!p->t->failed && (r = rank(p->l.token)) >= least && r) {
		n = node(p, NODE_BINARY, left->at);
		n->op = p->l.token;
		tokens_next(&p->l);
		adopt(p, n, left);
		adopt(p, n, binary(p, r + 1));
		left = n;
	}
	return left;
}

static struct node *expression(struct parser *p)
{
	struct node *n, *t;

	if (!deeper(p))
		return node(p, NODE_NUMBER, p->l.place);
	n = binary(p, 1);
	if (accept(p, '?')) {
		t = node(p, NODE_TERNARY, n->at);
		adopt(p, t, n);
		adopt(p, t, expression(p));
		if (expect(p, ':'))
			adopt(p, t, expression(p));
		n = t;
	}
	p->depth--;
	return n;
}

static struct node *condition(struct parser *p)
{
	struct node *n;

	expect(p, '(');
	n = expression(p);
	expect(p, ')');
	return n;
}

static struct node *compound(struct parser *p)
{
	bool loop = !strcmp(p->l.text, "while"), when = !strcmp(p->l.text, "if");
	struct node *n = node(p, when ? NODE_IF : loop ? NODE_WHILE : NODE_UNROLL, p->l.place);

	tokens_next(&p->l);
	adopt(p, n, condition(p));
	adopt(p, n, block(p));
	if (!when || !is(p, TOKEN_IDENT) || strcmp(p->l.text, "else"))
		return n;
	tokens_next(&p->l);
	if (is(p, TOKEN_IDENT) && !strcmp(p->l.text, "if"))
		adopt(p, n, compound(p));
	else
		adopt(p, n, block(p));
	return n;
}

static struct node *simple(struct parser *p)
{
	struct node *n, *a;
	int op = 0;

	if (is(p, TOKEN_IDENT) && (!strcmp(p->l.text, "return") || !strcmp(p->l.text, "break") ||
				   !strcmp(p->l.text, "continue"))) {
		n = node(p, NODE_JUMP, p->l.place);
		n->text = p->l.text;
		tokens_next(&p->l);
		return n;
	}
	n = expression(p);
	if (is(p, TOKEN_ASSIGN_OP))
		op = p->l.op;
	else if (!is(p, '='))
		return n;
	a = node(p, NODE_ASSIGN, n->at);
	a->op = op;
	if (n->kind != NODE_MAP && n->kind != NODE_VARIABLE) {
		unexpected(p);
		return a;
	}
	tokens_next(&p->l);
	adopt(p, a, n);
	adopt(p, a, expression(p));
	return a;
}

static struct node *block(struct parser *p)
{
	struct node *n = node(p, NODE_BLOCK, p->l.place);

	if (!deeper(p) || !expect(p, '{'))
		return n;
	while (!p->t->failed && !is(p, '}')) {
		if (is(p, TOKEN_IDENT) &&
		    (!strcmp(p->l.text, "if") || !strcmp(p->l.text, "while") ||
		     !strcmp(p->l.text, "unroll"))) {
			adopt(p, n, compound(p));
			accept(p, ';');
		} else if (is(p, '{')) {
			adopt(p, n, block(p));
		} else if (!accept(p, ';')) {
			adopt(p, n, simple(p));
			if (!is(p, '}') && !p->t->failed)
				expect(p, ';');
		}
	}
	p->depth--;
	if (!p->t->failed)
		expect(p, '}');
	return n;
}

/* A struct's definition in C is skipped: traces describe their records themselves. */
static void skip_struct(struct parser *p)
{
	uint32_t open = 0;

	do {
		open += is(p, '{');
		open -= is(p, '}') && open;
		tokens_next(&p->l);
	} while (!is(p, TOKEN_END) && !is(p, TOKEN_BAD) && (open || !is(p, ';')));
	accept(p, ';');
}

static void attach(struct parser *p, struct clause *c)
{
	struct attach *more = arena_take(&p->t->arena, sizeof(*more) * (c->nr_attaches + 1));

	if (c->nr_attaches)
		memcpy(more, c->attaches, c->nr_attaches * sizeof(*more));
	c->attaches = more;
	/* The token that is read already is the first word of the name. */
	p->l.at -= p->l.place.end - p->l.place.column;
	tokens_probe(&p->l);
	c->attaches[c->nr_attaches++] = (struct attach){p->l.text, p->l.place};
	tokens_next(&p->l);
}

static void clause(struct parser *p)
{
	struct clause *more = arena_take(&p->t->arena, sizeof(*more) * (p->t->nr_clauses + 1)), *c;

	if (p->t->nr_clauses)
		memcpy(more, p->t->clauses, p->t->nr_clauses * sizeof(*more));
	p->t->clauses = more;
	c = &more[p->t->nr_clauses++];
	*c = (struct clause){0};
	do {
		if (!is(p, TOKEN_IDENT)) {
			unexpected(p);
			return;
		}
		attach(p, c);
	} while (accept(p, ','));
	if (accept(p, '/')) {
		c->predicate = expression(p);
		expect(p, TOKEN_ENDPRED);
	}
	if (!p->t->failed)
		c->block = block(p);
}

bool ast_parse(struct ast *t)
{
	struct parser p = {.t = t};

	tokens_start(&p.l, t);
	tokens_next(&p.l);
	while (!t->failed && !is(&p, TOKEN_END)) {
		if (is(&p, TOKEN_IDENT) &&
		    (!strcmp(p.l.text, "struct") || !strcmp(p.l.text, "enum") ||
		     !strcmp(p.l.text, "union")))
			skip_struct(&p);
		else
			clause(&p);
	}
	if (!t->failed && !t->nr_clauses)
		ast_error(t, p.l.place, "syntax error, unexpected end of file, expecting a probe");
	return !t->failed;
}
