/* SPDX-License-Identifier: MIT */
/* types.c -- what every expression of a clause is, and every map. */
#include "program/compile.h"
#include "program/tokens.h"

#include <stdio.h>
#include <string.h>

uint32_t type_room(const struct type *t)
{
	switch (t->kind) {
	case VALUE_STRING:
	case VALUE_TUPLE: return (t->bytes + 7) & ~7u;
	case VALUE_TIME: return 16;
	default: return 8;
	}
}

bool type_is_gathered(const struct type *t)
{
	return t->kind >= VALUE_COUNT;
}

bool type_is_number(const struct type *t)
{
	switch (t->kind) {
	case VALUE_INT:
	case VALUE_POINTER:
	case VALUE_KSYM:
	case VALUE_USYM:
	case VALUE_KSTACK:
	case VALUE_USTACK:
	case VALUE_PROBE:
	case VALUE_COUNT:
	case VALUE_SUM:
	case VALUE_MIN:
	case VALUE_MAX:
	case VALUE_AVG: return true;
	default: return false;
	}
}

static bool plain(const struct type *t)
{
	return t->kind == VALUE_INT || t->kind == VALUE_POINTER;
}

bool type_same(const struct type *a, const struct type *b)
{
	uint32_t i;

	if (plain(a) && plain(b))
		return true;
	if (a->kind != b->kind || (a->kind == VALUE_TUPLE && a->nr != b->nr))
		return false;
	for (i = 0; a->kind == VALUE_TUPLE && i < a->nr; i++)
		if (!type_same(&a->of[i], &b->of[i]))
			return false;
	return true;
}

const char *type_name(const struct type *t)
{
	static const char *const names[] = {
		[VALUE_NONE] = "none",	    [VALUE_KSTACK] = "kstack", [VALUE_USTACK] = "ustack",
		[VALUE_KSYM] = "ksym",	    [VALUE_USYM] = "usym",     [VALUE_PROBE] = "probe",
		[VALUE_TIME] = "timestamp", [VALUE_COUNT] = "count",   [VALUE_SUM] = "sum",
		[VALUE_MIN] = "min",	    [VALUE_MAX] = "max",       [VALUE_AVG] = "avg",
		[VALUE_STATS] = "stats",    [VALUE_HIST] = "hist",     [VALUE_LHIST] = "lhist",
	};
	static char texts[4][160];
	static int turn;
	char *out = texts[turn++ & 3];
	size_t n = 0;
	uint32_t i;

	switch (t->kind) {
	case VALUE_INT:
	case VALUE_POINTER:
		snprintf(out, 160, "%sint%u", t->is_signed ? "" : "unsigned ", t->bytes * 8);
		return out;
	case VALUE_STRING: snprintf(out, 160, "string[%u]", t->bytes); return out;
	case VALUE_TUPLE:
		n += (size_t)snprintf(out, 160, "(");
		for (i = 0; i < t->nr && n < 100; i++)
			n += (size_t)snprintf(out + n, 160 - n, "%s%s", i ? "," : "",
					      type_name(&t->of[i]));
		snprintf(out + n, 160 - n, ")");
		return out;
	default: return names[t->kind];
	}
}

/* ---- maps ---- */

static struct map_spec *map_named(struct generator *c, const char *name)
{
	struct map_spec *more;
	uint32_t i;

	for (i = 0; i < c->nr_maps; i++)
		if (!strcmp(c->maps[i].name, name))
			return &c->maps[i];
	more = arena_take(&c->ast->arena, sizeof(*more) * (c->nr_maps + 1));
	if (c->nr_maps)
		memcpy(more, c->maps, sizeof(*more) * c->nr_maps);
	c->maps = more;
	c->maps[c->nr_maps] = (struct map_spec){.name = name};
	return &c->maps[c->nr_maps++];
}

static const char *keys_text(const struct type *keys, uint32_t nr)
{
	static char texts[2][320];
	static int turn;
	char *out = texts[turn++ & 1];
	size_t n = (size_t)snprintf(out, 320, "[");
	uint32_t i;

	for (i = 0; i < nr && n < 300; i++)
		n += (size_t)snprintf(out + n, 320 - n, "%s%s", i ? ", " : "", type_name(&keys[i]));
	snprintf(out + n, 320 - n, "]");
	return out;
}

static void wider(struct generator *c, struct type *have, const struct type *found)
{
	uint32_t i;

	if (have->kind == VALUE_STRING && found->bytes > have->bytes) {
		have->bytes = found->bytes;
		c->changed = true;
	}
	for (i = 0; have->kind == VALUE_TUPLE && i < have->nr; i++)
		wider(c, &have->of[i], &found->of[i]);
}

static void tuple_layout(struct type *t)
{
	uint32_t i;

	for (i = 0, t->bytes = 0; i < t->nr; i++)
		t->bytes += type_room(&t->of[i]);
}

static void map_layout(struct map_spec *m)
{
	uint32_t i;

	for (i = 0, m->key_bytes = 0; i < m->nr_keys; i++) {
		if (m->keys[i].kind == VALUE_TUPLE)
			tuple_layout(&m->keys[i]);
		m->key_bytes += type_room(&m->keys[i]);
	}
	if (m->value.kind == VALUE_TUPLE)
		tuple_layout(&m->value);
	m->value_bytes = type_room(&m->value);
}

/* The map of a node, its keys compared with what they were before. */
struct map_spec *types_map(struct generator *c, struct node *n)
{
	struct map_spec *m = map_named(c, n->text);
	struct type keys[KEYS_MAX];
	bool known = true, same;
	uint32_t i;

	if (n->nr > KEYS_MAX) {
		ast_error(c->ast, n->at, "a map has at most %d keys, this one has %u", KEYS_MAX,
			  n->nr);
		return m;
	}
	for (i = 0; i < n->nr; i++) {
		keys[i] = types_node(c, n->kids[i]);
		known &= keys[i].kind != VALUE_NONE;
		if (type_is_gathered(&keys[i]) && !type_is_number(&keys[i]))
			ast_error(c->ast, n->kids[i]->at, "%s cannot be used as a map key",
				  type_name(&keys[i]));
		if (keys[i].kind == VALUE_INT)
			keys[i].bytes = 8; /* as they lie in the key */
	}
	m = map_named(c, n->text); /* the table may have grown */
	n->bound = (void *)(uintptr_t)(m - c->maps + 1);
	if (!known)
		return m;
	if (!m->keys_known) {
		memcpy(m->keys, keys, sizeof(keys));
		m->nr_keys = n->nr;
		m->keys_known = c->changed = true;
	}
	same = m->nr_keys == n->nr;
	for (i = 0; same && i < n->nr; i++)
		same = type_same(&m->keys[i], &keys[i]);
	for (i = 0; same && i < n->nr; i++)
		wider(c, &m->keys[i], &keys[i]);
	if (!same)
		ast_error(c->ast, n->at,
			  "Argument mismatch for %s: trying to access with arguments: %s when map "
			  "expects arguments: %s",
			  m->name, keys_text(keys, n->nr), keys_text(m->keys, m->nr_keys));
	map_layout(m);
	return m;
}

static void map_takes(struct generator *c, struct node *n, struct map_spec *m, const struct type *v)
{
	if (v->kind == VALUE_NONE)
		return;
	if (m->value.kind == VALUE_NONE) {
		m->value = *v;
		if (v->kind == VALUE_INT)
			m->value.bytes = 8;
		c->changed = true;
	} else if (!type_same(&m->value, v)) {
		ast_error(c->ast, n->at,
			  "Type mismatch for %s: trying to assign value of type '%s' when map "
			  "already contains a value of type '%s'",
			  m->name, type_name(v), type_name(&m->value));
	} else {
		wider(c, &m->value, v);
	}
	map_layout(m);
}

/* ---- expressions ---- */

static struct variable *variable_named(struct generator *c, const char *name, bool make)
{
	struct variable *more;
	uint32_t i;

	for (i = 0; i < c->nr_variables; i++)
		if (!strcmp(c->variables[i].name, name))
			return &c->variables[i];
	if (!make)
		return NULL;
	more = arena_take(&c->ast->arena, sizeof(*more) * (c->nr_variables + 1));
	if (c->nr_variables)
		memcpy(more, c->variables, sizeof(*more) * c->nr_variables);
	c->variables = more;
	c->variables[c->nr_variables] = (struct variable){.name = name};
	return &c->variables[c->nr_variables++];
}

static struct type of_variable(struct generator *c, struct node *n)
{
	struct variable *v = variable_named(c, n->text, false);

	if (!v) {
		ast_error(c->ast, n->at, "Undefined or undeclared variable: $%s", n->text);
		return type_int(8, true);
	}
	return v->type;
}

bool types_is_args(const struct node *n)
{
	return n->kind == NODE_NAME && !strcmp(n->text, "args");
}

static struct type of_format_field(const struct format_field *f)
{
	if (f->flags & FORMAT_STRING)
		return type_string(f->flags & FORMAT_DYNAMIC || !f->nr_elems ? STRING_BYTES
				   : f->size > STRING_BYTES		     ? STRING_BYTES
									     : f->size);
	if (f->flags & FORMAT_POINTER)
		return (struct type){.kind = VALUE_POINTER, .bytes = 8};
	if (f->flags & (FORMAT_ARRAY | FORMAT_DYNAMIC))
		return type_of(VALUE_NONE); /* its members have one */
	return type_int(f->size, f->flags & FORMAT_SIGNED);
}

static const struct format_field *args_field(struct generator *c, struct node *n)
{
	const struct format_field *f;

	if (c->probe->kind != PROBE_EVENT) {
		ast_error(c->ast, n->at,
			  "The args builtin can only be used with tracepoint probes");
		return NULL;
	}
	f = c->probe->format ? format_field(c->probe->format, n->text) : NULL;
	if (!f && !strncmp(n->text, "data_loc_", 9)) /* an older name of the same */
		f = c->probe->format ? format_field(c->probe->format, n->text + 9) : NULL;
	if (!f)
		ast_error(c->ast, n->at, "%s has no field called '%s'", c->probe->name, n->text);
	return f;
}

static struct type of_field(struct generator *c, struct node *n)
{
	const struct format_field *f;
	struct type t;

	if (types_is_args(n->kids[0])) {
		n->bound = f = args_field(c, n);
		t = f ? of_format_field(f) : type_int(8, true);
		if (t.kind == VALUE_NONE && c->final)
			ast_error(c->ast, n->at, "'%s' is an array: use %s[0]", n->text, n->text);
		return t;
	}
	t = types_node(c, n->kids[0]);
	if (t.kind == VALUE_TUPLE && !*n->text) {
		if ((uint64_t)n->number < t.nr)
			return t.of[n->number];
		ast_error(c->ast, n->at, "Invalid tuple index: %lld. Found %u elements in tuple.",
			  (long long)n->number, t.nr);
	} else if (t.kind != VALUE_NONE) {
		ast_error(c->ast, n->at, "'%s' lies in memory that is not recorded in the trace",
			  n->text);
	}
	return type_int(8, true);
}

static struct type of_index(struct generator *c, struct node *n)
{
	struct node *of = n->kids[0];
	const struct format_field *f;

	if (of->kind != NODE_FIELD || !types_is_args(of->kids[0]) || n->nr != 2) {
		ast_error(c->ast, n->at, "only an array of the event's record can be indexed");
		return type_int(8, true);
	}
	of->bound = f = args_field(c, of);
	types_node(c, n->kids[1]);
	if (!f)
		return type_int(8, true);
	if (!(f->flags & FORMAT_ARRAY) || f->flags & FORMAT_DYNAMIC || !f->nr_elems)
		ast_error(c->ast, n->at, "'%s' is not an array of a fixed length", of->text);
	else if (n->kids[1]->kind != NODE_NUMBER || (uint64_t)n->kids[1]->number >= f->nr_elems)
		ast_error(c->ast, n->kids[1]->at, "the index must be a number from 0 to %u",
			  f->nr_elems - 1);
	return type_int(f->elem_size, f->flags & FORMAT_SIGNED);
}

static void need_number(struct generator *c, struct node *n, const char *what)
{
	if (n->type.kind != VALUE_NONE && !type_is_number(&n->type))
		ast_error(c->ast, n->at,
			  "The %s operator can not be used on expressions of type '%s'", what,
			  type_name(&n->type));
}

static const char *op_text(int op)
{
	static char one[2];

	switch (op) {
	case TOKEN_EQ: return "==";
	case TOKEN_NE: return "!=";
	case TOKEN_LE: return "<=";
	case TOKEN_GE: return ">=";
	case TOKEN_LEFT: return "<<";
	case TOKEN_RIGHT: return ">>";
	case TOKEN_AND: return "&&";
	case TOKEN_OR: return "||";
	default: one[0] = (char)op; return one;
	}
}

static struct type of_binary(struct generator *c, struct node *n)
{
	struct type a = types_node(c, n->kids[0]), b = types_node(c, n->kids[1]);
	bool compares = n->op == TOKEN_EQ || n->op == TOKEN_NE;

	if (a.kind == VALUE_NONE || b.kind == VALUE_NONE)
		return type_int(8, true);
	if (compares && a.kind == VALUE_STRING && b.kind == VALUE_STRING)
		return type_int(8, true);
	if (a.kind == VALUE_STRING || b.kind == VALUE_STRING) {
		if (a.kind != b.kind)
			ast_error(c->ast, n->at, "Type mismatch for '%s': comparing '%s' with '%s'",
				  op_text(n->op), type_name(&a), type_name(&b));
		else
			ast_error(c->ast, n->at,
				  "The %s operator can not be used on expressions of types %s, %s",
				  op_text(n->op), type_name(&a), type_name(&b));
		return type_int(8, true);
	}
	need_number(c, n->kids[0], op_text(n->op));
	need_number(c, n->kids[1], op_text(n->op));
	if (compares || n->op == TOKEN_AND || n->op == TOKEN_OR || n->op == '<' || n->op == '>' ||
	    n->op == TOKEN_LE || n->op == TOKEN_GE)
		return type_int(8, true);
	return type_int(8, a.is_signed && b.is_signed);
}

static struct type of_tuple(struct generator *c, struct node *n)
{
	struct type t = {.kind = VALUE_TUPLE, .nr = n->nr};
	uint32_t i;

	t.of = arena_take(&c->ast->arena, sizeof(*t.of) * n->nr);
	for (i = 0; i < n->nr; i++) {
		t.of[i] = types_node(c, n->kids[i]);
		if (t.of[i].kind == VALUE_INT)
			t.of[i].bytes = 8;
	}
	tuple_layout(&t);
	return t;
}

static struct type of_ternary(struct generator *c, struct node *n)
{
	struct type a, b;

	types_node(c, n->kids[0]);
	a = types_node(c, n->kids[1]);
	b = types_node(c, n->kids[2]);
	if (a.kind == VALUE_NONE)
		return b;
	if (b.kind != VALUE_NONE && !type_same(&a, &b))
		ast_error(c->ast, n->at, "Ternary return type mismatch: have '%s' and '%s'",
			  type_name(&a), type_name(&b));
	if (a.kind == VALUE_STRING && b.bytes > a.bytes)
		a.bytes = b.bytes;
	return a;
}

static struct type of_cast(struct generator *c, struct node *n)
{
	const char *t = n->text;
	bool is_unsigned = *t == 'u';

	types_node(c, n->kids[0]);
	need_number(c, n->kids[0], "cast");
	if (!strcmp(t, "struct"))
		return (struct type){.kind = VALUE_POINTER, .bytes = 8};
	t += is_unsigned + 3;
	return type_int(*t == '8' ? 1 : *t == '1' ? 2 : *t == '3' ? 4 : 8, !is_unsigned);
}

static struct type of_map(struct generator *c, struct node *n)
{
	struct map_spec *m = types_map(c, n);

	if (m->value.kind == VALUE_NONE && c->final)
		ast_error(c->ast, n->at, "Undefined map: %s", n->text);
	types_used(c, m);
	return m->value;
}

static struct type of_step(struct generator *c, struct node *n)
{
	struct node *kid = n->kids[0];
	struct type number = type_int(8, true);

	if (kid->kind == NODE_MAP) {
		struct map_spec *m = types_map(c, kid);

		kid->type = number;
		if (m->value.kind != VALUE_COUNT && m->value.kind != VALUE_SUM)
			map_takes(c, kid, m, &number);
		types_used(c, m);
		return number;
	}
	return types_node(c, kid);
}

static struct type of_name(struct generator *c, struct node *n)
{
	bool known = true;
	struct type t = types_builtin(c, n, &known);

	if (known)
		return t;
	if (!constant_named(n->text, &n->number)) {
		ast_error(c->ast, n->at, "Unknown identifier: '%s'", n->text);
		return type_int(8, true);
	}
	n->kind = NODE_NUMBER;
	return type_int(8, true);
}

static struct type of_node(struct generator *c, struct node *n)
{
	switch (n->kind) {
	case NODE_NUMBER: return type_int(8, true);
	case NODE_STRING: return type_string((uint32_t)strlen(n->text) + 1);
	case NODE_NAME:
	case NODE_BUILTIN: return of_name(c, n);
	case NODE_VARIABLE: return of_variable(c, n);
	case NODE_MAP: return of_map(c, n);
	case NODE_FIELD: return of_field(c, n);
	case NODE_INDEX: return of_index(c, n);
	case NODE_CALL: return types_call(c, n);
	case NODE_UNARY:
		types_node(c, n->kids[0]);
		if (n->op == '*')
			ast_error(c->ast, n->at,
				  "the memory at an address is not recorded in the trace");
		need_number(c, n->kids[0], n->op == '!' ? "!" : n->op == '-' ? "-" : "~");
		return type_int(8, n->op == '-' || n->op == '!' || n->kids[0]->type.is_signed);
	case NODE_BINARY: return of_binary(c, n);
	case NODE_TERNARY: return of_ternary(c, n);
	case NODE_CAST: return of_cast(c, n);
	case NODE_TUPLE: return of_tuple(c, n);
	case NODE_STEP: return of_step(c, n);
	default: return type_of(VALUE_NONE);
	}
}

struct type types_node(struct generator *c, struct node *n)
{
	n->type = of_node(c, n);
	return n->type;
}

/* ---- statements ---- */

static void assign_variable(struct generator *c, struct node *n, const struct type *v)
{
	struct variable *var = variable_named(c, n->kids[0]->text, true);

	if (type_is_gathered(v) && !type_is_number(v)) {
		ast_error(c->ast, n->at, "%s can only be assigned to a map", type_name(v));
	} else if (var->type.kind == VALUE_NONE) {
		var->type = *v;
	} else if (v->kind != VALUE_NONE && !type_same(&var->type, v)) {
		ast_error(c->ast, n->kids[0]->at,
			  "Type mismatch for $%s: trying to assign value of type '%s' when "
			  "variable already contains a value of type '%s'",
			  var->name, type_name(v), type_name(&var->type));
	} else if (v->kind == VALUE_STRING && v->bytes > var->type.bytes) {
		var->type.bytes = v->bytes;
	}
	n->kids[0]->type = var->type;
}

static void assign(struct generator *c, struct node *n)
{
	struct type v = types_node(c, n->kids[1]);
	struct node *to = n->kids[0];
	struct map_spec *m;

	if (n->op) {
		need_number(c, n->kids[1], "compound assignment");
		v = type_int(8, v.is_signed);
	}
	if (to->kind == NODE_VARIABLE) {
		if (n->op && !variable_named(c, to->text, false))
			ast_error(c->ast, to->at, "Undefined or undeclared variable: $%s",
				  to->text);
		assign_variable(c, n, &v);
		return;
	}
	m = types_map(c, to);
	if (!type_is_gathered(&v) || n->op)
		types_used(c, m);
	map_takes(c, to, m, &v);
	to->type = m->value;
}

static void statement(struct generator *c, struct node *n)
{
	uint32_t i;

	switch (n->kind) {
	case NODE_BLOCK:
		for (i = 0; i < n->nr && !c->ast->failed; i++)
			statement(c, n->kids[i]);
		return;
	case NODE_ASSIGN: assign(c, n); return;
	case NODE_UNROLL:
		types_node(c, n->kids[0]);
		if (n->kids[0]->kind != NODE_NUMBER || n->kids[0]->number < 1 ||
		    n->kids[0]->number > 100)
			ast_error(c->ast, n->kids[0]->at, "unroll takes a number from 1 to 100");
		statement(c, n->kids[1]);
		return;
	case NODE_IF:
	case NODE_WHILE:
		types_node(c, n->kids[0]);
		if (n->kids[0]->type.kind == VALUE_STRING)
			ast_error(c->ast, n->kids[0]->at,
				  "Invalid condition: a string is neither true nor false");
		statement(c, n->kids[1]);
		if (n->nr > 2)
			statement(c, n->kids[2]);
		return;
	case NODE_JUMP: return;
	default:
		types_node(c, n);
		if (type_is_gathered(&n->type) && n->kind == NODE_CALL)
			ast_error(c->ast, n->at, "%s() should be directly assigned to a map",
				  n->text);
	}
}

bool types_clause(struct generator *c, struct probe *p)
{
	c->probe = p;
	c->nr_variables = 0;
	c->variables = NULL;
	if (p->clause->predicate) {
		struct type t = types_node(c, p->clause->predicate);

		if (t.kind != VALUE_NONE && !type_is_number(&t))
			ast_error(c->ast, p->clause->predicate->at,
				  "Invalid type for predicate: '%s'", type_name(&t));
	}
	if (!c->ast->failed)
		statement(c, p->clause->block);
	return !c->ast->failed;
}
