/* SPDX-License-Identifier: MIT */
/* expr.h -- the one expression engine: C expressions over a record, compiled to a bounded bytecode. */
#ifndef QUERY_EXPR_H
#define QUERY_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "decode/format.h"

/*
 * Print fmts and filters both become programs of a stack machine.
 *
 *   E1  Jumps go forward only: a program of n instructions ends after at most n steps.
 *   E2  The compiler knows the depth of the stack at every instruction; it never exceeds EXPR_STACK.
 *   E3  Every load is checked against the size of the record at run time. What is outside reads as 0 or "".
 *   E4  Strings made at run time live in the caller's scratch and are cut at its end.
 *   E5  Integers carry C's types (size, sign) at compile time: arithmetic wraps as in the kernel that wrote the format.
 */
#define EXPR_STACK	 32
#define EXPR_INSNS_MAX	 16384
#define EXPR_DEPTH_MAX	 100  /* of nested expressions in the text */
#define EXPR_TABLE_MAX	 4096 /* entries of all flag and symbol tables of a program */
#define EXPR_SCRATCH_MAX 16384

/* Static type of a value: size in the low bits and flags; TYPE_BYTES is a string, an array or a dynamic field. */
enum {
	TYPE_SIZE = 0x0f,
	TYPE_SIGNED = 0x10,
	TYPE_BYTES = 0x20,   /* TYPE_SIZE is then the size of an element */
	TYPE_TEXT = 0x40,    /* with TYPE_BYTES: ends at the first NUL */
	TYPE_POINTER = 0x80, /* an integer that is an address: char * and the like */
};
#define TYPE_INT    (4 | TYPE_SIGNED)
#define TYPE_U32    4
#define TYPE_LONG   (8 | TYPE_SIGNED)
#define TYPE_U64    8
#define TYPE_STRING (1 | TYPE_BYTES | TYPE_TEXT)

enum op {
	OP_CONST,   /* imm */
	OP_LOAD,    /* a type, c offset */
	OP_BYTES,   /* c offset, imm length: a part of the record */
	OP_DYNAMIC, /* c offset of the __data_loc, b 1: __rel_loc, a 1: a text that ends at its NUL */
	OP_DYNAMIC_LEN, /* the same, its length */
	OP_STRING,	/* c index of a literal */
	OP_INDEX,	/* a type: pop index, pop bytes, push the element */
	OP_BYTES_AT,	/* pop offset, pop bytes, push what follows the offset */
	OP_CAST,	/* a type */
	OP_NEG,		/* a type of the result, here and below */
	OP_NOT,
	OP_LNOT,
	OP_BOOL,
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,
	OP_MOD,
	OP_SHL,
	OP_SHR,
	OP_AND,
	OP_OR,
	OP_XOR,
	OP_EQ,
	OP_NE,
	OP_LT, /* a signed or not, of both operands */
	OP_LE,
	OP_GT,
	OP_GE,
	OP_JUMP,	 /* c target */
	OP_JUMP_IF_ZERO, /* pops */
	OP_JUMP_IF_SET,	 /* pops */
	OP_FLAGS, /* c table, b literal of the delimiter; a not 0: cut the value to this many bytes */
	OP_SYMBOLIC, /* c table */
	OP_HEX,	     /* pop length, pop bytes; b 1: no blanks between */
	OP_ARRAY,    /* pop element size, pop count, pop bytes; b: libtraceevent's form */
	OP_HEX_DUMP, /* pop ascii, length, bytes, groupsize, rowsize, prefix type; c literal of the prefix, b lines of its own */
	OP_CDB,	     /* pop length, pop bytes: a SCSI command as text */
	OP_BITMASK,  /* bytes as `hex,hex` words; b: as a list `0-3,8` */
	OP_NS_SECS,  /* a / 1e9 */
	OP_NS_REST,  /* a % 1e9 */
	OP_SWAP,     /* a: bytes of the value in reverse order */
	OP_LE16,     /* the first two of bytes, the low one first */
	OP_DEVICE,   /* a dev_t as `major:minor` */
	OP_HYPERCALL, /* of Xen, its name in parentheses; nothing if it has none */
	OP_STRLEN,    /* length of bytes */
	OP_CPU,	      /* of the event, here and below */
	OP_PID,
	OP_TIME,
	OP_COMM,
	OP_NAME,      /* event's name */
	OP_STR_EQ,    /* filter: pop bytes, c literal */
	OP_STR_GLOB,  /* c literal is a glob */
	OP_STR_REGEX, /* c index of a compiled regex */
	OP_SYMBOL,    /* pop address, push its symbol's name */
};

struct insn {
	uint8_t op;
	uint8_t a;
	uint16_t b;
	uint32_t c;
	uint64_t imm;
};

struct literal {
	const char *s;
	uint32_t len;
};

struct table_entry {
	uint64_t value;
	struct literal text;
};

struct table {
	uint32_t first, nr; /* in program.entries */
};

struct value {
	uint64_t n;
	const char *s; /* of TYPE_BYTES */
	uint32_t len;
};

/* What the engine may ask about the trace. Any member may be NULL. */
struct expr_env {
	/* Name of the symbol at the address, its offset and size; NULL if not known. */
	const char *(*symbol)(void *arg, uint64_t addr, uint64_t *offset, uint64_t *size);
	/* Its module, "" if it is the kernel's own. */
	const char *(*module)(void *arg, uint64_t addr);
	/* The address of a symbol; false if there is none of the name. */
	bool (*address)(void *arg, const char *name, uint64_t *addr);
	const char *(*comm)(void *arg, int32_t pid);
	const char *(*printk)(void *arg, uint64_t addr); /* a string of the kernel at the address */
	void *arg;
	bool swap;	    /* the trace's byte order is not ours */
	uint8_t long_bytes; /* of the traced kernel: 4 or 8 */
	uint32_t kernel;    /* Linux 6.17 is 6017; 0: not Linux, or not known */
	uint32_t hz;	    /* its ticks per second; 0: not known */
};

struct source;
/* What a source knows, without a cache (env.c). */
void expr_env_of(struct expr_env *env, struct source *s);

/* One record to look at, and a place for strings. */
struct expr_record {
	const uint8_t *data;
	uint32_t size;
	uint32_t cpu;
	int32_t pid;
	uint64_t time;
	const char *name;
	const struct expr_env *env;
	char *scratch; /* EXPR_SCRATCH_MAX bytes, of one thread */
	uint32_t scratch_used;
};

/* The code of all expressions of one print fmt or filter. */
struct program {
	struct insn *code;
	uint32_t nr_code, cap_code;
	struct literal *literals;
	uint32_t nr_literals, cap_literals;
	struct table *tables;
	uint32_t nr_tables, cap_tables;
	struct table_entry *entries;
	uint32_t nr_entries, cap_entries;
	void **regexes; /* regex_t, of filters */
	uint32_t nr_regexes, cap_regexes;
	char *strings; /* the block the literals point into */
};

/* A compiled expression: [begin, end) of the code; its result has the type. */
struct expr {
	uint32_t begin, end;
	uint8_t type;
};

struct expr_error {
	size_t offset; /* in the text */
	char what[100];
};

void program_free(struct program *p);
/* Code [begin, end) over the record. Never fails: see E3. */
struct value expr_run(const struct program *p, uint32_t begin, uint32_t end, struct expr_record *r);

/* The value cut to the type's size and extended by its sign. */
static inline uint64_t expr_convert(uint64_t v, uint8_t type)
{
	unsigned unused = 64 - 8u * (type & TYPE_SIZE);

	/* A size of 8, and no size at all, change nothing. */
	if (unused == 0 || unused == 64)
		return v;
	return type & TYPE_SIGNED ? (uint64_t)((int64_t)(v << unused) >> unused)
				  : v << unused >> unused;
}

/* A load of 1, 2, 4 or 8 bytes, extended as the type says. The caller checked the bounds. */
static inline uint64_t expr_load(const uint8_t *at, uint8_t type, bool swap)
{
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	switch (type & TYPE_SIZE) {
	case 1: return expr_convert(*at, type);
	case 2: memcpy(&u16, at, 2); return expr_convert(swap ? __builtin_bswap16(u16) : u16, type);
	case 4: memcpy(&u32, at, 4); return expr_convert(swap ? __builtin_bswap32(u32) : u32, type);
	default: memcpy(&u64, at, 8); return swap ? __builtin_bswap64(u64) : u64;
	}
}

/* A field that is a plain number; 0 if it is not there, not in the record or something else. */
uint64_t expr_field_slow(const uint8_t *data, uint32_t size, const struct format_field *f,
			 bool swap);

static inline uint64_t expr_field(const uint8_t *data, uint32_t size, const struct format_field *f,
				  bool swap)
{
	/* Most are words in the machine's byte order. */
	if (f && f->size == 8 && !swap && size >= 8 && f->offset <= size - 8)
		return expr_load(data + f->offset, 8, false);
	if (f && f->size == 4 && !swap && size >= 4 && f->offset <= size - 4)
		return expr_load(data + f->offset, f->flags & FORMAT_SIGNED ? TYPE_INT : TYPE_U32,
				 false);
	return expr_field_slow(data, size, f, swap);
}

/* The bytes of a __data_loc or __rel_loc at `offset`; length 0 if it points outside. */
struct value expr_dynamic(const struct expr_record *r, uint32_t offset, bool relative);
/* The same, but up to the first NUL or the end of the record, as a pointer to it would be read. */
struct value expr_dynamic_text(const struct expr_record *r, uint32_t offset, bool relative);

#endif
