/* SPDX-License-Identifier: MIT */
/* terminal.c -- text of a trace on its way to a terminal: nothing in it may control the terminal. */
#include "base/terminal.h"
#include "base/colour.h"
#include "base/file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PIECE 4096u /* escaped at a time */

/* Bytes of the colour that begins here, or 0. */
static size_t own_colour(const char *p, size_t n)
{
	static const char *const colours[] = {COLOUR_BOLD, COLOUR_RED, COLOUR_NAME, COLOUR_OFF};

	for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++) {
		size_t len = strlen(colours[i]);

		if (len <= n && !memcmp(p, colours[i], len))
			return len;
	}
	return 0;
}

/* Length of the multi-byte character that begins here, or 0: it is invalid, or a control character (U+0080 to U+009F). */
static size_t wide(const uint8_t *p, size_t n)
{
	size_t len = p[0] >= 0xf0 && p[0] < 0xf5   ? 4
		     : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
		     : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
						   : 0;

	if (!len || len > n || (p[0] == 0xc2 && p[1] < 0xa0))
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong forms. */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90))
		return 0;
	return len;
}

/* How many bytes at `p` may pass unchanged, or 0. */
static size_t harmless(const char *p, size_t n)
{
	uint8_t c = (uint8_t)*p;

	if (c >= 0x80)
		return wide((const uint8_t *)p, n);
	if (c == 0x1b)
		return own_colour(p, n);
	return (c >= ' ' && c != 0x7f) || c == '\n' || c == '\t';
}

size_t terminal_escape(char *to, const char *from, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	char *at = to;

	for (size_t i = 0; i < n;) {
		size_t len = harmless(from + i, n - i);

		if (len) {
			memcpy(at, from + i, len);
			at += len;
			i += len;
			continue;
		}
		*at++ = '\\';
		*at++ = 'x';
		*at++ = digits[(uint8_t)from[i] >> 4];
		*at++ = digits[from[i] & 15];
		i++;
	}
	return (size_t)(at - to);
}

/* A character or a colour must not be cut in two: how many of the n bytes make a piece. */
static size_t piece(const char *p, size_t n)
{
	size_t len = n < PIECE ? n : PIECE;

	for (size_t back = 1; len == PIECE && n > PIECE && back <= 4; back++)
		if ((uint8_t)p[len - back] >= 0xc0 || p[len - back] == 0x1b)
			return len - back;
	return len;
}

static int write_escaped(int fd, const char *p, size_t n)
{
	char text[PIECE * TERMINAL_GROWTH];
	int err = 0;

	while (n && !err) {
		size_t len = piece(p, n);

		err = file_write(fd, text, terminal_escape(text, p, len));
		p += len;
		n -= len;
	}
	return err;
}

int terminal_write(int fd, const void *bytes, size_t n)
{
	return isatty(fd) ? write_escaped(fd, bytes, n) : file_write(fd, bytes, n);
}

static ssize_t guard_write(void *fd, const char *bytes, size_t n)
{
	int err = write_escaped((int)(intptr_t)fd, bytes, n);

	if (!err)
		return (ssize_t)n;
	errno = -err;
	return 0; /* how a cookie reports a failure */
}

static FILE *guarded(int fd, FILE *plain, int mode)
{
	cookie_io_functions_t io = {.write = guard_write};
	FILE *f = isatty(fd) ? fopencookie((void *)(intptr_t)fd, "w", io) : NULL;

	if (!f)
		return plain;
	setvbuf(f, NULL, mode, 0);
	return f;
}

void terminal_guard(void)
{
	stdout = guarded(STDOUT_FILENO, stdout, _IOLBF);
	/* Line by line, so that an escape is not seen in halves. */
	stderr = guarded(STDERR_FILENO, stderr, _IOLBF);
}
