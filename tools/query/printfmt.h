/* SPDX-License-Identifier: MIT */
/* printfmt.h -- an event's `print fmt`, compiled once and run for millions of records. */
#ifndef QUERY_PRINTFMT_H
#define QUERY_PRINTFMT_H

#include "query/expr.h"
#include "query/out.h"

/* The two readers of print fmts that the text must equal: they differ in %p, %#x of 0, names of constants. */
enum printfmt_dialect {
	PRINTFMT_KERNEL, /* what the kernel's `trace` shows; %p prints the address, which the kernel hashes */
	PRINTFMT_TRACE_CMD, /* what trace-cmd report shows */
};

struct printfmt;

/* NULL only when out of memory. A text that cannot be parsed is noted: see printfmt_error(). */
struct printfmt *printfmt_new(const struct format *f, const char *text, size_t bytes,
			      uint8_t long_bytes, enum printfmt_dialect dialect);
/* The same, with names of symbols known through env->address(); `env` may be NULL and is used in the call only. */
struct printfmt *printfmt_new_env(const struct format *f, const char *text, size_t bytes,
				  uint8_t long_bytes, enum printfmt_dialect dialect,
				  const struct expr_env *env);
void printfmt_free(struct printfmt *p);
/* NULL if it compiled; else why not, and where. */
const struct expr_error *printfmt_error(const struct printfmt *p);
/* Append the text of one record. The scratch of the record is reused. */
void printfmt_run(const struct printfmt *p, struct expr_record *r, struct out *o);

/*
 * One field as the print fmt prints it: with the conversion whose argument is that field. False, and nothing printed,
 * if there is none. *symbol: it was printed as the name of an address.
 */
bool printfmt_field(const struct printfmt *p, const struct format_field *f, struct expr_record *r,
		    struct out *o, bool *symbol);

/*
 * A format string whose arguments come from binary words, as trace_printk() stores them: values lie one after the other
 * in the record from `offset`, as many bytes each as the traced kernel stores for its conversion, strings in place.
 */
void printfmt_binary(const char *fmt, struct expr_record *r, uint32_t offset,
		     enum printfmt_dialect dialect, struct out *o);

#endif
