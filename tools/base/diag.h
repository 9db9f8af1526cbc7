/* SPDX-License-Identifier: MIT */
/* diag.h -- messages to a person: what file, where in it, what was expected. */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* All messages go to stderr as `fathom: ...` (or the name set), never into a command's output. */
void diag_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void diag_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A message about a place in a file: `fathom: FILE: offset 0x1234: what`. Repeats past 20 per file are counted, not printed. */
void diag_at(const char *file, uint64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Is a message being written? For the handler of SIGPIPE. */
extern volatile sig_atomic_t diag_is_speaking;
/* From here on `last` holds the last message instead of printing it, because the terminal is in use. NULL: print again. */
void diag_keep(char *last, size_t bytes);
/* Print "N more" for what diag_at() held back. */
void diag_flush(void);

/* 1234567 as "1,234,567"; up to eight may be used in one printf. */
const char *thousands(uint64_t v);

#endif
