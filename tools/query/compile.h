/* SPDX-License-Identifier: MIT */
/* compile.h -- inside tools/query: the compiler's state, shared by expressions, helpers, print fmts and filters. */
#ifndef QUERY_COMPILE_H
#define QUERY_COMPILE_H

#include "query/expr.h"
#include "query/lex.h"

struct compiler {
	struct program *p;
	struct lexer lex;
	struct token t;		     /* the token to come */
	const struct format *format; /* NULL: no fields */
	const struct expr_env *env;  /* NULL: names of symbols are not known */
	uint8_t long_bytes;
	bool trace_cmd;		       /* be libtraceevent where it differs from the kernel */
	bool address;		       /* after a `&`: an element stands for all from it on */
	bool in_table;		       /* inside { value, "text" } */
	uint32_t depth;		       /* of nested expressions */
	uint32_t stack;		       /* values on the stack after the last instruction */
	struct missing_names *missing; /* NULL: names that are no field are not collected */
	bool unknown;		       /* what was compiled takes a value that no trace has */
	bool failed;
	struct expr_error *err;
};

/* Print fmt in [text, text + bytes). False when out of memory. The program keeps the strings. */
bool compiler_init(struct compiler *c, struct program *p, const struct format *format,
		   uint8_t long_bytes, const char *text, size_t bytes, struct expr_error *err);
void compiler_advance(struct compiler *c);
/* Notes the first error; always false. */
bool compiler_fail(struct compiler *c, const char *what);
bool compiler_expect(struct compiler *c, uint32_t punct);

/* An instruction that pops and pushes these numbers of values; its index. */
uint32_t emit(struct compiler *c, struct insn i, unsigned pops, unsigned pushes);
uint32_t literal_add(struct compiler *c, const char *s, uint32_t len);
uint32_t table_begin(struct compiler *c);
bool table_add(struct compiler *c, uint64_t value, const char *s, uint32_t len);
void table_end(struct compiler *c, uint32_t table);
/* A growing array of the program; NULL when out of memory or `max` is reached. */
void *program_push(void **array, uint32_t *nr, uint32_t *cap, size_t size, uint32_t max);

/* Any expression but the comma; its type in *type. */
bool compile_expr(struct compiler *c, uint8_t *type);
bool compile_unary(struct compiler *c, uint8_t *type);
/* A helper such as __print_flags(...); the name is in `name`, the token to come stands after the `(`. */
bool compile_call(struct compiler *c, const struct token *name, uint8_t *type);
/* The field named by the token to come, as a value. */
bool compile_field(struct compiler *c, const struct format_field *f, uint8_t *type);
const struct format_field *compile_find_field(struct compiler *c, const struct token *t);
/* A type's name up to `)`: its TYPE_*. False if the tokens are no type. */
bool compile_type(struct compiler *c, uint8_t *type);
/* A constant expression, run at once. */
bool compile_constant(struct compiler *c, uint64_t *value);
/* The common type of two integers, by C's rules; what one becomes that stands alone. */
uint8_t type_common(uint8_t a, uint8_t b);
uint8_t type_promote(uint8_t t);

#endif
