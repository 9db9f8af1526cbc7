/* SPDX-License-Identifier: MIT */
/* ast.c -- memory and messages of a program that is compiled. */
#include "program/ast.h"

#include "base/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES 65536u

struct arena {
	struct arena *next;
	size_t used, room;
	_Alignas(16) char data[];
};

void *arena_take(struct arena **a, size_t bytes)
{
	struct arena *new;
	void *p;

	bytes = (bytes + 15) & ~(size_t)15;
	if (!*a || (*a)->room - (*a)->used < bytes) {
		size_t room = bytes > ARENA_BYTES ? bytes : ARENA_BYTES;

		new = calloc(1, sizeof(*new) + room);
		if (!new) {
			diag_error("out of memory while the program is compiled");
			exit(1);
		}
		new->room = room;
		new->next = *a;
		*a = new;
	}
	p = (*a)->data + (*a)->used;
	(*a)->used += bytes;
	return p;
}

char *arena_text(struct arena **a, const char *text, size_t bytes)
{
	char *p = arena_take(a, bytes + 1);

	memcpy(p, text, bytes);
	return p;
}

void arena_free(struct arena *a)
{
	struct arena *next;

	for (; a; a = next) {
		next = a->next;
		free(a);
	}
}

static const char *line_at(const struct ast *t, uint32_t line, size_t *bytes)
{
	const char *p = t->text, *end = t->text + t->bytes, *nl;

	for (; line > 1 && p < end; line--) {
		nl = memchr(p, '\n', (size_t)(end - p));
		p = nl ? nl + 1 : end;
	}
	nl = memchr(p, '\n', (size_t)(end - p));
	*bytes = (size_t)((nl ? nl : end) - p);
	return p;
}

void ast_error(struct ast *t, struct place at, const char *fmt, ...)
{
	const char *line;
	size_t bytes, i;
	va_list ap;

	if (t->failed)
		return; /* what follows is most often its consequence */
	t->failed = true;
	fflush(stdout);
	fprintf(stderr, "%s:%u:%u-%u: ERROR: ", t->file, at.line, at.column, at.end);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	line = line_at(t, at.line, &bytes);
	fprintf(stderr, "\n%.*s\n", (int)bytes, line);
	for (i = 1; i < at.column; i++)
		fputc(i <= bytes && line[i - 1] == '\t' ? '\t' : ' ', stderr);
	for (i = at.column; i < at.end || i == at.column; i++)
		fputc('~', stderr);
	fputc('\n', stderr);
}
