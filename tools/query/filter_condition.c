/* SPDX-License-Identifier: MIT */
/* filter_condition.c -- conditions of a filter: comparisons of numbers and texts, && || and !. */
#include "query/filter_int.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

/*
 * Negation is pushed down to the comparisons (de Morgan), where a field that is missing makes the comparison false
 * either way. So `negate` is passed along instead of emitting OP_LNOT.
 */
static bool filter_or(struct compiler *c, bool negate);

enum compare_op {
	COMPARE_NONE,
	COMPARE_EQ,
	COMPARE_NE,
	COMPARE_LT,
	COMPARE_LE,
	COMPARE_GT,
	COMPARE_GE,
	COMPARE_GLOB,
	COMPARE_REGEX,
	COMPARE_NO_REGEX,
};

static enum compare_op operator_at(const struct token *t)
{
	static const uint32_t puncts[] = {
		[COMPARE_EQ] = PUNCT2('=', '='),
		[COMPARE_NE] = PUNCT2('!', '='),
		[COMPARE_LT] = '<',
		[COMPARE_LE] = PUNCT2('<', '='),
		[COMPARE_GT] = '>',
		[COMPARE_GE] = PUNCT2('>', '='),
		[COMPARE_GLOB] = '~',
		[COMPARE_REGEX] = PUNCT2('=', '~'),
		[COMPARE_NO_REGEX] = PUNCT2('!', '~'),
	};

	for (unsigned i = COMPARE_EQ; i <= COMPARE_NO_REGEX; i++)
		if (token_is(t, puncts[i]))
			return (enum compare_op)i;
	return COMPARE_NONE;
}

/* The text on the right of a comparison: "quoted", or a bare word when the left side is text. */
static bool text_value(struct compiler *c, const char **s, uint32_t *len)
{
	const char *end = c->lex.end, *at;

	if (c->t.kind == TOKEN_STRING) {
		*s = c->lex.string;
		*len = c->lex.string_len;
		compiler_advance(c);
		return !c->failed;
	}
	/* A word goes to the next blank, parenthesis or logical operator. */
	*s = at = c->t.at;
	while (at < end && !strchr(" \t\n)(\"'", *at) &&
	       !(at + 1 < end && (*at == '&' || *at == '|') && at[1] == *at))
		at++;
	*len = (uint32_t)(at - *s);
	if (!*len)
		return compiler_fail(c, "expected a text");
	c->lex.at = at;
	compiler_advance(c);
	return !c->failed;
}

/*
 * libc copies what `+` and `{n}` repeat: nested, that multiplies until all memory is gone. So there may be eight of `+`, two
 * `{n}` of at most 100, and no repetition of a repetition such as `++`.
 */
bool filter_regex_is_modest(const char *s)
{
	unsigned braces = 0, pluses = 0;
	bool before = false;

	for (; *s; s++) {
		bool repeats = strchr("*+?{", *s) != NULL;

		if (*s == '\\' && s[1]) {
			s++;
			repeats = false;
		}
		if (repeats && before)
			return false;
		before = repeats || (*s == '}' && braces);
		if (repeats && *s == '+' && ++pluses > 8)
			return false;
		if (!repeats || *s != '{')
			continue;
		if (++braces > 2 || strtoul(s + 1, NULL, 10) > 100 ||
		    (strchr(s, ',') && strtoul(strchr(s, ',') + 1, NULL, 10) > 100))
			return false;
		before = false;
	}
	return true;
}

static bool add_regex(struct compiler *c, const char *s, uint32_t len, uint32_t *index)
{
	char pattern[1024];
	regex_t *re, **slot;

	if (len >= sizeof(pattern))
		return compiler_fail(c, "the regular expression is too long");
	memcpy(pattern, s, len);
	pattern[len] = 0;
	if (!filter_regex_is_modest(pattern))
		return compiler_fail(c, "the regular expression repeats too often");
	re = malloc(sizeof(*re));
	if (!re)
		return compiler_fail(c, "out of memory");
	if (regcomp(re, pattern, REG_EXTENDED | REG_NOSUB)) {
		free(re);
		return compiler_fail(c, "the regular expression is wrong");
	}
	slot = program_push((void **)&c->p->regexes, &c->p->nr_regexes, &c->p->cap_regexes,
			    sizeof(*slot), 256);
	if (!slot) {
		regfree(re);
		free(re);
		return compiler_fail(c, "too many regular expressions");
	}
	*slot = re;
	*index = c->p->nr_regexes - 1;
	return true;
}

/* Replace the value on the stack by false: the comparison is about nothing the event has. */
static bool never(struct compiler *c)
{
	emit(c, (struct insn){OP_AND, TYPE_INT, 0, 0, 0}, 2, 1);
	return !c->failed;
}

static bool compare_text(struct compiler *c, const struct operand *left, enum compare_op op,
			 bool negate)
{
	bool regex = op == COMPARE_REGEX || op == COMPARE_NO_REGEX;
	struct insn i = {.op = regex ? OP_STR_REGEX : op == COMPARE_GLOB ? OP_STR_GLOB : OP_STR_EQ};
	const char *s;
	uint32_t len;

	if (op != COMPARE_EQ && op != COMPARE_NE && op != COMPARE_GLOB && !regex)
		return compiler_fail(c, "text can only be compared with == != ~ =~ !~");
	if (!text_value(c, &s, &len))
		return false;
	if (regex) {
		if (!add_regex(c, s, len, &i.c))
			return false;
	} else {
		i.c = literal_add(c, s, len);
	}
	if (left->missing) {
		emit(c, (struct insn){OP_CONST, 0, 0, 0, 0}, 0, 1);
		return never(c);
	}
	if (!left->text)
		emit(c, (struct insn){OP_SYMBOL, 0, 0, 0, 0}, 1, 1);
	emit(c, i, 1, 1);
	if ((op == COMPARE_NE || op == COMPARE_NO_REGEX) != negate)
		emit(c, (struct insn){OP_LNOT, TYPE_INT, 0, 0, 0}, 1, 1);
	return !c->failed;
}

static bool compare_numbers(struct compiler *c, struct operand *left, enum compare_op op,
			    bool negate)
{
	static const uint8_t ops[][2] = {
		[COMPARE_EQ] = {OP_EQ, OP_NE}, [COMPARE_NE] = {OP_NE, OP_EQ},
		[COMPARE_LT] = {OP_LT, OP_GE}, [COMPARE_LE] = {OP_LE, OP_GT},
		[COMPARE_GT] = {OP_GT, OP_LE}, [COMPARE_GE] = {OP_GE, OP_LT},
	};
	struct operand right = {0};
	uint8_t type;

	if (!filter_operand(c, &right))
		return false;
	if (left->missing || right.missing || right.text) {
		/* `a == b` of two texts has no meaning in Linux's filters either. */
		emit(c, (struct insn){OP_CONST, 0, 0, 0, 0}, 0, 1);
		never(c);
		return never(c);
	}
	type = type_common(left->type, right.type);
	/* A number in the text is as wide as it needs to be: compare by the sign of the field. */
	if (!(left->type & TYPE_SIGNED) && (left->type & TYPE_SIZE) == 8)
		type = TYPE_U64;
	emit(c, (struct insn){ops[op][negate], type, 0, 0, 0}, 2, 1);
	return !c->failed;
}

static bool comparison(struct compiler *c, bool negate)
{
	struct operand left = {0};
	enum compare_op op;

	if (!filter_operand(c, &left))
		return false;
	op = operator_at(&c->t);
	if (op == COMPARE_NONE) {
		/* A lone value: true if it is not 0, as `flags & 4`. */
		if (left.missing) {
			emit(c, (struct insn){OP_CONST, 0, 0, 0, 0}, 0, 1);
			return never(c);
		}
		emit(c, (struct insn){negate ? OP_LNOT : OP_BOOL, TYPE_INT, 0, 0, 0}, 1, 1);
		return !c->failed;
	}
	compiler_advance(c);
	if (left.text || left.symbol || op >= COMPARE_GLOB || c->t.kind == TOKEN_STRING)
		return compare_text(c, &left, op, negate);
	/* A bare word on the right may be a text meant for a field the event does not have. */
	if (left.missing && c->t.kind == TOKEN_IDENT && op <= COMPARE_NE)
		return compare_text(c, &left, op, negate);
	return compare_numbers(c, &left, op, negate);
}

/* A parenthesis may hold a condition or arithmetic; a condition has an operator of its own inside. */
static bool holds_condition(const struct compiler *c)
{
	struct lexer l = c->lex;
	struct token t = c->t;
	int depth = 0;

	do {
		if (token_is(&t, '('))
			depth++;
		else if (token_is(&t, ')'))
			depth--;
		else if (operator_at(&t) != COMPARE_NONE || token_is(&t, PUNCT2('&', '&')) ||
			 token_is(&t, PUNCT2('|', '|')) || token_is(&t, '!'))
			return true;
		lex_next(&l, &t);
	} while (depth > 0 && t.kind != TOKEN_END && t.kind != TOKEN_BAD);
	return false;
}

static bool term(struct compiler *c, bool negate)
{
	bool ok;

	if (++c->depth > EXPR_DEPTH_MAX)
		return compiler_fail(c, "the filter is nested too deep");
	if (token_is(&c->t, '!')) {
		compiler_advance(c);
		ok = term(c, !negate);
	} else if (token_is(&c->t, '(') && holds_condition(c)) {
		compiler_advance(c);
		ok = filter_or(c, negate) && compiler_expect(c, ')');
	} else {
		ok = comparison(c, negate);
	}
	c->depth--;
	return ok;
}

/* A chain of && (or, negated, of ||): stop at the first that decides. */
static bool chain(struct compiler *c, bool negate, uint32_t punct,
		  bool (*part)(struct compiler *, bool))
{
	bool any = (punct == PUNCT2('|', '|')) != negate; /* one true part decides */

	if (!part(c, negate))
		return false;
	while (token_is(&c->t, punct)) {
		uint32_t skip, end;

		compiler_advance(c);
		skip = emit(c, (struct insn){any ? OP_JUMP_IF_SET : OP_JUMP_IF_ZERO, 0, 0, 0, 0}, 1,
			    0);
		if (!part(c, negate))
			return false;
		end = emit(c, (struct insn){OP_JUMP, 0, 0, 0, 0}, 1, 0);
		if (c->failed)
			return false;
		c->p->code[skip].c = c->p->nr_code;
		emit(c, (struct insn){OP_CONST, 0, 0, 0, any}, 0, 1);
		if (c->failed)
			return false;
		c->p->code[end].c = c->p->nr_code;
	}
	return !c->failed;
}

static bool filter_and(struct compiler *c, bool negate)
{
	return chain(c, negate, PUNCT2('&', '&'), term);
}

static bool filter_or(struct compiler *c, bool negate)
{
	return chain(c, negate, PUNCT2('|', '|'), filter_and);
}

bool filter_condition(struct compiler *c)
{
	return filter_or(c, false);
}
