/* SPDX-License-Identifier: MIT */
/* edit.c -- one line that is typed: keys change it, and earlier lines come back. */
#include "capture/edit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CTRL(c) ((c)-64)
#define ESCAPE	27

static bool is_start(char c)
{
	return (c & 0xc0) != 0x80; /* of a character of UTF-8 */
}

size_t edit_columns(const char *text, size_t n)
{
	size_t columns = 0;

	for (size_t i = 0; i < n; i++)
		columns += is_start(text[i]);
	return columns;
}

static size_t left_of(const struct edit *e, size_t at)
{
	while (at && !is_start(e->text[--at]))
		;
	return at;
}

static size_t right_of(const struct edit *e, size_t at)
{
	while (at < e->len && ++at < e->len && !is_start(e->text[at]))
		;
	return at;
}

static size_t word_left_of(const struct edit *e, size_t at)
{
	while (at && e->text[at - 1] == ' ')
		at--;
	while (at && e->text[at - 1] != ' ')
		at--;
	return at;
}

static void cut(struct edit *e, size_t from, size_t to)
{
	memmove(e->text + from, e->text + to, e->len - to);
	e->len -= to - from;
	e->at = from;
}

static void insert(struct edit *e, char c)
{
	if (e->len == EDIT_MAX)
		return;
	memmove(e->text + e->at + 1, e->text + e->at, e->len - e->at);
	e->text[e->at++] = c;
	e->len++;
}

static void set(struct edit *e, const char *text, size_t n)
{
	memcpy(e->text, text, n);
	e->len = e->at = n;
}

/* `look` lines further, or back. */
static void look(struct edit *e, size_t to)
{
	if (to > e->nr)
		return;
	if (e->look == e->nr) {
		memcpy(e->typed, e->text, e->len);
		e->typed_len = e->len;
	}
	e->look = to;
	if (to == e->nr)
		set(e, e->typed, e->typed_len);
	else
		set(e, e->lines[to], strlen(e->lines[to]));
}

/* The last byte of an escape sequence: a letter, or ~ after a number. */
static void escaped(struct edit *e, char c)
{
	static const char by_number[] = "?H?3F??HF"; /* 1 and 7: home, 4 and 8: end, 3: delete */
	char key = c;

	if (c == '~')
		key = e->number < sizeof(by_number) - 1 ? by_number[e->number] : '?';
	switch (key) {
	case 'A': look(e, e->look ? e->look - 1 : SIZE_MAX); break;
	case 'B': look(e, e->look + 1); break;
	case 'C': e->at = right_of(e, e->at); break;
	case 'D': e->at = left_of(e, e->at); break;
	case 'H': e->at = 0; break;
	case 'F': e->at = e->len; break;
	case '3': cut(e, e->at, right_of(e, e->at)); break;
	}
}

/* ESC, then [ or O, then digits, then the key. */
static void escape(struct edit *e, char c)
{
	if (e->escape == 1) {
		e->escape = c == '[' || c == 'O' ? 2 : 0;
		e->number = 0;
	} else if (c >= '0' && c <= '9') {
		e->number = (e->number * 10 + (unsigned)(c - '0')) % 1000;
	} else if (c != ';') {
		e->escape = 0;
		escaped(e, c);
	}
}

static enum edit_result control(struct edit *e, char c)
{
	switch (c) {
	case '\r':
	case '\n': return EDIT_LINE;
	case CTRL(']'): return EDIT_LEAVE;
	case CTRL('A'): e->at = 0; break;
	case CTRL('E'): e->at = e->len; break;
	case CTRL('B'): e->at = left_of(e, e->at); break;
	case CTRL('F'): e->at = right_of(e, e->at); break;
	case CTRL('P'): escaped(e, 'A'); break;
	case CTRL('N'): escaped(e, 'B'); break;
	case CTRL('K'): cut(e, e->at, e->len); break;
	case CTRL('U'): cut(e, 0, e->at); break;
	case CTRL('W'): cut(e, word_left_of(e, e->at), e->at); break;
	case CTRL('H'):
	case 127: cut(e, left_of(e, e->at), e->at); break;
	case CTRL('D'):
		if (!e->len)
			return EDIT_SEND;
		cut(e, e->at, right_of(e, e->at));
		break;
	case ESCAPE: e->escape = 1; break;
	case '\t': insert(e, ' '); break;
	default: e->len = e->at = 0; return EDIT_SEND; /* ctrl-C and the like */
	}
	return EDIT_MORE;
}

enum edit_result edit_key(struct edit *e, char c)
{
	if (e->escape) {
		escape(e, c);
	} else if ((unsigned char)c < ' ' || c == 127) {
		return control(e, c);
	} else {
		insert(e, c);
	}
	return EDIT_MORE;
}

void edit_remember(struct edit *e, const char *text, size_t n)
{
	char *copy = n < EDIT_MAX ? strndup(text, n) : NULL;

	if (!copy)
		return;
	if (e->nr == EDIT_LINES) {
		free(e->lines[0]);
		memmove(e->lines, e->lines + 1, --e->nr * sizeof(e->lines[0]));
	}
	e->lines[e->nr++] = copy;
	e->look = e->nr;
}

bool edit_next(struct edit *e)
{
	const char *last = e->nr ? e->lines[e->nr - 1] : "";
	bool is_new = e->len && (strlen(last) != e->len || memcmp(last, e->text, e->len) != 0);

	if (is_new)
		edit_remember(e, e->text, e->len);
	e->len = e->at = 0;
	e->look = e->nr;
	return is_new;
}

void edit_free(struct edit *e)
{
	for (size_t i = 0; i < e->nr; i++)
		free(e->lines[i]);
	e->nr = e->look = 0;
}
