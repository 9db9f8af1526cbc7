/* SPDX-License-Identifier: MIT */
/* protos.h -- what functions take and give: names and types of their arguments, from DWARF or BTF. */
#ifndef DECODE_PROTOS_H
#define DECODE_PROTOS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum proto_kind {
	PROTO_VOID,
	PROTO_INT,
	PROTO_BOOL,
	PROTO_CHAR,
	PROTO_POINTER,
	PROTO_STRING, /* a pointer to characters */
	PROTO_ENUM,
	PROTO_RECORD, /* a struct, union or array by value */
	PROTO_FLOAT,
	PROTO_OTHER,
};

struct proto_value {
	int64_t value;
	const char *name;
};

struct proto_type {
	enum proto_kind kind;
	bool is_signed;
	uint32_t bytes;
	const char *name; /* of a struct, union or enum, as C writes it; "" if it has none */
	const struct proto_value *values; /* of an enum */
	uint32_t nr_values;
};

/* Where it lies among the words that a record keeps of the argument registers; `words` 0: elsewhere. */
struct proto_param {
	const char *name; /* "" if it has none */
	struct proto_type type;
	uint16_t first, words;
};

#define PROTO_PARAMS_MAX 64u

struct proto {
	/* from BTF: Linux and trace-cmd print such arguments by simple rules, which cut no value to its type */
	bool is_btf;
	struct proto_type ret;
	uint32_t nr;
	uint64_t shift; /* of the program in memory: add it to an address of its file */
	struct proto_param param[];
};

struct protos;

struct protos *protos_new(void);
void protos_free(struct protos *t);
/*
 * BTF, as /sys/kernel/btf/vmlinux or trace-cmd 3.4's section has it; the bytes must stay. 0, or -EINVAL: it is none.
 */
int protos_add_btf(struct protos *t, const void *data, size_t bytes, uint32_t long_bytes);
/* The DWARF of an ELF file, or a file of BTF. 0, -ENOENT: it has none, or another negative errno. */
int protos_add_file(struct protos *t, const char *path, uint32_t long_bytes);
/*
 * The prototype of a function whose symbol is `name` and begins at `addr`. NULL: not known. Valid as long as the table. One
 * thread at a time.
 */
const struct proto *protos_find(struct protos *t, const char *name, uint64_t addr);
/* Text that does not change, at an address of the program: NULL if there is none. Not longer than `max`. */
const char *protos_text(struct protos *t, uint64_t addr, size_t max, size_t *len);

#endif
