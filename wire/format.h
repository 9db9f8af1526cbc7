/* SPDX-License-Identifier: MIT */
/* format.h -- printf without libc: all integer forms, strings, and the kernel's pointer forms. */
#ifndef WIRE_FORMAT_H
#define WIRE_FORMAT_H

#include <stdarg.h>
#include "wire/text.h"

/* Width, precision and length as in C; %p %px, %pS %ps %pF (symbols), %*ph (bytes). Unknown ones are shown as they stand. */
void fathom_text_printf(struct fathom_text *out, const char *fmt, ...);
void fathom_text_vprintf(struct fathom_text *out, const char *fmt, va_list ap);
/* Arguments as words: numbers, and addresses of strings. */
void fathom_text_words(struct fathom_text *out, const char *fmt, const uint64_t *words,
		       uint32_t nr_words);
/* Arguments packed as Linux packs bprint's: `bytes` of them. */
void fathom_text_packed(struct fathom_text *out, const char *fmt, const void *args, size_t bytes);

/* The function that holds an address, as struct fathom_config has it; NULL: none is known by name. Set once, at init. */
extern const char *(*fathom_text_lookup)(uintptr_t at, uintptr_t *offset, uintptr_t *size);

#endif
