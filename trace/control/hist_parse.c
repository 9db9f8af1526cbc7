/* SPDX-License-Identifier: MIT */
/* hist_parse.c -- the text of a hist trigger: keys, values, sort, size, name; errors with Linux's words and columns. */
#include "control/hist.h"
#include "control/str.h"

struct hist_parser {
	struct ctl_instance *tr;
	const struct fathom_event *ev;
	const char *command;
	size_t end;
	struct ctl_hist *h;
	int have_sort;
	size_t sort_at, sort_len;
};

void fathom_hist_error(struct ctl_instance *tr, const struct fathom_event *ev, const char *what,
		       const char *command, size_t len, size_t at)
{
	char where[48];
	struct fathom_text t;

	fathom_text_init(&t, where, sizeof(where));
	fathom_text_str(&t, "hist:");
	fathom_text_str(&t, ev->system);
	fathom_text_char(&t, ':');
	fathom_text_str(&t, ev->name);
	fathom_ctl_error(tr, fathom_text_cstr(&t), what, command, len, (uint32_t)at);
}

static int hist_fail(struct hist_parser *p, const char *what, size_t at)
{
	fathom_hist_error(p->tr, p->ev, what, p->command, p->end, at);
	return -FATHOM_EINVAL;
}

static const struct {
	const char *name;
	uint8_t modifier;
} hist_modifiers[] = {
	{"hex", HIST_HEX},	     {"sym", HIST_SYM},		{"sym-offset", HIST_SYM_OFFSET},
	{"execname", HIST_EXECNAME}, {"syscall", HIST_SYSCALL}, {"log2", HIST_LOG2},
	{"usecs", HIST_USECS},	     {"percent", HIST_PERCENT}, {"graph", HIST_GRAPH},
};

static int hist_modifier(struct hist_field *f, const char *s, size_t n)
{
	size_t skip = ctl_starts(s, n, "buckets=");

	if (skip) {
		f->modifier = HIST_BUCKETS;
		return fathom_ctl_number(s + skip, n - skip, 0, &f->buckets) || !f->buckets ? -1
											    : 0;
	}
	for (unsigned int i = 0; i < sizeof(hist_modifiers) / sizeof(hist_modifiers[0]); i++)
		if (ctl_is(s, n, hist_modifiers[i].name)) {
			f->modifier = hist_modifiers[i].modifier;
			return 0;
		}
	return -1;
}

/* The names that are no field of the record. 1 if it was one. */
static int hist_special(struct hist_field *f, const char *s, size_t n)
{
	f->op = (struct fathom_operand){FATHOM_OPERAND_NUMBER, 0, 0, 8, 0};
	if (ctl_is(s, n, "stacktrace") || ctl_is(s, n, "common_stacktrace"))
		f->modifier = HIST_STACKTRACE;
	else if (ctl_is(s, n, "common_timestamp"))
		f->modifier = HIST_TIMESTAMP;
	else if (ctl_is(s, n, "common_cpu"))
		f->op.kind = FATHOM_OPERAND_CPU;
	else if (ctl_is(s, n, "common_comm"))
		f->op = (struct fathom_operand){FATHOM_OPERAND_COMM, 0, 0, 16, 0};
	else
		return 0;
	return 1;
}

static int hist_text_kind(const struct fathom_operand *op)
{
	return op->kind == FATHOM_OPERAND_CHARS || op->kind == FATHOM_OPERAND_DYNAMIC ||
	       op->kind == FATHOM_OPERAND_RELATIVE || op->kind == FATHOM_OPERAND_COMM;
}

static int hist_execname_ok(const struct hist_field *f)
{
	return f->modifier != HIST_EXECNAME || ctl_same(f->name, "common_pid");
}

static int hist_of_value_only(const struct hist_field *f)
{
	return f->modifier == HIST_PERCENT || f->modifier == HIST_GRAPH;
}

/* `name[.modifier]` at `at` of the command. */
static int hist_field(struct hist_parser *p, size_t at, size_t n, struct hist_field *f)
{
	const char *s = p->command + at;
	size_t dot = ctl_find(s, n, '.');

	__builtin_memset(f, 0, sizeof(*f));
	if (!dot || dot >= sizeof(f->name))
		return hist_fail(p, "Couldn't find field", at);
	__builtin_memcpy(f->name, s, dot);
	if (!hist_special(f, s, dot) && fathom_operand_find(p->ev, s, dot, &f->op))
		return hist_fail(p, "Couldn't find field", at);
	if (f->op.kind == FATHOM_OPERAND_ARRAY)
		return hist_fail(p, "Couldn't find field", at);
	if (dot < n &&
	    (f->modifier == HIST_STACKTRACE || hist_modifier(f, s + dot + 1, n - dot - 1)))
		return hist_fail(p, "Invalid field modifier", at + dot + 1);
	if (!hist_execname_ok(f) || (f->modifier && hist_text_kind(&f->op)))
		return hist_fail(p, "Invalid field modifier", at + dot + 1);
	return 0;
}

/* What the key takes in an entry: numbers 8 bytes, so that all of them compare alike. */
void fathom_hist_key_size(struct hist_field *f)
{
	if (f->modifier == HIST_STACKTRACE)
		f->size = HIST_FRAMES * 8;
	else if (f->modifier == HIST_EXECNAME)
		f->size = 8 + 16;
	else if (f->op.kind == FATHOM_OPERAND_CHARS || f->op.kind == FATHOM_OPERAND_COMM)
		f->size = f->op.size < HIST_TEXT_MAX ? (uint16_t)((f->op.size + 7) & ~7)
						     : HIST_TEXT_MAX;
	else if (hist_text_kind(&f->op))
		f->size = HIST_TEXT_MAX;
	else
		f->size = 8;
	/* 8 bytes mean a number: a text that short gets more. */
	if (hist_text_kind(&f->op) && f->size <= 8)
		f->size = 16;
}

/* Call fn for each part of a comma-separated list. Empty parts are skipped, as strsep() users in Linux do. */
static int hist_list(struct hist_parser *p, size_t at, size_t n,
		     int (*fn)(struct hist_parser *p, size_t at, size_t n))
{
	size_t done = 0;

	while (done < n) {
		size_t len = ctl_find(p->command + at + done, n - done, ',');
		int err = len ? fn(p, at + done, len) : 0;

		if (err)
			return err;
		done += len + 1;
	}
	return 0;
}

static int hist_add_key(struct hist_parser *p, size_t at, size_t n)
{
	struct ctl_hist *h = p->h;
	struct hist_field *f = &h->key[h->nr_keys];
	int err;

	if (h->nr_keys == HIST_KEYS_MAX)
		return hist_fail(p, "Too many keys", at);
	if (p->command[at] == '$')
		return hist_fail(p, "Using variable references in keys not supported", at);
	err = hist_field(p, at, n, f);
	if (err)
		return err;
	if (hist_of_value_only(f))
		return hist_fail(p, "Invalid field modifier", at + ctl_len(f->name) + 1);
	for (uint32_t i = 0; i < h->nr_keys; i++)
		if (f->modifier == HIST_STACKTRACE && h->key[i].modifier == HIST_STACKTRACE)
			return hist_fail(p, "Too many keys", at);
	fathom_hist_key_size(f);
	f->at = (uint16_t)h->key_bytes;
	h->key_bytes += f->size;
	h->nr_keys++;
	return 0;
}

/* `$x`: a variable of the same trigger, or of another one. */
static int hist_reference(struct hist_parser *p, size_t at, size_t n, struct hist_field *f)
{
	struct ctl_hist *h = p->h;
	const char *what = "Couldn't find variable";
	int own = fathom_hist_own(h, p->command + at, n), ref = -1;

	__builtin_memset(f, 0, sizeof(*f));
	if (own < 0)
		ref = fathom_hist_ref(h, p->command + at, n, 0, &what);
	if (own < 0 && ref < 0)
		return hist_fail(p, what, at);
	if (own >= 0 ? h->variable[own].field.size
		     : h->ref[ref].from->variable[h->ref[ref].var].field.size)
		return hist_fail(p, "String type can not be an operand in expression", at);
	f->var = (uint8_t)(own + 1);
	f->ref = (uint8_t)(ref + 1);
	__builtin_memcpy(f->name, p->command + at, n);
	h->nr_values++;
	return 0;
}

/* `x=field` of a text: the text is kept, not a number. */
static int hist_text_variable(struct hist_parser *p, size_t at, size_t n, struct hist_var *v)
{
	struct hist_field *f = &v->field;

	if (ctl_find(p->command + at, n, '$') < n || n >= sizeof(f->name) ||
	    fathom_operand_find(p->ev, p->command + at, n, &f->op) || !hist_text_kind(&f->op)) {
		__builtin_memset(f, 0, sizeof(*f));
		return 0;
	}
	__builtin_memcpy(f->name, p->command + at, n);
	fathom_hist_key_size(f);
	return 1;
}

/* `x=expression`. */
static int hist_add_variable(struct hist_parser *p, size_t at, size_t n)
{
	struct ctl_hist *h = p->h;
	struct hist_var *v = &h->variable[h->nr_vars];
	size_t name_len = ctl_find(p->command + at, n, '='), text_len, where = 0;
	const char *what = 0;

	if (h->nr_vars == HIST_VARS_MAX)
		return hist_fail(p, "Too many variables defined", at);
	text_len = name_len < n ? n - name_len - 1 : 0;
	if (name_len >= sizeof(v->name) || text_len >= sizeof(v->text) || !text_len)
		return hist_fail(p, "Malformed assignment", at);
	for (uint32_t i = 0; i < h->nr_vars; i++)
		if (ctl_is(p->command + at, name_len, h->variable[i].name))
			return hist_fail(p, "Variable already defined", at);
	__builtin_memcpy(v->name, p->command + at, name_len);
	__builtin_memcpy(v->text, p->command + at + name_len + 1, text_len);
	at += name_len + 1;
	if (!hist_text_variable(p, at, text_len, v) &&
	    fathom_hist_expr_parse(h, p->ev, p->command, at, text_len, &v->expr, &what, &where))
		return hist_fail(p, what, where);
	h->nr_vars++;
	return 0;
}

/* The first value, always: the text may say how it is shown. */
static int hist_hitcount(struct hist_parser *p, size_t at, size_t n)
{
	struct hist_field *f = &p->h->value[0];
	size_t dot = ctl_find(p->command + at, n, '.');

	if (dot == n)
		return 0;
	if (hist_modifier(f, p->command + at + dot + 1, n - dot - 1) ||
	    (!hist_of_value_only(f) && f->modifier != HIST_HEX))
		return hist_fail(p, "Invalid field modifier", at + dot + 1);
	return 0;
}

static int hist_add_value(struct hist_parser *p, size_t at, size_t n)
{
	struct ctl_hist *h = p->h;
	struct hist_field *f = &h->value[h->nr_values];
	int err;

	if (ctl_is(p->command + at, ctl_find(p->command + at, n, '.'), "hitcount"))
		return hist_hitcount(p, at, n);
	if (h->nr_values == HIST_VALUES_MAX)
		return hist_fail(p, "Too many values", at);
	if (ctl_find(p->command + at, n, '$') < n && n < sizeof(f->name))
		return hist_reference(p, at, n, f);
	err = hist_field(p, at, n, f);
	if (err)
		return err;
	if (hist_text_kind(&f->op) || f->modifier == HIST_STACKTRACE || f->modifier == HIST_LOG2 ||
	    f->modifier == HIST_BUCKETS)
		return hist_fail(p, "Invalid field modifier", at);
	h->nr_values++;
	return 0;
}

static int hist_sort_name(struct hist_parser *p, struct hist_sort *s, const char *name, size_t n)
{
	struct ctl_hist *h = p->h;

	for (uint32_t i = 0; i < h->nr_values; i++)
		if (ctl_is(name, n, h->value[i].name)) {
			*s = (struct hist_sort){0, (uint8_t)i, 0};
			return 0;
		}
	for (uint32_t i = 0; i < h->nr_keys; i++)
		if (ctl_is(name, n, h->key[i].name)) {
			*s = (struct hist_sort){1, (uint8_t)i, 0};
			return 0;
		}
	return -1;
}

static int hist_add_sort(struct hist_parser *p, size_t at, size_t n)
{
	struct ctl_hist *h = p->h;
	struct hist_sort *s = &h->sort[h->nr_sorts];
	const char *name = p->command + at;
	size_t dot = ctl_find(name, n, '.'), skip = 0;

	if (dot < n && ctl_is(name + dot + 1, n - dot - 1, "descending"))
		skip = 1;
	else if (dot < n && !ctl_is(name + dot + 1, n - dot - 1, "ascending"))
		return hist_fail(p, "Invalid sort modifier", at + dot + 1);
	if (hist_sort_name(p, s, name, dot))
		return hist_fail(p, "Sort field must be a key or a val", at);
	s->descending = (uint8_t)skip;
	h->nr_sorts++;
	return 0;
}

/* Errors of the list as a whole point at the word `sort`. */
static int hist_sorts(struct hist_parser *p)
{
	const char *list = p->command + p->sort_at;
	size_t word = p->sort_at - 5, parts = 1;

	if (!p->sort_len)
		return hist_fail(p, "Empty assignment", word);
	for (size_t i = 0; i < p->sort_len; i++)
		parts += list[i] == ',';
	if (parts > HIST_SORTS_MAX)
		return hist_fail(p, "Too many sort fields (Max = 2)", word);
	if (list[p->sort_len - 1] == ',' || list[0] == ',')
		return hist_fail(p, "Empty sort field", word);
	return hist_list(p, p->sort_at, p->sort_len, hist_add_sort);
}

static int hist_set_size(struct hist_parser *p, size_t at, size_t n)
{
	uint64_t v;
	uint32_t size = HIST_SIZE_MIN;

	if (fathom_ctl_number(p->command + at, n, 0, &v) || v > HIST_SIZE_MAX || v < HIST_SIZE_MIN)
		return -FATHOM_EINVAL;
	while (size < v)
		size *= 2;
	p->h->size = size;
	return 0;
}

static int hist_set_name(struct hist_parser *p, size_t at, size_t n)
{
	if (!n || n > HIST_NAME_MAX)
		return -FATHOM_EINVAL;
	__builtin_memcpy(p->h->name, p->command + at, n);
	return 0;
}

/* `x=`: the length of the name, or 0. `foo=bar` is one too, and fails on its expression. */
static size_t hist_name_len(const char *s, size_t n)
{
	size_t k = 0;

	while (k < n && ctl_word(s[k]))
		k++;
	return k < n && s[k] == '=' ? k : 0;
}

static int hist_add_action(struct hist_parser *p, size_t at, size_t n)
{
	const char *what = 0;
	size_t where = 0;
	int got = fathom_hist_action_parse(p->h, p->ev, p->command + at, n, &what, &where);

	if (got < 0 && what)
		return hist_fail(p, what, at + where);
	return got > 0 ? 0 : -FATHOM_EINVAL;
}

/* One part between colons. */
static int hist_part(struct hist_parser *p, size_t at, size_t n, enum hist_order *order)
{
	const char *s = p->command + at;
	size_t k;

	if (ctl_is(s, n, "pause"))
		*order = HIST_PAUSE;
	else if (ctl_is(s, n, "cont") || ctl_is(s, n, "continue"))
		*order = HIST_CONTINUE;
	else if (ctl_is(s, n, "clear"))
		*order = HIST_CLEAR;
	else if (ctl_is(s, n, "nohitcount") || ctl_is(s, n, "NOHC"))
		p->h->no_hitcount = 1;
	else if ((k = ctl_starts(s, n, "keys=")) || (k = ctl_starts(s, n, "key=")))
		return k == n ? hist_fail(p, "Empty assignment", at)
			      : hist_list(p, at + k, n - k, hist_add_key);
	else if ((k = ctl_starts(s, n, "vals=")) || (k = ctl_starts(s, n, "values=")) ||
		 (k = ctl_starts(s, n, "val=")))
		return k == n ? hist_fail(p, "Empty assignment", at)
			      : hist_list(p, at + k, n - k, hist_add_value);
	else if ((k = ctl_starts(s, n, "sort="))) {
		p->have_sort = 1;
		p->sort_at = at + k;
		p->sort_len = n - k;
	} else if ((k = ctl_starts(s, n, "size=")))
		return hist_set_size(p, at + k, n - k);
	else if ((k = ctl_starts(s, n, "name=")))
		return hist_set_name(p, at + k, n - k);
	else if (hist_name_len(s, n))
		return hist_list(p, at, n, hist_add_variable);
	else
		return hist_add_action(p, at, n);
	return 0;
}

/* Which events onmatch() names, ahead of the variables that may be theirs. What is wrong is told when it is parsed. */
static void hist_matches(struct hist_parser *p, size_t at, size_t len)
{
	while (len) {
		const char *s = p->command + at;
		size_t n = ctl_find(s, len, ':'), k = ctl_starts(s, n, "onmatch(");
		const char *what;

		if (k)
			fathom_hist_match_parse(p->h, s + k, ctl_find(s + k, n - k, ')'), &what);
		at += n + (n < len);
		len -= n + (n < len);
	}
}

int fathom_hist_parse(struct ctl_instance *tr, const struct fathom_event *ev, const char *command,
		      size_t at, size_t len, struct ctl_hist *out, enum hist_order *order)
{
	struct hist_parser p = {.tr = tr, .ev = ev, .command = command, .end = at + len, .h = out};
	int err = 0;

	__builtin_memset(out, 0, sizeof(*out));
	*order = HIST_SET;
	out->size = FATHOM_HIST_ENTRIES;
	out->tr = tr;
	out->nr_values = 1;
	out->value[0].hitcount = 1;
	__builtin_memcpy(out->value[0].name, "hitcount", 9);
	hist_matches(&p, at, len);
	while (len && !err) {
		size_t n = ctl_find(command + at, len, ':');

		if (n)
			err = hist_part(&p, at, n, order);
		at += n + (n < len);
		len -= n + (n < len);
	}
	if (!err && !out->nr_keys)
		err = -FATHOM_EINVAL;
	if (!err && out->no_hitcount && out->nr_values == 1)
		err = hist_fail(&p, "Non-hitcount value is required for 'nohitcount'", 0);
	if (!err && p.have_sort)
		err = hist_sorts(&p);
	if (!err && !out->nr_sorts)
		out->nr_sorts = 1; /* by hitcount, ascending */
	return err;
}

/* By name and by place: a histogram that events share by name reads the records of all of them. */
static int hist_same_field(const struct hist_field *a, const struct hist_field *b)
{
	return ctl_same(a->name, b->name) && a->modifier == b->modifier &&
	       a->buckets == b->buckets && a->op.kind == b->op.kind &&
	       a->op.offset == b->op.offset && a->op.size == b->op.size &&
	       a->op.is_signed == b->op.is_signed;
}

int fathom_hist_same(const struct ctl_hist *a, const struct ctl_hist *b)
{
	if (!ctl_same(a->name, b->name) || a->nr_keys != b->nr_keys ||
	    a->nr_values != b->nr_values || a->nr_sorts != b->nr_sorts ||
	    a->nr_vars != b->nr_vars || a->no_hitcount != b->no_hitcount)
		return 0;
	if (!fathom_hist_actions_same(a, b))
		return 0;
	for (uint32_t i = 0; i < a->nr_vars; i++)
		if (!ctl_same(a->variable[i].name, b->variable[i].name) ||
		    !ctl_same(a->variable[i].text, b->variable[i].text))
			return 0;
	for (uint32_t i = 0; i < a->nr_keys; i++)
		if (!hist_same_field(&a->key[i], &b->key[i]))
			return 0;
	for (uint32_t i = 0; i < a->nr_values; i++)
		if (!hist_same_field(&a->value[i], &b->value[i]))
			return 0;
	return !__builtin_memcmp(a->sort, b->sort, a->nr_sorts * sizeof(a->sort[0]));
}
