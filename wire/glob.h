/* SPDX-License-Identifier: MIT */
/* glob.h -- Linux's patterns for names of functions and events, and for strings in filters. */
#ifndef WIRE_GLOB_H
#define WIRE_GLOB_H

#include <stddef.h>

/* `*`, `?`, `[a-z]`, `[!x]`, `\` takes the next character as it is. 1 if all of `s` matches. Any context. */
int fathom_glob(const char *pat, size_t pat_len, const char *s, size_t n);

#endif
