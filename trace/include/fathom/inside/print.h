/* SPDX-License-Identifier: MIT */
/* print.h -- what TP_printk may call: the helpers behind __print_flags() and its kin, and those that fill strings in. */
#ifndef FATHOM_PRINT_H
#define FATHOM_PRINT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include "fathom/inside/event.h"
#include "fathom/port_default.h"
#include "wire/format.h"
#include "wire/copy.h"

struct fathom_symbol {
	uint64_t value;
	const char *name; /* NULL ends a table */
};

/* Each makes a string behind those already in `tmp` and returns it; cut where tmp ends. */
const char *fathom_print_flags(struct fathom_text *tmp, const char *delim, uint64_t flags,
			       const struct fathom_symbol *table);
const char *fathom_print_symbolic(struct fathom_text *tmp, uint64_t value,
				  const struct fathom_symbol *table);
const char *fathom_print_hex(struct fathom_text *tmp, const void *data, size_t bytes, int blanks);
const char *fathom_print_array(struct fathom_text *tmp, const void *data, size_t count,
			       size_t el_size);
const char *fathom_print_bitmask(struct fathom_text *tmp, const void *mask, size_t bytes);
/* Room for `bytes` that the print format fills in itself; NULL if there is none. */
void *fathom_print_room(struct fathom_text *tmp, size_t bytes);

/*
 * Pack what fmt asks for, as fathom_text_packed() takes it, into `room` bytes: bytes needed; only those that fit are written,
 * whole arguments at a time.
 */
size_t fathom_pack(void *args, size_t room, const char *fmt, va_list ap);

/* Strings in records. NULL reads as "(null)", as in Linux. */
size_t fathom_strlen(const char *s);
static inline FATHOM_NOTRACE const char *fathom_string(const char *s)
{
	return s ? s : "(null)";
}
static inline FATHOM_NOTRACE uint32_t fathom_piece_bytes(size_t bytes)
{
	return bytes > 0xffff ? 0xffff : (uint32_t)bytes;
}
/* `bytes` are there at dst, the NUL included, which is always written. */
void fathom_assign_str(char *dst, const char *src, uint32_t bytes);
void fathom_assign_vstr(char *dst, uint32_t bytes, const char *fmt, va_list *ap);
size_t fathom_vlen(const char *fmt, va_list *ap);

/* Seconds of a time in ns, and the nanoseconds beyond. */
uint64_t fathom_ns_secs(uint64_t ns, uint32_t *rest);

#endif
