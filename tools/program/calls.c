/* SPDX-License-Identifier: MIT */
/* calls.c -- the types of builtins and of function calls. */
#include "program/compile.h"
#include "wire/bpf_image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values of C headers that bpftrace's tools include for these names. */
static const struct {
	const char *name;
	int64_t value;
} constants[] = {
	{"TASK_RUNNING", 0},
	{"TASK_INTERRUPTIBLE", 1},
	{"TASK_UNINTERRUPTIBLE", 2},
	{"__TASK_STOPPED", 4},
	{"__TASK_TRACED", 8},
	{"EXIT_DEAD", 16},
	{"EXIT_ZOMBIE", 32},
	{"TASK_PARKED", 64},
	{"TASK_DEAD", 128},
	{"TASK_WAKEKILL", 256},
	{"TASK_WAKING", 512},
	{"TASK_NOLOAD", 1024},
	{"TASK_NEW", 2048},
	{"AF_UNIX", 1},
	{"AF_INET", 2},
	{"AF_INET6", 10},
	{"true", 1},
	{"false", 0},
	{"TCP_ESTABLISHED", 1},
	{"TCP_SYN_SENT", 2},
	{"TCP_SYN_RECV", 3},
	{"TCP_FIN_WAIT1", 4},
	{"TCP_FIN_WAIT2", 5},
	{"TCP_TIME_WAIT", 6},
	{"TCP_CLOSE", 7},
	{"TCP_CLOSE_WAIT", 8},
	{"TCP_LAST_ACK", 9},
	{"TCP_LISTEN", 10},
	{"TCP_CLOSING", 11},
};

bool constant_named(const char *name, int64_t *out)
{
	size_t i;

	for (i = 0; i < sizeof(constants) / sizeof(*constants); i++)
		if (!strcmp(constants[i].name, name)) {
			*out = constants[i].value;
			return true;
		}
	return false;
}

/* ---- builtins ---- */

static bool is_function(const struct generator *c)
{
	return c->probe->kind == PROBE_ENTRY || c->probe->kind == PROBE_RETURN;
}

/* Inside a target, what registers had comes after the record (wire/bpf_image.h). */
static const struct format_field *of_registers(struct generator *c, const char *name)
{
	const struct format *from = c->probe->format;
	struct format_field *f;
	uint32_t end = 0;

	if (!c->live || !from)
		return from ? format_field(from, name) : NULL;
	for (uint32_t i = 0; i < from->nr_fields; i++)
		if (from->fields[i].offset + from->fields[i].size > end)
			end = from->fields[i].offset + from->fields[i].size;
	f = arena_take(&c->ast->arena, sizeof(*f));
	*f = (struct format_field){.offset = (end + 7) & ~7u, .size = 8, .elem_size = 8};
	return f;
}

static struct type of_argument(struct generator *c, struct node *n)
{
	const struct format_field *f;

	if (c->probe->kind != PROBE_ENTRY) {
		ast_error(c->ast, n->at, "The %s builtin can only be used with kprobe probes",
			  n->text);
		return type_int(8, false);
	}
	n->number = strtol(n->text + 3, NULL, 10);
	n->bound = f = of_registers(c, "args");
	if (c->live && n->number >= BPF_CONTEXT_ARGS)
		ast_error(c->ast, n->at, "a target knows arg0 to arg%d", BPF_CONTEXT_ARGS - 1);
	if (!f && c->final)
		ast_error(c->ast, n->at,
			  "the trace has no arguments of functions: record it with the option "
			  "func-args");
	return type_int(8, false);
}

static struct type of_retval(struct generator *c, struct node *n)
{
	if (c->probe->kind != PROBE_RETURN) {
		ast_error(c->ast, n->at,
			  "The retval builtin can only be used with kretprobe probes");
		return type_int(8, true);
	}
	n->bound = of_registers(c, "retval");
	if (!n->bound && c->final)
		ast_error(c->ast, n->at,
			  "the trace has no return values: record it with the option "
			  "funcgraph-retval");
	return type_int(8, true);
}

static struct type of_probe(struct generator *c)
{
	if (is_function(c))
		types_ordered(c); /* the numbers of the names are given in order */
	return is_function(c) ? type_of(VALUE_PROBE)
			      : type_string((uint32_t)strlen(c->probe->name) + 1);
}

static struct type of_stack(struct generator *c, const char *name)
{
	types_ordered(c);
	return type_of(*name == 'k' ? VALUE_KSTACK : VALUE_USTACK);
}

static const char *const not_recorded[] = {"uid",   "gid",   "username", "cgroup", "curtask",
					   "rand",  "ctx",   "numaid",	 "cpid",   "sarg0",
					   "sarg1", "sarg2", "sarg3",	 "sarg4",  NULL};

struct type types_builtin(struct generator *c, struct node *n, bool *known)
{
	const char *t = n->text;
	int i;

	if (!strcmp(t, "pid") || !strcmp(t, "tid"))
		return type_int(4, false);
	if (!strcmp(t, "cpu"))
		return type_int(4, false);
	if (!strcmp(t, "nsecs") || !strcmp(t, "elapsed"))
		return type_int(8, false);
	if (!strcmp(t, "comm"))
		return type_string(COMM_BYTES);
	if (!strcmp(t, "probe"))
		return of_probe(c);
	if (!strcmp(t, "retval"))
		return of_retval(c, n);
	if (!strncmp(t, "arg", 3) && t[3] >= '0' && t[3] <= '9' && !t[4])
		return of_argument(c, n);
	if (!strcmp(t, "kstack") || !strcmp(t, "ustack"))
		return of_stack(c, t);
	if (!strcmp(t, "func")) {
		if (!is_function(c))
			ast_error(c->ast, n->at,
				  "The func builtin can only be used with kprobe and kretprobe "
				  "probes");
		return type_of(VALUE_KSYM);
	}
	if (!strcmp(t, "args")) {
		ast_error(c->ast, n->at, "args is used with a field: args->NAME");
		return type_int(8, true);
	}
	for (i = 0; not_recorded[i]; i++)
		if (!strcmp(t, not_recorded[i])) {
			ast_error(c->ast, n->at, "'%s' is not recorded in a trace", t);
			return type_int(8, false);
		}
	*known = false;
	return type_of(VALUE_NONE);
}

/* ---- calls ---- */

static bool takes(struct generator *c, struct node *n, uint32_t least, uint32_t most)
{
	if (n->nr >= least && n->nr <= most)
		return true;
	if (least == most)
		ast_error(c->ast, n->at, "%s() requires %u argument%s (%u provided)", n->text,
			  least, least == 1 ? "" : "s", n->nr);
	else
		ast_error(c->ast, n->at, "%s() takes %u to %u arguments (%u provided)", n->text,
			  least, most, n->nr);
	return false;
}

static bool number_argument(struct generator *c, struct node *n, uint32_t i)
{
	struct type t = types_node(c, n->kids[i]);

	if (t.kind == VALUE_NONE || type_is_number(&t))
		return true;
	ast_error(c->ast, n->at, "%s() only supports integer arguments (%s provided)", n->text,
		  t.kind == VALUE_STRING ? "string" : type_name(&t));
	return false;
}

static bool literal(struct generator *c, struct node *n, uint32_t i, int64_t *out)
{
	types_node(c, n->kids[i]);
	if (n->kids[i]->kind == NODE_NUMBER) {
		*out = n->kids[i]->number;
		return true;
	}
	if (n->kids[i]->kind == NODE_UNARY && n->kids[i]->op == '-' &&
	    n->kids[i]->kids[0]->kind == NODE_NUMBER) {
		*out = -n->kids[i]->kids[0]->number;
		return true;
	}
	ast_error(c->ast, n->kids[i]->at, "%s() expects a number that is written out here",
		  n->text);
	return false;
}

static struct type gather(struct generator *c, struct node *n, enum type_kind kind)
{
	struct type t = type_of(kind);

	if (kind == VALUE_COUNT) {
		takes(c, n, 0, 0);
		t.is_signed = true;
	} else if (takes(c, n, 1,
			 kind == VALUE_LHIST  ? 4
			 : kind == VALUE_HIST ? 2
					      : 1) &&
		   number_argument(c, n, 0)) {
		t.is_signed = n->kids[0]->type.is_signed;
	}
	return t;
}

/* lhist()'s limits belong to the map: they are kept with the node, for the assignment. */
static struct type linear(struct generator *c, struct node *n)
{
	int64_t v[3] = {0, 1, 1};
	uint32_t i;

	if (!takes(c, n, 4, 4) || !number_argument(c, n, 0))
		return type_of(VALUE_LHIST);
	for (i = 0; i < 3; i++)
		if (!literal(c, n, i + 1, &v[i]))
			return type_of(VALUE_LHIST);
	if (v[2] <= 0)
		ast_error(c->ast, n->at, "lhist() step must be >= 1 (%lld provided)",
			  (long long)v[2]);
	else if (v[0] > v[1])
		ast_error(c->ast, n->at,
			  "lhist() min must be less than max (provided min %lld and max %lld)",
			  (long long)v[0], (long long)v[1]);
	else if ((v[1] - v[0]) / v[2] > 1000)
		ast_error(c->ast, n->at,
			  "lhist() too many buckets, must be <= 1000 (would need %lld)",
			  (long long)((v[1] - v[0]) / v[2]));
	return gather(c, n, VALUE_LHIST);
}

static struct type map_call(struct generator *c, struct node *n, uint32_t most)
{
	struct map_spec *m;
	int64_t v;
	uint32_t i;

	if (!takes(c, n, 1, most))
		return type_of(VALUE_NONE);
	if (n->kids[0]->kind != NODE_MAP) {
		ast_error(c->ast, n->at, "%s() expects a map to be provided", n->text);
		return type_of(VALUE_NONE);
	}
	if (n->kids[0]->nr)
		ast_error(c->ast, n->at, "The map passed to %s() should not be indexed by a key",
			  n->text);
	for (i = 0, m = NULL; i < c->nr_maps; i++)
		if (!strcmp(c->maps[i].name, n->kids[0]->text))
			m = &c->maps[i];
	if (!m && c->final)
		ast_error(c->ast, n->kids[0]->at, "Undefined map: %s", n->kids[0]->text);
	n->kids[0]->bound = m ? (void *)(uintptr_t)(m - c->maps + 1) : NULL;
	for (i = 1; i < n->nr; i++)
		literal(c, n, i, &v);
	types_ordered(c);
	return type_of(VALUE_NONE);
}

static struct type print_call(struct generator *c, struct node *n)
{
	if (n->nr && n->kids[0]->kind == NODE_MAP && !n->kids[0]->nr)
		return map_call(c, n, 3);
	if (n->nr && n->kids[0]->kind == NODE_MAP)
		ast_error(c->ast, n->at,
			  "The map passed to print() should not be indexed by a key");
	if (takes(c, n, 1, 1))
		types_node(c, n->kids[0]);
	types_ordered(c);
	return type_of(VALUE_NONE);
}

static struct type delete_call(struct generator *c, struct node *n)
{
	uint32_t i;

	if (!n->nr)
		takes(c, n, 1, 1);
	for (i = 0; i < n->nr; i++) {
		if (n->kids[i]->kind == NODE_MAP)
			types_used(c, types_map(c, n->kids[i]));
		else
			ast_error(c->ast, n->at, "delete() expects a map to be provided");
	}
	return type_of(VALUE_NONE);
}

/* What a conversion of printf takes: a number or text. */
static bool fits(char conversion, const struct type *t)
{
	if (conversion == 's' || conversion == 'r')
		return t->kind == VALUE_STRING || t->kind == VALUE_KSYM || t->kind == VALUE_USYM ||
		       t->kind == VALUE_KSTACK || t->kind == VALUE_USTACK ||
		       t->kind == VALUE_PROBE || t->kind == VALUE_TIME || t->kind == VALUE_POINTER;
	return type_is_number(t);
}

static void printf_check(struct generator *c, struct node *n)
{
	const char *f = n->kids[0]->text;
	uint32_t i = 1;

	for (; (f = strchr(f, '%')) && !c->ast->failed; f++) {
		if (f[1] == '%') {
			f++;
			continue;
		}
		f += 1 + strspn(f + 1, "-+ #0123456789.");
		f += strspn(f, "hlzjt");
		if (!strchr("duxXipcsroeb", *f) || !*f) {
			ast_error(c->ast, n->at, "%s: unknown conversion '%%%c'", n->text,
				  *f ? *f : ' ');
			return;
		}
		if (i < n->nr && n->kids[i]->type.kind != VALUE_NONE &&
		    !fits(*f, &n->kids[i]->type)) {
			ast_error(c->ast, n->at,
				  "%s: %%%c specifier expects a value of type %s (%s supplied)",
				  n->text, *f, *f == 's' ? "string" : "integer",
				  n->kids[i]->type.kind == VALUE_STRING
					  ? "string"
					  : type_name(&n->kids[i]->type));
			return;
		}
		i++;
	}
	if (i > n->nr)
		ast_error(c->ast, n->at,
			  "%s: Not enough arguments for format string (%u supplied, %u expected)",
			  n->text, n->nr - 1, i - 1);
	if (i < n->nr)
		ast_error(c->ast, n->at,
			  "%s: Too many arguments for format string (%u supplied, %u expected)",
			  n->text, n->nr - 1, i - 1);
}

static bool text_argument(struct generator *c, struct node *n, uint32_t i)
{
	types_node(c, n->kids[i]);
	if (n->kids[i]->kind == NODE_STRING)
		return true;
	ast_error(c->ast, n->at, "%s() expects a string literal (%s provided)", n->text,
		  type_name(&n->kids[i]->type));
	return false;
}

static struct type printf_call(struct generator *c, struct node *n)
{
	uint32_t i;

	if (!takes(c, n, 1, 32) || !text_argument(c, n, 0))
		return type_of(VALUE_NONE);
	for (i = 1; i < n->nr; i++)
		types_node(c, n->kids[i]);
	printf_check(c, n);
	types_ordered(c);
	return type_of(VALUE_NONE);
}

static struct type str_call(struct generator *c, struct node *n)
{
	int64_t most = STRING_BYTES;
	struct type t;

	if (!takes(c, n, 1, 2))
		return type_string(STRING_BYTES);
	t = types_node(c, n->kids[0]);
	if (n->nr == 2 && !literal(c, n, 1, &most))
		return t;
	if (most < 1 || most > 200)
		ast_error(c->ast, n->at, "str() takes a length from 1 to 200");
	if (t.kind == VALUE_STRING)
		return type_string(t.bytes > (uint32_t)most && n->nr == 2 ? (uint32_t)most
									  : t.bytes);
	if (t.kind != VALUE_NONE && !type_is_number(&t))
		ast_error(c->ast, n->at, "str() expects a string or an address (%s provided)",
			  type_name(&t));
	return (struct type){.kind = VALUE_POINTER, .bytes = 8}; /* the text is not in the trace */
}

static struct type kaddr_call(struct generator *c, struct node *n)
{
	if (takes(c, n, 1, 1) && text_argument(c, n, 0) && c->final)
		ast_error(c->ast, n->at,
			  "kaddr(): the memory of the traced kernel is not in the trace");
	return type_int(8, false);
}

static struct type strncmp_call(struct generator *c, struct node *n)
{
	int64_t v;

	if (takes(c, n, 3, 3)) {
		struct type a = types_node(c, n->kids[0]), b = types_node(c, n->kids[1]);

		if ((a.kind != VALUE_STRING && a.kind != VALUE_NONE) ||
		    (b.kind != VALUE_STRING && b.kind != VALUE_NONE))
			ast_error(c->ast, n->at, "strncmp() compares strings");
		literal(c, n, 2, &v);
	}
	return type_int(8, true);
}

static struct type stack_call(struct generator *c, struct node *n)
{
	uint32_t i;

	if (takes(c, n, 0, 2))
		for (i = 0; i < n->nr;
		     i++) /* a form of the text (perf, bpftrace) or a number of frames */
			if (n->kids[i]->kind != NODE_NAME && n->kids[i]->kind != NODE_NUMBER)
				ast_error(c->ast, n->kids[i]->at, "%s() takes a number of frames",
					  n->text);
	return of_stack(c, n->text);
}

static const struct {
	const char *name;
	enum type_kind kind;
} gathers[] = {{"count", VALUE_COUNT}, {"sum", VALUE_SUM}, {"min", VALUE_MIN},
	       {"max", VALUE_MAX},     {"avg", VALUE_AVG}, {"hist", VALUE_HIST},
	       {"stats", VALUE_STATS}};

static const char *const impossible[] = {"system",   "cat",	    "signal",	 "override",
					 "kptr",     "uptr",	    "reg",	 "uaddr",
					 "buf",	     "ntop",	    "pton",	 "macaddr",
					 "cgroupid", "cgroup_path", "skboutput", "unwatch",
					 NULL};

struct type types_call(struct generator *c, struct node *n)
{
	const char *t = n->text;
	size_t i;

	for (i = 0; i < sizeof(gathers) / sizeof(*gathers); i++)
		if (!strcmp(t, gathers[i].name))
			return gather(c, n, gathers[i].kind);
	if (!strcmp(t, "lhist"))
		return linear(c, n);
	if (!strcmp(t, "printf"))
		return printf_call(c, n);
	if (!strcmp(t, "print"))
		return print_call(c, n);
	if (!strcmp(t, "clear") || !strcmp(t, "zero"))
		return map_call(c, n, 1);
	if (!strcmp(t, "delete"))
		return delete_call(c, n);
	if (!strcmp(t, "str"))
		return str_call(c, n);
	if (!strcmp(t, "ksym") || !strcmp(t, "usym")) {
		if (takes(c, n, 1, 1))
			number_argument(c, n, 0);
		return type_of(*t == 'k' ? VALUE_KSYM : VALUE_USYM);
	}
	if (!strcmp(t, "kstack") || !strcmp(t, "ustack"))
		return stack_call(c, n);
	if (!strcmp(t, "strncmp"))
		return strncmp_call(c, n);
	if (!strcmp(t, "kaddr"))
		return kaddr_call(c, n);
	if (!strcmp(t, "bswap")) {
		if (takes(c, n, 1, 1))
			number_argument(c, n, 0);
		return type_int(n->nr ? n->kids[0]->type.bytes : 8, false);
	}
	if (!strcmp(t, "strftime")) {
		if (takes(c, n, 2, 2) && text_argument(c, n, 0))
			number_argument(c, n, 1);
		return type_of(VALUE_TIME);
	}
	if (!strcmp(t, "time")) {
		if (takes(c, n, 0, 1) && n->nr)
			text_argument(c, n, 0);
		types_ordered(c);
		return type_of(VALUE_NONE);
	}
	if (!strcmp(t, "join")) {
		if (takes(c, n, 1, 2))
			types_node(c, n->kids[0]);
		types_ordered(c);
		return type_of(VALUE_NONE);
	}
	if (!strcmp(t, "exit")) {
		takes(c, n, 0, 0);
		types_ordered(c);
		return type_of(VALUE_NONE);
	}
	for (i = 0; impossible[i]; i++)
		if (!strcmp(t, impossible[i])) {
			ast_error(c->ast, n->at,
				  "%s() needs the running system: a trace cannot answer it", t);
			return type_int(8, true);
		}
	ast_error(c->ast, n->at, "Unknown function: %s", t);
	return type_int(8, true);
}
