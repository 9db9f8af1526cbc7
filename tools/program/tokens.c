/* SPDX-License-Identifier: MIT */
/* tokens.c -- tokens of a program. */
#include "program/tokens.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int peek(const struct tokens *l, size_t n)
{
	return l->at + n < l->ast->bytes ? (unsigned char)l->ast->text[l->at + n] : 0;
}

static void newline(struct tokens *l)
{
	l->line++;
	l->line_start = l->at;
}

static void skip_line(struct tokens *l)
{
	while (peek(l, 0) && peek(l, 0) != '\n')
		l->at++;
}

/* A comment that is not closed ends with the text. */
static void skip_comment(struct tokens *l)
{
	l->at += 2;
	while (peek(l, 0) && !(peek(l, 0) == '*' && peek(l, 1) == '/'))
		if (l->ast->text[l->at++] == '\n')
			newline(l);
	l->at += peek(l, 0) ? 2 : 0;
}

/* Blanks, comments, and lines for the C preprocessor, which has nothing to add to a trace. */
static void skip_blanks(struct tokens *l)
{
	for (;;) {
		int c = peek(l, 0);

		if (c == '\n') {
			l->at++;
			newline(l);
		} else if (isspace(c)) {
			l->at++;
		} else if (c == '#' && l->at == l->line_start) {
			skip_line(l);
		} else if (c == '/' && peek(l, 1) == '/') {
			skip_line(l);
		} else if (c == '/' && peek(l, 1) == '*') {
			skip_comment(l);
		} else {
			return;
		}
	}
}

static void begin(struct tokens *l)
{
	l->place.line = l->line;
	l->place.column = (uint32_t)(l->at - l->line_start) + 1;
}

static void end(struct tokens *l)
{
	l->place.end = (uint32_t)(l->at - l->line_start) + 1;
}

static bool word_char(int c)
{
	return isalnum(c) || c == '_';
}

static void take_word(struct tokens *l, size_t skip)
{
	size_t from = l->at;

	l->at += skip;
	while (word_char(peek(l, 0)))
		l->at++;
	l->text = arena_text(&l->ast->arena, l->ast->text + from, l->at - from);
}

/* 10, 0x1f, 0b11, 1e6, 1_000_000. */
static void take_number(struct tokens *l)
{
	char digits[80];
	size_t n = 0;
	char *stop;
	bool hex = peek(l, 0) == '0' && (peek(l, 1) == 'x' || peek(l, 1) == 'X');

	while (isalnum(peek(l, 0)) || peek(l, 0) == '_') {
		if (peek(l, 0) != '_' && n < sizeof(digits) - 1)
			digits[n++] = (char)peek(l, 0);
		l->at++;
	}
	digits[n] = 0;
	errno = 0;
	l->number = (int64_t)strtoull(digits, &stop, 0);
	if (!hex && (*stop == 'e' || *stop == 'E')) {
		unsigned long times = strtoul(stop + 1, &stop, 10);

		while (times-- && !errno)
			if (__builtin_mul_overflow(l->number, 10, &l->number))
				errno = ERANGE;
	}
	if (*stop && !strcspn(stop, "uUlL"))
		stop += strspn(stop, "uUlL");
	end(l);
	if (*stop || errno) {
		ast_error(l->ast, l->place,
			  errno ? "the number is too large" : "this is not a number");
		l->token = TOKEN_BAD;
	}
}

static int escape(struct tokens *l)
{
	int c = peek(l, 0), v = 0, n;

	l->at++;
	switch (c) {
	case 'n': return '\n';
	case 't': return '\t';
	case 'r': return '\r';
	case 'x':
		for (n = 0; n < 2 && isxdigit(peek(l, 0)); n++, l->at++)
			v = v * 16 +
			    (isdigit(peek(l, 0)) ? peek(l, 0) - '0' : (peek(l, 0) | 32) - 'a' + 10);
		return v;
	case '0' ... '7':
		for (n = 0, v = c - '0'; n < 2 && peek(l, 0) >= '0' && peek(l, 0) < '8';
		     n++, l->at++)
			v = v * 8 + peek(l, 0) - '0';
		return v;
	default: return c;
	}
}

static void take_string(struct tokens *l)
{
	char *out = arena_take(&l->ast->arena, l->ast->bytes - l->at + 1);
	size_t n = 0;

	l->at++;
	while (peek(l, 0) && peek(l, 0) != '"' && peek(l, 0) != '\n') {
		int c = l->ast->text[l->at++];

		out[n++] = (char)(c == '\\' ? escape(l) : c);
	}
	if (peek(l, 0) != '"') {
		end(l);
		ast_error(l->ast, l->place, "unterminated string");
		l->token = TOKEN_BAD;
		return;
	}
	l->at++;
	l->text = out;
}

static const struct {
	const char *text;
	int token, op;
} signs[] = {
	{"<<=", TOKEN_ASSIGN_OP, TOKEN_LEFT},
	{">>=", TOKEN_ASSIGN_OP, TOKEN_RIGHT},
	{"->", TOKEN_ARROW, 0},
	{"==", TOKEN_EQ, 0},
	{"!=", TOKEN_NE, 0},
	{"<=", TOKEN_LE, 0},
	{">=", TOKEN_GE, 0},
	{"<<", TOKEN_LEFT, 0},
	{">>", TOKEN_RIGHT, 0},
	{"&&", TOKEN_AND, 0},
	{"||", TOKEN_OR, 0},
	{"++", TOKEN_INCREMENT, 0},
	{"--", TOKEN_DECREMENT, 0},
	{"+=", TOKEN_ASSIGN_OP, '+'},
	{"-=", TOKEN_ASSIGN_OP, '-'},
	{"*=", TOKEN_ASSIGN_OP, '*'},
	{"/=", TOKEN_ASSIGN_OP, '/'},
	{"%=", TOKEN_ASSIGN_OP, '%'},
	{"&=", TOKEN_ASSIGN_OP, '&'},
	{"|=", TOKEN_ASSIGN_OP, '|'},
	{"^=", TOKEN_ASSIGN_OP, '^'},
};

static void take_sign(struct tokens *l)
{
	size_t i, n;

	for (i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		n = strlen(signs[i].text);
		if (l->ast->bytes - l->at >= n && !memcmp(l->ast->text + l->at, signs[i].text, n)) {
			l->token = signs[i].token;
			l->op = signs[i].op;
			l->at += n;
			return;
		}
	}
	l->token = peek(l, 0);
	l->at++;
	if (l->token == '/') { /* the end of a predicate if a block follows */
		for (n = 0; isspace(peek(l, n)); n++)
			;
		if (peek(l, n) == '{')
			l->token = TOKEN_ENDPRED;
	}
}

void tokens_next(struct tokens *l)
{
	int c;

	skip_blanks(l);
	begin(l);
	c = peek(l, 0);
	l->text = "";
	l->op = 0;
	if (!c && l->at >= l->ast->bytes) {
		l->token = TOKEN_END;
	} else if (isdigit(c)) {
		l->token = TOKEN_NUMBER;
		take_number(l);
	} else if (isalpha(c) || c == '_') {
		l->token = TOKEN_IDENT;
		take_word(l, 0);
	} else if (c == '@') {
		l->token = TOKEN_MAP;
		take_word(l, 1);
	} else if (c == '$') {
		l->token =
			isdigit(peek(l, 1)) || peek(l, 1) == '#' ? TOKEN_PARAMETER : TOKEN_VARIABLE;
		take_word(l, peek(l, 1) == '#' ? 2 : 1);
	} else if (c == '"') {
		l->token = TOKEN_STRING;
		take_string(l);
	} else {
		take_sign(l);
	}
	end(l);
}

void tokens_probe(struct tokens *l)
{
	size_t from;

	skip_blanks(l);
	begin(l);
	for (from = l->at; peek(l, 0) && !isspace(peek(l, 0)) && !strchr(",{", peek(l, 0)); l->at++)
		/* A path may hold slashes; a predicate's slash comes after a blank or after the name. */
		if (peek(l, 0) == '/' && (l->at == from || l->ast->text[l->at - 1] != ':') &&
		    !memchr(l->ast->text + from, '/', l->at - from))
			break;
	l->text = arena_text(&l->ast->arena, l->ast->text + from, l->at - from);
	end(l);
}

void tokens_start(struct tokens *l, struct ast *t)
{
	*l = (struct tokens){.ast = t, .line = 1};
}

const char *tokens_describe(const struct tokens *l)
{
	static char text[64];

	if (l->token == TOKEN_END)
		return "end of file";
	if (l->token == TOKEN_NUMBER)
		return "integer";
	snprintf(text, sizeof(text), "%.*s", (int)(l->place.end - l->place.column),
		 l->ast->text + l->at - (l->place.end - l->place.column));
	return text;
}
