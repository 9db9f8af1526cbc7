/* SPDX-License-Identifier: MIT */
/* edit.h -- one line that is typed: keys change it, and earlier lines come back. It knows no terminal. */
#ifndef CAPTURE_EDIT_H
#define CAPTURE_EDIT_H

#include <stdbool.h>
#include <stddef.h>

#define EDIT_MAX   1024 /* bytes of a line */
#define EDIT_LINES 1000 /* earlier ones */

struct edit {
	char text[EDIT_MAX]; /* UTF-8, without a NUL */
	size_t len, at;	     /* at: where the next character goes */
	/* earlier lines, oldest first; nr: the one that is typed, which is kept while others are looked at */
	char *lines[EDIT_LINES];
	size_t nr, look;
	char typed[EDIT_MAX];
	size_t typed_len;
	unsigned escape, number; /* how much of an escape sequence has come */
};

enum edit_result {
	EDIT_MORE,  /* the line may have changed */
	EDIT_LINE,  /* it is complete: edit_next() begins another */
	EDIT_LEAVE, /* ctrl-] */
	EDIT_SEND,  /* the key goes to the target */
};

enum edit_result edit_key(struct edit *e, char c);
/* The line joins the earlier ones, and the next is empty. False: it was empty, or the same as the one before it. */
bool edit_next(struct edit *e);
/* An earlier line. */
void edit_remember(struct edit *e, const char *text, size_t n);
void edit_free(struct edit *e);
/* Columns that `n` bytes of text take. */
size_t edit_columns(const char *text, size_t n);

#endif
