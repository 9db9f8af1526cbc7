/* SPDX-License-Identifier: MIT */
/* lex.c -- cut C expressions into tokens; the text is hostile and need not end in NUL. */
#include "query/lex.h"

#include <string.h>

void lex_init(struct lexer *l, const char *text, size_t bytes, char *strings)
{
	*l = (struct lexer){.begin = text, .at = text, .end = text + bytes, .strings = strings};
}

bool token_word(const struct token *t, const char *word)
{
	return t->kind == TOKEN_IDENT && strlen(word) == t->len && !memcmp(t->at, word, t->len);
}

static bool is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void skip_blanks(struct lexer *l)
{
	while (l->at < l->end &&
	       (*l->at == ' ' || *l->at == '\t' || *l->at == '\n' || *l->at == '\r'))
		l->at++;
}

static void lex_number(struct lexer *l, struct token *t)
{
	const char *s = l->at;
	unsigned base = 10;
	uint64_t v = 0;

	if (*s == '0' && s + 1 < l->end && (s[1] == 'x' || s[1] == 'X')) {
		base = 16;
		s += 2;
	} else if (*s == '0') {
		base = 8;
	}
	for (; s < l->end; s++) {
		int d = base == 16 ? hex_value(*s) : is_digit(*s) ? *s - '0' : -1;

		if (d < 0)
			break;
		v = v * base + (unsigned)d;
	}
	t->is_unsigned = t->is_long = false;
	for (; s < l->end && strchr("uUlL", *s) && *s; s++) {
		if (*s == 'u' || *s == 'U')
			t->is_unsigned = true;
		else
			t->is_long = true;
	}
	if (v > INT32_MAX && !(v <= UINT32_MAX && (base != 10 || t->is_unsigned)))
		t->is_long = true;
	else if (v > INT32_MAX)
		t->is_unsigned = true;
	if (v > INT64_MAX)
		t->is_unsigned = true;
	t->kind = TOKEN_NUMBER;
	t->number = v;
	l->at = s;
}

/* One character after a backslash; s stands on it. */
static char escape(const char **s, const char *end)
{
	char c = *(*s)++;
	unsigned v = 0;

	switch (c) {
	case 'n': return '\n';
	case 't': return '\t';
	case 'r': return '\r';
	case 'a': return '\a';
	case 'b': return '\b';
	case 'f': return '\f';
	case 'v': return '\v';
	case 'e': return 27;
	case 'x':
		for (int i = 0; i < 2 && *s < end && hex_value(**s) >= 0; i++)
			v = v * 16 + (unsigned)hex_value(*(*s)++);
		return (char)v;
	default:
		if (c < '0' || c > '7')
			return c;
		v = (unsigned)(c - '0');
		for (int i = 0; i < 2 && *s < end && **s >= '0' && **s <= '7'; i++)
			v = v * 8 + (unsigned)(*(*s)++ - '0');
		return (char)v;
	}
}

/* A string literal and those that follow it directly. */
static void lex_string(struct lexer *l, struct token *t)
{
	char *to = l->strings + l->strings_used;
	const char *s = l->at, quote = *s;

	l->string = to;
	for (;;) {
		for (s++; s < l->end && *s != quote;) {
			if (*s == '\\' && s + 1 < l->end) {
				s++;
				*to++ = escape(&s, l->end);
			} else {
				*to++ = *s++;
			}
		}
		if (s >= l->end) {
			t->kind = TOKEN_BAD;
			l->at = l->end;
			return;
		}
		l->at = s + 1;
		skip_blanks(l);
		if (l->at >= l->end || *l->at != quote)
			break;
		s = l->at;
	}
	t->kind = TOKEN_STRING;
	l->string_len = (uint32_t)(to - l->string);
	l->strings_used = (size_t)(to - l->strings);
}

static void lex_char(struct lexer *l, struct token *t)
{
	const char *s = l->at + 1;

	t->kind = TOKEN_BAD;
	if (s < l->end && *s == '\\' && s + 1 < l->end) {
		s++;
		t->number = (uint64_t)(int64_t)escape(&s, l->end);
	} else if (s < l->end) {
		t->number = (uint64_t)(int64_t)*s++;
	}
	if (s < l->end && *s == '\'') {
		t->kind = TOKEN_NUMBER;
		t->is_unsigned = t->is_long = false;
		s++;
	}
	l->at = s;
}

static void lex_punct(struct lexer *l, struct token *t)
{
	static const char two[][3] = {
		"->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--"};
	size_t left = (size_t)(l->end - l->at);

	t->kind = TOKEN_PUNCT;
	t->punct = (uint8_t)l->at[0];
	if (left >= 2) {
		for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i++)
			if (l->at[0] == two[i][0] && l->at[1] == two[i][1])
				t->punct = PUNCT2(two[i][0], two[i][1]);
		if (l->filter && (l->at[0] == '=' || l->at[0] == '!') && l->at[1] == '~')
			t->punct = PUNCT2(l->at[0], '~');
	}
	l->at += t->punct > 0xff ? 2 : 1;
}

void lex_next(struct lexer *l, struct token *t)
{
	const char *s;

	skip_blanks(l);
	*t = (struct token){.kind = TOKEN_END, .at = l->at};
	if (l->at >= l->end)
		return;
	s = l->at;
	if (is_digit(*s)) {
		lex_number(l, t);
	} else if (is_alpha(*s)) {
		while (l->at < l->end && (is_alpha(*l->at) || is_digit(*l->at)))
			l->at++;
		t->kind = TOKEN_IDENT;
	} else if (*s == '"' || (*s == '\'' && l->filter)) {
		lex_string(l, t);
	} else if (*s == '\'') {
		lex_char(l, t);
	} else {
		lex_punct(l, t);
	}
	t->len = (uint32_t)(l->at - s);
}
