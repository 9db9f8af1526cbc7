/* SPDX-License-Identifier: MIT */
/* filter.c -- compile a filter for one event type to the engine's bytecode. */
#include "query/filter.h"
#include "query/compile.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILTER_TEXT_MAX 16384

struct filter {
	char *text;	/* of the expression */
	char *events;	/* "sched/sched_switch,irq*" or NULL: all */
	size_t skipped; /* characters of the user's text before the expression */
};

struct filter_event {
	struct program program;
	int constant; /* filter_constant() */
};

/*
 * Negation is pushed down to the comparisons (de Morgan), where a field that is missing makes the comparison false
 * either way. So `negate` is passed along instead of emitting OP_LNOT.
 */
static bool filter_or(struct compiler *c, bool negate);

struct operand {
	bool missing; /* a name the event does not have */
	bool text;    /* TYPE_BYTES */
	uint8_t type;
};

enum filter_op {
	FILTER_NONE,
	FILTER_EQ,
	FILTER_NE,
	FILTER_LT,
	FILTER_LE,
	FILTER_GT,
	FILTER_GE,
	FILTER_GLOB,
	FILTER_REGEX,
	FILTER_NO_REGEX,
};

static enum filter_op operator_at(const struct token *t)
{
	static const uint32_t puncts[] = {
		[FILTER_EQ] = PUNCT2('=', '='),
		[FILTER_NE] = PUNCT2('!', '='),
		[FILTER_LT] = '<',
		[FILTER_LE] = PUNCT2('<', '='),
		[FILTER_GT] = '>',
		[FILTER_GE] = PUNCT2('>', '='),
		[FILTER_GLOB] = '~',
		[FILTER_REGEX] = PUNCT2('=', '~'),
		[FILTER_NO_REGEX] = PUNCT2('!', '~'),
	};

	for (unsigned i = FILTER_EQ; i <= FILTER_NO_REGEX; i++)
		if (token_is(t, puncts[i]))
			return (enum filter_op)i;
	return FILTER_NONE;
}

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
		o->missing = true;
		o->type = TYPE_INT;
		emit(c, (struct insn){OP_CONST, 0, 0, 0, 0}, 0, 1);
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
			ok = compiler_fail(c, "text cannot be calculated with");
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
			return compiler_fail(c, "text cannot be calculated with");
		o->missing |= right.missing;
		o->text = false;
		o->type = type_common(o->type, right.type);
		emit(c, (struct insn){sums[i].op, o->type, 0, 0, 0}, 2, 1);
	}
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
	while (at < end && !strchr(" \t\n)(\"", *at) &&
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
static bool regex_is_modest(const char *s)
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
	if (!regex_is_modest(pattern))
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

static bool compare_text(struct compiler *c, const struct operand *left, enum filter_op op,
			 bool negate)
{
	bool regex = op == FILTER_REGEX || op == FILTER_NO_REGEX;
	struct insn i = {.op = regex ? OP_STR_REGEX : op == FILTER_GLOB ? OP_STR_GLOB : OP_STR_EQ};
	const char *s;
	uint32_t len;

	if (op != FILTER_EQ && op != FILTER_NE && op != FILTER_GLOB && !regex)
		return compiler_fail(c, "texts compare with == != ~ =~ !~ only");
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
	if ((op == FILTER_NE || op == FILTER_NO_REGEX) != negate)
		emit(c, (struct insn){OP_LNOT, TYPE_INT, 0, 0, 0}, 1, 1);
	return !c->failed;
}

static bool compare_numbers(struct compiler *c, struct operand *left, enum filter_op op,
			    bool negate)
{
	static const uint8_t ops[][2] = {
		[FILTER_EQ] = {OP_EQ, OP_NE}, [FILTER_NE] = {OP_NE, OP_EQ},
		[FILTER_LT] = {OP_LT, OP_GE}, [FILTER_LE] = {OP_LE, OP_GT},
		[FILTER_GT] = {OP_GT, OP_LE}, [FILTER_GE] = {OP_GE, OP_LT},
	};
	struct operand right = {0};
	uint8_t type;

	if (!arithmetic(c, &right, 0))
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
	enum filter_op op;

	if (!arithmetic(c, &left, 0))
		return false;
	op = operator_at(&c->t);
	if (op == FILTER_NONE) {
		/* A lone value: true if it is not 0, as `flags & 4`. */
		if (left.missing) {
			emit(c, (struct insn){OP_CONST, 0, 0, 0, 0}, 0, 1);
			return never(c);
		}
		emit(c, (struct insn){negate ? OP_LNOT : OP_BOOL, TYPE_INT, 0, 0, 0}, 1, 1);
		return !c->failed;
	}
	compiler_advance(c);
	if (left.text || op >= FILTER_GLOB || c->t.kind == TOKEN_STRING)
		return compare_text(c, &left, op, negate);
	/* A bare word on the right may be a text meant for a field the event does not have. */
	if (left.missing && c->t.kind == TOKEN_IDENT && op <= FILTER_NE)
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
		else if (operator_at(&t) != FILTER_NONE || token_is(&t, PUNCT2('&', '&')) ||
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

static bool compile(struct program *p, const struct filter *f, const struct format *format,
		    uint8_t long_bytes, struct expr_error *err)
{
	struct compiler c;

	if (!compiler_init(&c, p, format, long_bytes, f->text, strlen(f->text), err))
		return false;
	c.lex.filter = true;
	compiler_advance(&c);
	if (!filter_or(&c, false))
		return false;
	return c.t.kind == TOKEN_END || compiler_fail(&c, "expected && or || or the end");
}

/* "names:" before the expression: letters, digits and _ / , * ? - only. */
static size_t events_prefix(const char *s)
{
	size_t n =
		strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/,*?-");

	return n && s[n] == ':' ? n : 0;
}

struct filter *filter_new(const char *text, struct expr_error *err)
{
	size_t prefix = events_prefix(text);
	struct filter *f = calloc(1, sizeof(*f));
	struct expr_error e = {0};
	struct program p = {0};
	bool ok;

	if (f && prefix) {
		f->events = strndup(text, prefix);
		f->skipped = prefix + 1;
	}
	if (f)
		f->text = strdup(text + f->skipped);
	ok = f && f->text && strlen(text) <= FILTER_TEXT_MAX;
	if (ok && (f->text[strspn(f->text, " \t")] == 0 ||
		   !strcmp(f->text + strspn(f->text, " \t"), "*")))
		*f->text = 0;
	if (ok && (*f->text || !prefix)) {
		ok = compile(&p, f, NULL, 8, &e);
		program_free(&p);
	} else if (!ok) {
		snprintf(e.what, sizeof(e.what), "the filter is too long");
	}
	if (!ok) {
		e.offset += f ? f->skipped : 0;
		filter_free(f);
		if (err)
			*err = e;
		return NULL;
	}
	return f;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	free(f->text);
	free(f->events);
	free(f);
}

/* Is the event one of "system/event,event"? A name without a slash may be a system's too. */
static bool selected(const char *events, const struct format *f)
{
	char name[256];
	int n = f ? snprintf(name, sizeof(name), "%s/%s", f->system, f->name) : 0;

	if (!f || n >= (int)sizeof(name))
		return false;
	while (*events) {
		uint32_t len = (uint32_t)strcspn(events, ",");

		if (memchr(events, '/', len)
			    ? expr_glob(events, len, name, (uint32_t)n)
			    : expr_glob(events, len, f->name, (uint32_t)strlen(f->name)) ||
				      expr_glob(events, len, f->system,
						(uint32_t)strlen(f->system)))
			return true;
		events += len + (events[len] == ',');
	}
	return false;
}

/* No field, no context: every record answers alike. */
static int constant(const struct program *p)
{
	struct expr_record none = {.data = (const uint8_t *)"", .env = &(const struct expr_env){0}};

	for (uint32_t i = 0; i < p->nr_code; i++)
		switch (p->code[i].op) {
		case OP_LOAD:
		case OP_BYTES:
		case OP_DYNAMIC:
		case OP_CPU:
		case OP_PID:
		case OP_TIME:
		case OP_COMM:
		case OP_NAME: return -1;
		default: break;
		}
	return expr_run(p, 0, p->nr_code, &none).n != 0;
}

struct filter_event *filter_compile(const struct filter *filter, const struct format *f,
				    uint8_t long_bytes)
{
	struct filter_event *e = calloc(1, sizeof(*e));
	struct expr_error err;

	if (!e)
		return NULL;
	if (filter->events && !selected(filter->events, f))
		e->constant = 0;
	else if (!*filter->text)
		e->constant = 1;
	else if (!compile(&e->program, filter, f, long_bytes, &err))
		e->constant = 0; /* texts compared as numbers in this event: it cannot match */
	else
		e->constant = constant(&e->program);
	return e;
}

void filter_event_free(struct filter_event *e)
{
	if (!e)
		return;
	program_free(&e->program);
	free(e);
}

int filter_constant(const struct filter_event *e)
{
	return e->constant;
}

bool filter_match(const struct filter_event *e, struct expr_record *r)
{
	if (e->constant >= 0)
		return e->constant;
	r->scratch_used = 0;
	return expr_run(&e->program, 0, e->program.nr_code, r).n != 0;
}
