/* SPDX-License-Identifier: MIT */
/* filter.c -- the filter compiler: one pass over the text with a stack of operators, errors with Linux's columns. */
#include "control/filter_int.h"
#include "control/pool.h"
#include "control/str.h"
#include "fathom/inside/errno.h"
#include "fathom/trace.h"
#include "wire/div.h"

/*
 * Linux's grammar and no more: a field, an operator, a constant. The host's filters take much more, and are compiled by
 * other code, which tools/query/filter.c gives the reasons of.
 */

enum {
	OPEN = '(',
	NOT = '!',
	AND = '&',
	OR = '|'
};

struct filter_pending {
	char what;
	uint16_t jump; /* of && and ||: the jump to aim once the right side is done */
	uint32_t at;   /* of (: its column */
};

struct filter_compiler {
	const struct fathom_event *ev;
	const char *s;
	size_t n, i;
	struct fathom_filter *f;
	struct fathom_filter_error *err;
	uint32_t room; /* instructions that fit */
	uint32_t depth;
	struct filter_pending stack[FATHOM_FILTER_DEPTH_MAX * 2];
};

static int filter_fail(struct filter_compiler *c, const char *what, size_t at, int err)
{
	c->err->what = what;
	c->err->at = (uint32_t)at;
	return err;
}

static struct filter_code *filter_emit(struct filter_compiler *c, uint8_t op)
{
	struct filter_code *ins;

	if (c->f->nr_code >= c->room)
		return 0;
	ins = &c->f->code[c->f->nr_code++];
	ins->op = op;
	return ins;
}

static int filter_push(struct filter_compiler *c, char what, size_t at)
{
	struct filter_code *jump = 0;

	if (c->depth == sizeof(c->stack) / sizeof(c->stack[0]))
		return filter_fail(c, "Too many terms in predicate expression", at, -FATHOM_EINVAL);
	if (what == AND || what == OR) {
		jump = filter_emit(c, what == AND ? FILTER_JUMP_FALSE : FILTER_JUMP_TRUE);
		if (!jump)
			return filter_fail(c, "Too many terms in predicate expression", at,
					   -FATHOM_EINVAL);
	}
	c->stack[c->depth++] = (struct filter_pending){
		what, jump ? (uint16_t)(jump - c->f->code) : (uint16_t)0, (uint32_t)at};
	return 0;
}

static int filter_rank(char what)
{
	return what == NOT ? 3 : what == AND ? 2 : what == OR ? 1 : 0;
}

/* The operand on the left of something of this rank is complete: finish all operators that bind at least as much. */
static int filter_reduce(struct filter_compiler *c, int rank)
{
	while (c->depth && filter_rank(c->stack[c->depth - 1].what) >= rank) {
		struct filter_pending *p = &c->stack[--c->depth];

		if (p->what != NOT)
			c->f->code[p->jump].target = c->f->nr_code; /* keeps F1 */
		else if (!filter_emit(c, FILTER_NOT))
			return filter_fail(c, "Too many terms in predicate expression", p->at,
					   -FATHOM_EINVAL);
	}
	return 0;
}

/* Index of the operator at `s` in Linux's order, which makes `<=` win over `<`. -1 if there is none. */
static int filter_operator(const char *s, size_t n, size_t *len)
{
	static const char names[][3] = {"==", "!=", "<=", "<", ">=", ">", "&", "~"};
	static const uint8_t ops[] = {FILTER_EQ, FILTER_NE, FILTER_LE,	FILTER_LT,
				      FILTER_GE, FILTER_GT, FILTER_AND, FILTER_GLOB};

	for (unsigned int k = 0; k < sizeof(ops); k++) {
		*len = ctl_starts(s, n, names[k]);
		if (*len)
			return ops[k];
	}
	return -1;
}

static int filter_is_text(const struct fathom_operand *op)
{
	return op->kind == FATHOM_OPERAND_CHARS || op->kind == FATHOM_OPERAND_DYNAMIC ||
	       op->kind == FATHOM_OPERAND_RELATIVE || op->kind == FATHOM_OPERAND_COMM;
}

/* The quoted value at s[i]; `pos` is the column the errors of this term are counted from. */
static int filter_text_value(struct filter_compiler *c, struct filter_code *ins, size_t pos,
			     size_t *at)
{
	size_t i = *at, first = i + 1, end = first;

	if (ins->op != FILTER_EQ && ins->op != FILTER_NE && ins->op != FILTER_GLOB)
		return filter_fail(c, "Illegal operation for field type", pos + i, -FATHOM_EINVAL);
	while (end < c->n && c->s[end] != c->s[i])
		end++;
	if (end == c->n)
		return filter_fail(c, "Missing matching quote", i, -FATHOM_ESRCH);
	if (end - first > FATHOM_FILTER_VALUE_MAX)
		return filter_fail(c, "Operand too long", pos + i, -FATHOM_EINVAL);
	if (!filter_is_text(&ins->left))
		return filter_fail(c, "Expecting numeric field", pos + i, -FATHOM_EINVAL);
	ins->value_at = (uint32_t)first;
	ins->value_len = (uint8_t)(end - first);
	if (ins->op != FILTER_GLOB)
		ins->op = ins->op == FILTER_EQ ? FILTER_STR_EQ : FILTER_STR_NE;
	*at = end + 1;
	return 0;
}

static int filter_number_value(struct filter_compiler *c, struct filter_code *ins, size_t pos,
			       size_t *at)
{
	size_t i = *at, end = i;
	int minus = c->s[i] == '-';

	if (filter_is_text(&ins->left) || ins->left.kind == FATHOM_OPERAND_ARRAY)
		return filter_fail(c, "Expecting string field", pos + i, -FATHOM_EINVAL);
	if (ins->op == FILTER_GLOB)
		return filter_fail(c, "Illegal operation for field type", pos + i, -FATHOM_EINVAL);
	end += (size_t)minus;
	while (end < c->n && ctl_word(c->s[end]))
		end++;
	if (fathom_ctl_number(c->s + i + minus, end - i - (size_t)minus, 0, &ins->value))
		return filter_fail(c, "Illegal integer value", pos + i, -FATHOM_EINVAL);
	if (minus)
		ins->value = -ins->value;
	*at = end;
	return 0;
}

/* 0-3,5 as a mask. 0, or -1 if it is not a list of CPUs that are there. */
static int filter_cpu_list(const char *s, size_t n, uint64_t *mask)
{
	*mask = 0;
	while (n) {
		size_t len = ctl_find(s, n, ','), dash = ctl_find(s, len, '-');
		uint64_t from, to;

		if (fathom_ctl_number(s, dash, 10, &from))
			return -1;
		to = from;
		if (dash < len && fathom_ctl_number(s + dash + 1, len - dash - 1, 10, &to))
			return -1;
		if (from > to || to >= fathom_core.nr_cpus)
			return -1;
		*mask |= wire_shl(wire_shr(~(uint64_t)0, (uint32_t)(63 - (to - from))),
				  (uint32_t)from);
		len += len < n;
		s += len;
		n -= len;
	}
	return *mask ? 0 : -1;
}

/* A mask of one CPU is compared as that number; == and != of more is never and always true, as in Linux. */
static int filter_cpus_value(struct filter_compiler *c, struct filter_code *ins, size_t pos,
			     size_t *at)
{
	size_t i = *at + 5, n;

	if (i > c->n || c->s[i - 1] != '{')
		return filter_fail(c, "Missing '{'", pos + i, -FATHOM_EINVAL);
	if ((ins->op != FILTER_EQ && ins->op != FILTER_NE && ins->op != FILTER_AND) ||
	    filter_is_text(&ins->left) || ins->left.kind == FATHOM_OPERAND_ARRAY)
		return filter_fail(c, "Illegal operation for field type", pos + *at,
				   -FATHOM_EINVAL);
	n = ctl_find(c->s + i, c->n - i, '}');
	if (i + n == c->n)
		return filter_fail(c, "Missing '}'", pos + i + n, -FATHOM_EINVAL);
	if (filter_cpu_list(c->s + i, n, &ins->value))
		return filter_fail(c, "Invalid cpulist", pos + i + n + 1, -FATHOM_EINVAL);
	if (ins->op != FILTER_AND && ins->value & (ins->value - 1))
		ins->value = 0;
	ins->op = ins->op == FILTER_NE ? FILTER_CPUS_NOT : FILTER_CPUS;
	*at = i + n + 1;
	return 0;
}

/* `field.function == name`, or an address inside: anything in that function. */
static int filter_function_value(struct filter_compiler *c, struct filter_code *ins, size_t pos,
				 size_t *at)
{
	const struct fathom_config *port = &fathom_core.config;
	uintptr_t ip = 0, offset = 0, size = 0;
	char name[128];
	size_t i = *at, end = i;
	uint64_t v;

	if (ins->op != FILTER_EQ && ins->op != FILTER_NE)
		return filter_fail(c, "Invalid operator", pos + i, -FATHOM_EINVAL);
	while (end < c->n && !ctl_space(c->s[end])) /* as in Linux, a ) too */
		end++;
	if (i < c->n && ctl_digit(c->s[i])) {
		if (fathom_ctl_number(c->s + i, end - i, 0, &v))
			return filter_fail(c, "Invalid value (did you forget quotes)?", pos + end,
					   -FATHOM_EINVAL);
		ip = (uintptr_t)v;
	} else if (port->lookup && end - i < sizeof(name)) {
		__builtin_memcpy(name, c->s + i, end - i);
		name[end - i] = '\0';
		ip = port->lookup(name);
	}
	if (!ip || !port->symbol || !port->symbol(ip, &offset, &size) || !size)
		return filter_fail(c, "Function not found", pos + end, -FATHOM_EINVAL);
	ins->value = ip - offset;
	ins->value_at = (uint32_t)size;
	ins->op = ins->op == FILTER_EQ ? FILTER_RANGE : FILTER_RANGE_NOT;
	*at = end;
	return 0;
}

/* `.function` after the field's name: how long it is, 0 if it is not there. */
static size_t filter_suffix(const struct filter_compiler *c, size_t i)
{
	return ctl_starts(c->s + i, c->n - i, ".function");
}

/* One term `field op value` at c->i. Linux counts the columns of its errors from one behind the term's start. */
static int filter_term(struct filter_compiler *c)
{
	size_t start = c->i, pos = 1, i = start, len = 0, function;
	struct filter_code *ins = filter_emit(c, FILTER_EQ);
	int op;

	if (!ins)
		return filter_fail(c, "Too many terms in predicate expression", start,
				   -FATHOM_EINVAL);
	while (i < c->n && ctl_word(c->s[i]))
		i++;
	if (i == start)
		return filter_fail(c, 0, 0, -FATHOM_EPERM);
	if (fathom_operand_find(c->ev, c->s + start, i - start, &ins->left))
		return filter_fail(c, "Field not found", pos + i, -FATHOM_EINVAL);
	function = filter_suffix(c, i);
	i += function;
	while (i < c->n && ctl_space(c->s[i]))
		i++;
	op = filter_operator(c->s + i, c->n - i, &len);
	if (op < 0)
		return filter_fail(c, "Invalid operator", pos + i, -FATHOM_EINVAL);
	ins->op = (uint8_t)op;
	i += len;
	while (i < c->n && ctl_space(c->s[i]))
		i++;
	c->i = i;
	if (function && ins->left.size != sizeof(long))
		return filter_fail(c, "Illegal operation for field type", pos + i, -FATHOM_EINVAL);
	if (function)
		return filter_function_value(c, ins, pos, &c->i);
	if (ctl_starts(c->s + i, c->n - i, "CPUS"))
		return filter_cpus_value(c, ins, pos, &c->i);
	if (i < c->n && (c->s[i] == '"' || c->s[i] == '\''))
		return filter_text_value(c, ins, pos, &c->i);
	if (i < c->n && (ctl_digit(c->s[i]) || c->s[i] == '-'))
		return filter_number_value(c, ins, pos, &c->i);
	return filter_fail(c, "Invalid value (did you forget quotes)?", pos + i, -FATHOM_EINVAL);
}

/* Where an operand is expected: `!`, `(` or a term. 1 when one is complete. */
static int filter_operand(struct filter_compiler *c)
{
	size_t at = c->i;
	int err;

	if (c->s[at] == NOT || c->s[at] == OPEN) {
		c->i++;
		return filter_push(c, c->s[at], at);
	}
	err = filter_term(c);
	return err ? err : 1;
}

/* Behind an operand: `&&`, `||` (then 0: an operand is expected) or `)` (then 1). */
static int filter_connective(struct filter_compiler *c)
{
	char ch = c->s[c->i];
	size_t at = c->i;
	int err;

	if (ch == ')') {
		err = filter_reduce(c, 1);
		if (err)
			return err;
		c->depth--; /* filter_balance() saw its partner */
		c->i++;
		return 1;
	}
	if ((ch == AND || ch == OR) && at + 1 < c->n && c->s[at + 1] == ch) {
		c->i += 2;
		err = filter_reduce(c, filter_rank(ch));
		return err ? err : filter_push(c, ch, at);
	}
	return filter_fail(c, "Too many terms in predicate expression", at, -FATHOM_EPERM);
}

static int filter_parse(struct filter_compiler *c)
{
	int have_operand = 0, any = 0, ret;

	while (c->i < c->n) {
		if (ctl_space(c->s[c->i])) {
			c->i++;
			continue;
		}
		ret = have_operand ? filter_connective(c) : filter_operand(c);
		if (ret < 0)
			return ret;
		have_operand = ret;
		any |= ret;
	}
	if (!any)
		return filter_fail(c, 0, 0, -FATHOM_EINVAL);
	/* A connective at the end without a right side is accepted, as in Linux: its jump lands behind itself. */
	return filter_reduce(c, 1);
}

/* An upper bound of the instructions a text can need: every term, connective and `!` has a character of its own. */
static uint32_t filter_room(const char *s, size_t n)
{
	uint32_t terms = 1, nots = 0;

	for (size_t i = 0; i < n; i++) {
		nots += s[i] == NOT;
		if (i + 1 < n && (s[i] == AND || s[i] == OR) && s[i + 1] == s[i])
			terms++;
	}
	if (terms > FATHOM_FILTER_TERMS_MAX)
		terms = FATHOM_FILTER_TERMS_MAX;
	if (nots > FATHOM_FILTER_TERMS_MAX)
		nots = FATHOM_FILTER_TERMS_MAX;
	return terms * 2 + nots;
}

static struct fathom_filter *filter_new(const char *text, size_t len, uint32_t room, size_t extra)
{
	struct fathom_filter *f;
	size_t code = sizeof(*f) + room * sizeof(f->code[0]);

	f = fathom_pool_get(code + len + extra);
	if (!f)
		return 0;
	f->text = (char *)f + code;
	f->text_len = (uint32_t)len;
	__builtin_memcpy(f->text, text, len);
	return f;
}

/*
 * Quotes and parentheses are looked at first, as in Linux: an open one is reported whatever else is wrong.
 */
static int filter_balance(struct filter_compiler *c)
{
	size_t quote = c->n;

	for (size_t i = 0; i < c->n; i++) {
		char ch = c->s[i];

		if (quote < c->n) {
			if (ch == c->s[quote])
				quote = c->n;
		} else if (ch == '"' || ch == '\'') {
			quote = i;
		} else if (ch == OPEN) {
			if (c->depth == FATHOM_FILTER_DEPTH_MAX)
				return filter_fail(c, "Too many '('", i, -FATHOM_ENOENT);
			c->stack[c->depth++].at = (uint32_t)i;
		} else if (ch == ')' && !c->depth--) {
			return filter_fail(c, "Too few '('", i, -FATHOM_EPERM);
		}
	}
	if (quote < c->n)
		return filter_fail(c, "Missing matching quote", quote, -FATHOM_ESRCH);
	if (c->depth)
		return filter_fail(c, "Too many '('", c->stack[c->depth - 1].at, -FATHOM_ENOENT);
	return 0;
}

int fathom_filter_compile(const struct fathom_event *ev, const char *text, size_t len,
			  struct fathom_filter **out, struct fathom_filter_error *err)
{
	struct filter_compiler c = {.ev = ev, .err = err};
	int ret;

	*err = (struct fathom_filter_error){0, 0};
	*out = 0;
	if (len > FATHOM_FILTER_TEXT_MAX)
		return -FATHOM_EINVAL;
	c.room = filter_room(text, len);
	c.f = filter_new(text, len, c.room, 1);
	if (!c.f)
		return -FATHOM_ENOMEM;
	c.s = c.f->text;
	c.n = len;
	ret = filter_balance(&c);
	if (!ret)
		ret = filter_parse(&c);
	if (ret) {
		fathom_pool_put(c.f);
		return ret;
	}
	*out = c.f;
	return 0;
}

/* Linux's three lines: the text, a caret under the place (but not past the text), what was wrong. */
struct fathom_filter *fathom_filter_broken(const char *text, size_t len,
					   const struct fathom_filter_error *err)
{
	static const char no_place[] = "\nError: (0)\n";
	size_t caret = err->at < len ? err->at : len;
	size_t extra = err->what ? caret + ctl_len(err->what) + 18 : sizeof(no_place);
	struct fathom_text t;
	struct fathom_filter *f = filter_new(text, len, 0, extra);

	if (!f)
		return 0;
	f->broken = 1;
	fathom_text_init(&t, f->text, len + extra);
	t.len = len;
	if (err->what) {
		fathom_text_char(&t, '\n');
		fathom_text_fill(&t, ' ', caret);
		fathom_text_str(&t, "^\nparse_error: ");
		fathom_text_str(&t, err->what);
		fathom_text_char(&t, '\n');
	} else {
		fathom_text_str(&t, no_place);
	}
	f->text_len = (uint32_t)t.len;
	return f;
}

const char *fathom_filter_text(const struct fathom_filter *f, size_t *len)
{
	*len = f->text_len;
	return f->text;
}
