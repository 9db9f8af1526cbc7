/* SPDX-License-Identifier: MIT */
/* ast.h -- a program of bpftrace's language as a tree, with the types of its values. */
#ifndef PROGRAM_AST_H
#define PROGRAM_AST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A stretch of the text: lines and columns count from 1, the last column is the one after it. */
struct place {
	uint32_t line, column, end;
};

enum type_kind {
	VALUE_NONE, /* not known yet, or nothing */
	VALUE_INT,
	VALUE_STRING, /* `bytes` with its end */
	VALUE_TUPLE,
	VALUE_KSTACK,
	VALUE_USTACK,
	VALUE_KSYM,
	VALUE_USYM,
	VALUE_PROBE,   /* number of a probe, shown as its name */
	VALUE_TIME,    /* of strftime(): a time and the number of its format */
	VALUE_POINTER, /* an address in the traced program, whose memory is not in the trace */
	VALUE_COUNT,   /* from here on: what a map gathers */
	VALUE_SUM,
	VALUE_MIN,
	VALUE_MAX,
	VALUE_AVG,
	VALUE_STATS,
	VALUE_HIST,
	VALUE_LHIST,
};

#define TUPLE_MAX 8

struct type {
	enum type_kind kind;
	bool is_signed;	 /* integers, sums and the like */
	uint32_t bytes;	 /* integers: 1 to 8; strings: with their end; tuples: all */
	uint32_t nr;	 /* members of a tuple */
	struct type *of; /* members of a tuple */
};

/* Bytes of a value in memory: keys, values, variables, arguments of printf. A multiple of 8. */
uint32_t type_room(const struct type *t);
bool type_is_number(const struct type *t); /* fits a register and counts as a number */
bool type_is_gathered(const struct type *t);
bool type_same(const struct type *a, const struct type *b);
/* As bpftrace names it: "int64", "string[16]", "(int64,string[2])". Valid until the fourth next call. */
const char *type_name(const struct type *t);

enum node_kind {
	NODE_NUMBER,
	NODE_STRING,
	NODE_BUILTIN,  /* text: pid, comm, nsecs ... */
	NODE_NAME,     /* text: a constant such as TASK_RUNNING */
	NODE_VARIABLE, /* text: without the $ */
	NODE_MAP,      /* text: with the @; kids: keys */
	NODE_FIELD,    /* kid.text */
	NODE_INDEX,    /* kid[kid] */
	NODE_CALL,     /* text(kids) */
	NODE_UNARY,    /* op kid */
	NODE_BINARY,   /* kid op kid */
	NODE_TERNARY,
	NODE_CAST, /* type from text; kid */
	NODE_TUPLE,
	NODE_STEP, /* ++ and --: op; number is 1 if the new value is meant; kid is a map or a variable */
	/* statements */
	NODE_ASSIGN, /* kid = kid; op is the operator of +=, or 0 */
	NODE_IF,     /* kids: condition, then, else (may be NULL) */
	NODE_UNROLL, /* kids: how often, block */
	NODE_WHILE,  /* kids: condition, block */
	NODE_JUMP,   /* text: return, break, continue */
	NODE_BLOCK,
};

struct node {
	enum node_kind kind;
	int op; /* enum token */
	struct place at;
	const char *text;
	int64_t number;
	struct type type;  /* set by types.c, again for each probe, as is: */
	const void *bound; /* the field, map or variable that is meant */
	struct node **kids;
	uint32_t nr;
};

struct attach {
	const char *text; /* "tracepoint:sched:sched_switch" */
	struct place at;
};

struct clause {
	struct attach *attaches;
	uint32_t nr_attaches;
	struct node *predicate; /* NULL: none */
	struct node *block;
};

struct ast {
	struct clause *clauses;
	uint32_t nr_clauses;
	const char *file, *text;
	size_t bytes;
	struct arena *arena;
	/* $1 ... */
	char **parameters;
	uint32_t nr_parameters;
	bool failed;
};

/* Memory of one program, given back at once. Never NULL: the process ends when there is none. */
void *arena_take(struct arena **a, size_t bytes);
char *arena_text(struct arena **a, const char *text, size_t bytes);
void arena_free(struct arena *a);

/* Print `FILE:1:14-17: ERROR: ...`, the line, and a mark below the place; the program has failed. */
void ast_error(struct ast *t, struct place at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Fills t->clauses. False: errors were printed. */
bool ast_parse(struct ast *t);

#endif
