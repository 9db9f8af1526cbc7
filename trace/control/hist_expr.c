/* SPDX-License-Identifier: MIT */
/* hist_expr.c -- variables of a histogram: `x=expression` over numbers and fields, as `$x` a value can use. */
#include "control/hist.h"
#include "control/str.h"

/*
 * Linux's grammar and limits: + - * / with the usual ranks, left to right, no parentheses but the one of a leading
 * -(...), at most three operators. The text is split at its last operator of the lowest rank, again and again; since at
 * most three splits are allowed, the parts are kept in a small array instead of a recursion.
 */
struct expr_part {
	size_t at, len;
};

struct expr_parser {
	const char *s; /* the command */
	struct ctl_hist *h;
	const struct fathom_event *ev;
	struct hist_expr *e;
	const char *what;
	size_t where;
	uint32_t splits;
};

static int expr_fail(struct expr_parser *p, const char *what, size_t at)
{
	p->what = what;
	p->where = at;
	return -FATHOM_EINVAL;
}

/* Where the last operator of the lowest rank stands, or `len`. `.sym-offset` holds no minus. */
static size_t expr_split(const char *s, size_t len)
{
	size_t at = len;

	for (size_t i = 1; i < len; i++)
		if ((s[i] == '+' || s[i] == '-') && !ctl_starts(s + i, len - i, "-offset"))
			at = i;
	if (at < len)
		return at;
	for (size_t i = 1; i < len; i++)
		if (s[i] == '*' || s[i] == '/')
			at = i;
	return at;
}

static int expr_push(struct expr_parser *p, struct hist_step step, size_t at)
{
	if (p->e->nr == HIST_STEPS_MAX)
		return expr_fail(p, "Too many subexpressions (3 max)", at);
	p->e->step[p->e->nr++] = step;
	return 0;
}

/* `$x` or `system.event.$x`: earlier of this histogram, or of another one. */
static int expr_variable(struct expr_parser *p, struct expr_part part)
{
	const char *s = p->s + part.at, *what = 0;
	struct hist_step step = {.op = '%'};
	int got = fathom_hist_own(p->h, s, part.len);

	if (got < 0) {
		step.op = '$';
		got = fathom_hist_ref(p->h, s, part.len, 1, &what);
		if (got < 0)
			return expr_fail(p, what, part.at);
	}
	if (step.op == '%' ? p->h->variable[got].field.size
			   : p->h->ref[got].from->variable[p->h->ref[got].var].field.size)
		return expr_fail(p, "String type can not be an operand in expression", part.at);
	step.value = (uint64_t)got;
	return expr_push(p, step, part.at);
}

/* A number, a variable or a field. */
static int expr_atom(struct expr_parser *p, struct expr_part part)
{
	struct hist_step step = {.op = '#'};
	const char *s = p->s + part.at;

	if (ctl_find(s, part.len, '$') < part.len)
		return expr_variable(p, part);
	if (part.len && ctl_digit(*s)) {
		if (fathom_ctl_number(s, part.len, 0, &step.value))
			return expr_fail(p, "Couldn't find field", part.at);
	} else {
		step.op = '.';
		if (ctl_is(s, part.len, "common_timestamp")) {
			step.op = '@';
		} else if (ctl_is(s, part.len, "common_timestamp.usecs")) {
			step.op = '@';
			step.value = 1000;
		} else if (fathom_operand_find(p->ev, s, part.len, &step.field) ||
			   (step.field.kind != FATHOM_OPERAND_NUMBER &&
			    step.field.kind != FATHOM_OPERAND_CPU))
			return expr_fail(p, "Couldn't find field", part.at);
	}
	return expr_push(p, step, part.at);
}

/*
 * Postfix of one part: the left side of each split is put off first, so the pending stack holds right sides and
 * operators still to come. Depth is bounded by the three splits.
 */
static int expr_parts(struct expr_parser *p, struct expr_part whole)
{
	struct {
		struct expr_part part;
		char op; /* 0: the part itself is due; else the operator is, when what is above is done */
	} stack[12];
	uint32_t n = 0;

	stack[n].part = whole;
	stack[n++].op = 0;
	while (n) {
		struct expr_part part = stack[--n].part;
		size_t cut;
		int err;

		if (stack[n].op) {
			struct hist_step step = {.op = (uint8_t)stack[n].op};

			err = expr_push(p, step, part.at);
			if (err)
				return err;
			continue;
		}
		cut = expr_split(p->s + part.at, part.len);
		if (cut == part.len) {
			err = expr_atom(p, part);
			if (err)
				return err;
			continue;
		}
		if (++p->splits > 3)
			return expr_fail(p, "Too many subexpressions (3 max)", part.at);
		stack[n].part = (struct expr_part){part.at + cut + 1, part.len - cut - 1};
		stack[n++].op = p->s[part.at + cut];
		stack[n].part = (struct expr_part){part.at + cut + 1, part.len - cut - 1};
		stack[n++].op = 0;
		stack[n].part = (struct expr_part){part.at, cut};
		stack[n++].op = 0;
	}
	return 0;
}

/* common_timestamp, in units of so many nanoseconds; 0: one. */
static uint64_t expr_now(uint64_t unit)
{
	uint64_t ns = fathom_ticks_to_ns(fathom_now());

	return unit ? ctl_div(ns, unit) : ns;
}

/* 1 if the step is a value, and no operator. */
static int expr_value(const struct hist_step *s, const struct hist_run *run, uint64_t *v)
{
	switch (s->op) {
	case '#': *v = s->value; return 1;
	case '@': *v = expr_now(s->value); return 1;
	case '$': *v = run->ref[s->value]; return 1;
	case '%': *v = run->var[s->value]; return 1;
	case '.':
		*v = s->field.kind == FATHOM_OPERAND_CPU
			     ? run->cpu
			     : fathom_operand_number(&s->field, run->record, run->bytes);
		return 1;
	default: return 0;
	}
}

uint64_t fathom_hist_expr(const struct hist_expr *e, const struct hist_run *run)
{
	uint64_t v[HIST_STEPS_MAX];
	uint32_t n = 0;

	v[0] = 0;

	for (uint32_t i = 0; i < e->nr; i++) {
		const struct hist_step *s = &e->step[i];

		if (expr_value(s, run, &v[n])) {
			n++;
			continue;
		}
		if (n < 2)
			return 0;
		n--;
		if (s->op == '+')
			v[n - 1] += v[n];
		else if (s->op == '-')
			v[n - 1] -= v[n];
		else if (s->op == '*')
			v[n - 1] *= v[n];
		else
			v[n - 1] = v[n] ? ctl_div(v[n - 1], v[n]) : 0;
	}
	return e->negative ? -v[0] : v[0];
}

/* All numbers: worked out now. */
static void expr_fold(struct hist_expr *e)
{
	uint64_t v;

	for (uint32_t i = 0; i < e->nr; i++)
		if (e->step[i].op == '.' || e->step[i].op == '@' || e->step[i].op == '$' ||
		    e->step[i].op == '%')
			return;
	v = fathom_hist_expr(e, 0);
	e->nr = 1;
	e->negative = 0;
	e->step[0] = (struct hist_step){.op = '#', .value = v};
}

static int expr_zero(struct expr_parser *p, struct expr_part whole)
{
	const char *s = p->s + whole.at;

	for (size_t i = 0; i + 1 < whole.len; i++) {
		size_t n = 0;

		if (s[i] != '/')
			continue;
		while (i + 1 + n < whole.len && s[i + 1 + n] == '0')
			n++;
		if (n && (i + 1 + n == whole.len || !ctl_word(s[i + 1 + n])))
			return expr_fail(p, "Division by zero", whole.at + i + 1);
	}
	return 0;
}

int fathom_hist_expr_parse(struct ctl_hist *h, const struct fathom_event *ev, const char *command,
			   size_t at, size_t len, struct hist_expr *out, const char **what,
			   size_t *where)
{
	struct expr_parser p = {.s = command, .h = h, .ev = ev, .e = out};
	struct expr_part part = {at, len};
	int err = 0;

	__builtin_memset(out, 0, sizeof(*out));
	if (len > 2 && command[at] == '-' && command[at + 1] == '(') {
		out->negative = 1;
		part = (struct expr_part){at + 2, len - 3};
		if (command[at + len - 1] != ')')
			err = expr_fail(&p, "Unary minus not supported in subexpressions", at + 2);
	}
	if (!err)
		err = expr_zero(&p, part);
	if (!err)
		err = expr_parts(&p, part);
	if (!err)
		expr_fold(out);
	*what = p.what;
	*where = p.where;
	return err;
}

void fathom_hist_expr_show(const struct hist_var *v, struct fathom_text *t)
{
	fathom_text_str(t, v->name);
	fathom_text_char(t, '=');
	if (v->expr.nr == 1 && v->expr.step[0].op == '#')
		fathom_text_u64(t, v->expr.step[0].value, 0, ' ');
	else
		fathom_text_str(t, v->text);
}
