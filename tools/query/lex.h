/* SPDX-License-Identifier: MIT */
/* lex.h -- tokens of C expressions, as print fmts and filters are written in. */
#ifndef QUERY_LEX_H
#define QUERY_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum token_kind {
	TOKEN_END,
	TOKEN_NUMBER,
	TOKEN_STRING, /* adjacent literals are one; text has its escapes undone */
	TOKEN_IDENT,
	TOKEN_PUNCT, /* punct holds up to three characters, the first in the low byte */
	TOKEN_BAD,
};

/* Two- and three-character operators as one number. */
#define PUNCT2(a, b) ((uint32_t)(a) | (uint32_t)(b) << 8)

struct token {
	enum token_kind kind;
	const char *at; /* in the text */
	uint32_t len;	/* of the text covered; for an identifier its length */
	uint32_t punct;
	uint64_t number;
	bool is_unsigned, is_long; /* of a number: its suffix or its size */
};

/* Strings are kept in one block owned by the lexer's user; see lex_init(). */
struct lexer {
	const char *begin, *at, *end;
	char *strings; /* where undone strings go; as long as the text, so it cannot overflow */
	size_t strings_used;
	const char *string; /* of the last TOKEN_STRING */
	uint32_t string_len;
	bool filter; /* `=~` and `!~` are operators, ' is a quote, and words may hold `.`, `/`, `*`, `?` after a comparison */
};

/* `strings` must have room for end - text bytes. */
void lex_init(struct lexer *l, const char *text, size_t bytes, char *strings);
void lex_next(struct lexer *l, struct token *t);

static inline bool token_is(const struct token *t, uint32_t punct)
{
	return t->kind == TOKEN_PUNCT && t->punct == punct;
}

bool token_word(const struct token *t, const char *word);

#endif
