/* SPDX-License-Identifier: MIT */
/* object.h -- objects of `clang -target bpf` as programs: inside the reader. */
#ifndef PROGRAM_OBJECT_H
#define PROGRAM_OBJECT_H

#include "program/compile.h"

/* A function of the object. */
struct object_function {
	const char *name;
	uint32_t section;
	const struct bpf_insn *
		code; /* relocated: calls of functions have BPF_PSEUDO_CALL and the number of the function */
	uint32_t nr;
};

/*
 * Variables outside maps: the sections that hold them are arrays of one value. A program begins by looking them up, and keeps their
 * addresses at the lower end of its stack; the load of a variable's address is one of that, with an offset.
 */
#define OBJECT_GLOBALS 8

struct object {
	struct generator *c;
	struct ast *ast; /* for memory, and messages */
	struct {
		uint32_t map;
		const uint8_t *content; /* NULL: zeros */
		uint32_t bytes;		/* a multiple of 8 */
	} globals[OBJECT_GLOBALS];
	uint32_t nr_globals;
	struct object_function *functions;
	uint32_t nr_functions;
};

#define OBJECT_PRINTED	 3 /* numbers that bpf_trace_printk takes */
#define BPF_TRACE_PRINTK 6
#define BPF_PSEUDO_CALL	 1
#define BPF_PSEUDO_GLOBAL \
	2 /* of BPF_LD_IMM64: the number of the section in globals, then the offset in it */

bool object_is(const char *text, size_t bytes);
/* In place of parsing and compiling: maps, probes and their code. False: errors were printed. */
bool object_compile(struct generator *c);
/* object_btf.c: maps that .BTF describes. `name` is the variable's. False: it is not described. */
bool object_btf_map(const uint8_t *btf, size_t bytes, const char *name, struct map_raw *out);
/* object_inline.c: a function with all that it calls in it. NULL: an error was printed. */
struct bpf_insn *object_inline(struct object *o, uint32_t function, uint32_t *nr);
bool object_is_jump(const struct bpf_insn *i);
/* object_print.c: the call, of bpf_trace_printk, as an action. How many numbers it prints; -1: an error was printed. */
int object_print(struct object *o, const struct object_function *f, uint32_t call,
		 uint32_t *action);
/* What the variables are at the start, as a program that sets them. */
struct bpf_insn *object_initial(struct object *o, uint32_t *nr);
/* A message that begins with the file's name; the program has failed. */
__attribute__((format(printf, 2, 3))) bool object_error(struct ast *t, const char *fmt, ...);

#endif
