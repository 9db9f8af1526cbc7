/* SPDX-License-Identifier: MIT */
/* strings.h -- inside tools/query: helpers that make a string in the record's scratch. */
#ifndef QUERY_STRINGS_H
#define QUERY_STRINGS_H

#include "query/expr.h"

struct value strings_flags(const struct program *p, const struct insn *i, struct expr_record *r,
			   uint64_t v);
struct value strings_symbolic(const struct program *p, const struct insn *i, struct expr_record *r,
			      uint64_t v);
struct value strings_hex(struct expr_record *r, const struct value *v, uint64_t len, bool joined);
/* {0x1,0x2}; `decimal`: 1 2, as libtraceevent has it */
struct value strings_array(struct expr_record *r, const struct value *v, uint64_t count,
			   uint64_t size, bool decimal);
struct value strings_bitmask(struct expr_record *r, const struct value *v);
/* "0-3,8" */
struct value strings_cpus(struct expr_record *r, const struct value *v);
/* A copy in the scratch. */
struct value strings_text(struct expr_record *r, const char *s, size_t n);
/* scsi.c: the bytes of a SCSI command in words. */
struct value strings_cdb(struct expr_record *r, const struct value *v);
/* As libtraceevent's plugins for jbd2 and xen print them. */
struct value strings_device(struct expr_record *r, uint64_t dev);
struct value strings_hypercall(struct expr_record *r, uint64_t op);
/*
 * args: prefix type, rowsize, groupsize, bytes, length, ascii. `own_lines`: a line end before, and after every line, as
 * the kernel has it.
 */
struct value strings_hex_dump(struct expr_record *r, const struct literal *prefix,
			      const struct value *args, bool own_lines);

#endif
