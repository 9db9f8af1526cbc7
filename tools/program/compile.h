/* SPDX-License-Identifier: MIT */
/* compile.h -- inside the compiler: probes, maps, actions, and what its parts share. */
#ifndef PROGRAM_COMPILE_H
#define PROGRAM_COMPILE_H

#include "decode/source.h"
#include "program/ast.h"
#include "wire/bpf.h"

/*
 * text -> ast (tokens.c, parse.c) -> types (types.c, calls.c), until no map's type changes -> eBPF (gen.c, gen_call.c)
 *
 * A clause is compiled once for each probe that its attach points match, because a field may lie elsewhere in another
 * event. What cannot be done inside a probe (printing, clearing a map, ending) is an *action*: the program emits its
 * number with the values it needs, and the reader carries it out.
 */

enum probe_kind {
	PROBE_BEGIN,
	PROBE_END,
	PROBE_EVENT,	/* tracepoint:SYSTEM:NAME */
	PROBE_ENTRY,	/* kprobe:FUNCTION */
	PROBE_RETURN,	/* kretprobe:FUNCTION */
	PROBE_INTERVAL, /* once per period */
	PROBE_PROFILE,	/* once per period and CPU */
};

struct probe {
	enum probe_kind kind;
	const char *name; /* as bpftrace prints it; of functions: the pattern */
	struct place at;
	struct clause *clause;
	const struct schema *schema; /* of events and functions */
	const struct format *format;
	uint64_t period_ns;
	const char *pattern; /* of functions: a glob */
	/* Compiled: */
	struct bpf_insn *code;
	uint32_t nr_code;
	uint32_t stack_bytes;
	uint32_t record_bytes; /* that a record must have at least */
	bool uses_stack;       /* kstack or ustack */
	bool uses_user_stack;
};

#define KEYS_MAX 8

/* A map of an object (object.h): its own kind and sizes. On the host its key is filled up to words, a CPU's number after it. */
struct map_raw {
	bool is; /* it is one */
	enum bpf_map_kind kind;
	uint32_t linux_type, key_bytes, value_bytes, entries;
	bool key_is_text;
	bool is_constant; /* it only has what it began with: not shown */
};

struct map_spec {
	const char *name; /* "@start" */
	struct type keys[KEYS_MAX];
	uint32_t nr_keys;
	bool keys_known;
	struct type value;
	uint32_t key_bytes, value_bytes;
	int64_t min, max, step; /* of lhist() */
	struct map_raw raw;
	bool is_read; /* its values are used or replaced: the order of events matters */
};

enum action_kind {
	ACTION_PRINTF,
	ACTION_PRINT_MAP,
	ACTION_PRINT_VALUE,
	ACTION_CLEAR,
	ACTION_ZERO,
	ACTION_TIME,
	ACTION_JOIN,
	ACTION_EXIT,
};

struct action {
	enum action_kind kind;
	const char *format;
	struct type *args;
	uint32_t nr_args;
	uint32_t map;
	int64_t top, div;
};

struct variable {
	const char *name;
	struct type type;
	int32_t at; /* of its memory below the frame pointer; 0: none yet */
};

struct generator {
	struct ast *ast;
	struct source *source;
	bool is_object; /* of clang, not a text: there is no line to point at */
	bool live;	/* it runs inside the target whose formats and symbols `source` has */
	struct probe *probes;
	uint32_t nr_probes;
	struct map_spec *maps;
	uint32_t nr_maps;
	struct action *actions;
	uint32_t nr_actions;
	const char **times; /* formats of strftime() */
	uint32_t nr_times;
	/* While a clause is worked on: */
	struct probe *probe;
	struct variable *variables;
	uint32_t nr_variables;
	bool final;   /* types are settled: what is unknown now is an error */
	bool changed; /* a map's type became known */
	bool orders;  /* something needs the events in the order of time */
};

#define STRING_BYTES 64 /* of a string whose length is not known */
#define COMM_BYTES   16

/* match.c: the probes that the attach points of all clauses stand for. False: errors were printed. */
bool match_probes(struct generator *c);

/* types.c */
bool types_clause(struct generator *c, struct probe *p);
struct type types_node(struct generator *c, struct node *n);
struct map_spec *types_map(struct generator *c, struct node *n);
bool types_is_args(const struct node *n);

/* What happens here depends on the order of events; so does this map. Before the first and after the last it does not. */
static inline void types_ordered(struct generator *c)
{
	if (c->probe->kind != PROBE_BEGIN && c->probe->kind != PROBE_END)
		c->orders = true;
}

static inline void types_used(struct generator *c, struct map_spec *m)
{
	if (c->probe->kind != PROBE_BEGIN && c->probe->kind != PROBE_END)
		m->is_read = true;
}

/* calls.c: builtins and functions. */
struct type types_builtin(struct generator *c, struct node *n, bool *known);
struct type types_call(struct generator *c, struct node *n);
/* Constants of headers that tools include. */
bool constant_named(const char *name, int64_t *out);

/* gen.c: eBPF of one probe's clause. */
bool gen_clause(struct generator *c, struct probe *p);

/* gen.c: another action; its number is nr_actions - 1. */
struct action *compiler_action(struct generator *c, enum action_kind kind);

static inline struct type type_int(uint32_t bytes, bool is_signed)
{
	return (struct type){.kind = VALUE_INT, .bytes = bytes, .is_signed = is_signed};
}

static inline struct type type_of(enum type_kind kind)
{
	return (struct type){.kind = kind, .bytes = 8};
}

static inline struct type type_string(uint32_t bytes)
{
	return (struct type){.kind = VALUE_STRING, .bytes = bytes};
}

#endif
