/* SPDX-License-Identifier: MIT */
/* tokens.h -- tokens of a program. */
#ifndef PROGRAM_TOKENS_H
#define PROGRAM_TOKENS_H

#include "program/ast.h"

/* Single characters stand for themselves. */
enum token {
	TOKEN_END = 0,
	TOKEN_NUMBER = 256,
	TOKEN_STRING,
	TOKEN_IDENT,
	TOKEN_VARIABLE,
	TOKEN_PARAMETER, /* $1 */
	TOKEN_MAP,
	TOKEN_ENDPRED, /* the / before a { */
	TOKEN_ARROW,
	TOKEN_EQ,
	TOKEN_NE,
	TOKEN_LE,
	TOKEN_GE,
	TOKEN_LEFT,
	TOKEN_RIGHT,
	TOKEN_AND,
	TOKEN_OR,
	TOKEN_INCREMENT,
	TOKEN_DECREMENT,
	TOKEN_ASSIGN_OP, /* += and its like: op is the operator */
	TOKEN_BAD,	 /* an error was printed */
};

struct tokens {
	struct ast *ast;
	size_t at;
	uint32_t line;
	size_t line_start;
	/* The token: */
	int token, op;
	struct place place;
	const char *text; /* names, and strings without quotes */
	int64_t number;
};

void tokens_start(struct tokens *l, struct ast *t);
void tokens_next(struct tokens *l);
/* The text up to a comma, a brace or a blank, for a probe's name: the parser calls it where one begins. */
void tokens_probe(struct tokens *l);
/* What stands at the token, as words for a message. */
const char *tokens_describe(const struct tokens *l);

#endif
