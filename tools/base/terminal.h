/* SPDX-License-Identifier: MIT */
/* terminal.h -- text of a trace on its way to a terminal: nothing in it may control the terminal. */
#ifndef BASE_TERMINAL_H
#define BASE_TERMINAL_H

#include <stddef.h>

/*
 * Names, printed strings and messages come from the trace, and so from anyone. A terminal obeys the control characters in
 * them: it can be made to hide lines, to change its title, or to type. What goes to a terminal is therefore escaped, once,
 * at the way out: `\x1b` stands for the byte. What goes to a file or a pipe stays as it is.
 */

/* From now on, what is printed on stdout and stderr is escaped where they are terminals. Once, at the start of main(). */
void terminal_guard(void);
/* file_write(), escaped if the descriptor is a terminal. */
int terminal_write(int fd, const void *bytes, size_t n);

#define TERMINAL_GROWTH 4 /* a byte becomes at most this many */

/*
 * Escapes `n` bytes into `to`, which has room for TERMINAL_GROWTH times as many; returns the number written. Control characters but newline and
 * tab, and bytes that are not UTF-8, become \xNN. The sequences of colour.h stay: they are the program's own, and harmless
 * if they are not.
 */
size_t terminal_escape(char *to, const char *from, size_t n);

#endif
