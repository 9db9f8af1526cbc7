/* SPDX-License-Identifier: MIT */
/* gen.h -- inside the generator of eBPF: gen.c statements, gen_value.c numbers, gen_store.c what lies in memory. */
#ifndef PROGRAM_GEN_H
#define PROGRAM_GEN_H

#include "program/compile.h"

/*
 * r6 is the context, r0 the value made last, r7 to r9 values that wait for the other operand (more of them wait on the
 * stack), r1 to r5 arguments. The stack grows from the frame pointer down: variables, then what a statement needs.
 */
struct gen {
	struct generator *c;
	struct probe *p;
	struct bpf_insn *code;
	uint32_t nr, room;
	uint32_t used, most; /* bytes of stack */
	uint32_t waiting;
	int32_t *labels; /* where each is, or -1 */
	uint32_t nr_labels;
	struct {
		uint32_t at, label;
	} * fixes;
	uint32_t nr_fixes;
	uint32_t end;		 /* label of the clause's end */
	uint32_t loop, loop_end; /* labels of the innermost while, 0: none */
};

void gen_put(struct gen *g, int code, int dst, int src, int off, int64_t imm);
void gen_imm(struct gen *g, int dst, int64_t v);
void gen_call(struct gen *g, enum bpf_helper which);
void gen_address(struct gen *g, int dst, int32_t at); /* fp + at */
void gen_map(struct gen *g, int dst, const struct node *map);
struct map_spec *gen_spec(struct gen *g, const struct node *map);

uint32_t gen_label(struct gen *g);
void gen_here(struct gen *g, uint32_t label);
void gen_goto(struct gen *g, int code, int dst, int src, int64_t imm, uint32_t label);

/* Stack: takes bytes, returns their lowest place; gen_drop() gives back all since `mark`. */
int32_t gen_take(struct gen *g, uint32_t bytes);
void gen_drop(struct gen *g, uint32_t mark);

/* A number into r0. */
void gen_value(struct gen *g, struct node *n);
/* Jump if the node is true (or not). Falls through otherwise. */
void gen_jump(struct gen *g, struct node *n, uint32_t label, bool when);
/* Any value to the stack at `at`, as type `as`. */
void gen_store(struct gen *g, struct node *n, int32_t at, const struct type *as);
/* The keys of a map's node; their place, 0 if it has none. */
int32_t gen_keys(struct gen *g, struct node *n);
/* r0: address of the value of the map's node or 0. */
void gen_lookup(struct gen *g, struct node *n);
/* Place of a variable. */
int32_t gen_variable(struct gen *g, const char *name);
/* Load a field of the record into r0. */
void gen_field(struct gen *g, const struct format_field *f, uint32_t index);
/* Statements that call. */
void gen_action(struct gen *g, struct node *n);

#endif
