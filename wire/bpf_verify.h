/* SPDX-License-Identifier: MIT */
/* bpf_verify.h -- inside the verifier: what is known of registers and memory, and its parts. */
#ifndef WIRE_BPF_VERIFY_H
#define WIRE_BPF_VERIFY_H

#include "wire/bpf.h"

/*
 * The program is run with sets of values instead of values. A register is nothing yet, a number between two bounds, or a
 * pointer into one of four kinds of memory at an offset between two bounds. Where ways through the program meet (at the
 * target of a jump) the sets are joined, so the work does not grow with the number of ways.
 *
 *   V1  Jumps go forward, except to a BPF_MAY_GOTO: every loop passes one, and a run takes each only so many times. What
 *       remains without those is a straight line, so every run ends.
 *   V2  The state kept at a jump target covers every state that arrives there. A state that grows is walked again; what
 *       grows by a jump back is widened to "any number", so it can grow only a few times.
 *   V3  A pointer is never stored where the program could read it as a number, nor returned, nor changed but by adding a
 *       bounded number: a program cannot make up an address, nor tell one.
 *   V4  Memory is read only after it was written, on the stack byte by byte.
 *
 * Functions that check something return why it is refused, or NULL.
 */

enum bpf_kind {
	BPF_IS_NOTHING, /* never written, or different things on different ways */
	BPF_IS_NUMBER,
	BPF_IS_STACK, /* fp + [low, high] */
	BPF_IS_CONTEXT,
	BPF_IS_VALUE,	 /* of a map, at [low, high] */
	BPF_IS_MAY_NULL, /* BPF_IS_VALUE at 0, or 0: the result of a lookup */
	BPF_IS_MAP,
};

/* Bounds that nothing is known of. A number's bounds are those of its 64 bits as a signed number. */
#define BPF_LEAST INT32_MIN
#define BPF_MOST  INT32_MAX

/* A register, or eight bytes of the stack. */
struct bpf_reg {
	uint8_t kind;
	uint8_t map; /* of BPF_IS_VALUE and the next; of nothing on the stack: which bytes were written, a bit each */
	uint16_t
		id; /* of BPF_IS_MAY_NULL: the same for copies, so that a test of one is a test of all */
	int32_t low, high;
};

struct bpf_verifier {
	const struct bpf_subject *in;
	uint32_t at;
	uint32_t nr;		     /* registers and slots of a state; slots from the lowest */
	struct bpf_reg *now, *other; /* the state here; of the other way out of a test */
	int reached;		     /* `now` is a state that can be */
	uint16_t *label;	/* per instruction: 1 + number of its state, 0: not a jump target */
	struct bpf_reg *states; /* the frame pointer of one is nothing until a way leads there */
	uint32_t nr_states;
	int again; /* a state before this instruction has grown */
};

static inline int bpf_is_pointer(const struct bpf_reg *r)
{
	return r->kind > BPF_IS_NUMBER;
}

static inline int bpf_is_const(const struct bpf_reg *r)
{
	return r->kind == BPF_IS_NUMBER && r->low == r->high;
}

/* The bytes of it that a program may read as numbers. */
static inline uint8_t bpf_written(const struct bpf_reg *r)
{
	return r->kind == BPF_IS_NOTHING ? r->map : r->kind == BPF_IS_NUMBER ? 0xff : 0;
}

static inline int bpf_is_wide(const struct bpf_insn *i)
{
	return i->code == BPF_LD_IMM64;
}

static inline int64_t bpf_target_of(const struct bpf_insn *i, uint32_t at)
{
	return (int64_t)at + 1 + (i->code == (BPF_JMP32 | BPF_JA) ? i->imm : i->off);
}

/* bpf_form.c: what can be seen without running; numbers the jump targets. */
const char *fathom_bpf_form(struct bpf_verifier *v);
/* bpf_memory.c: [off, off + bytes) of the register may be read (and is numbers) or written. */
const char *fathom_bpf_touch(struct bpf_verifier *v, const struct bpf_reg *r, int32_t off,
			     uint32_t bytes, int write);
const char *fathom_bpf_load(struct bpf_verifier *v, const struct bpf_insn *i);
const char *fathom_bpf_store(struct bpf_verifier *v, const struct bpf_insn *i);
const char *fathom_bpf_atomic(struct bpf_verifier *v, const struct bpf_insn *i);
const char *fathom_bpf_call(struct bpf_verifier *v, const struct bpf_insn *i);
/* bpf_numbers.c: what operations make of numbers and pointers. */
const char *fathom_bpf_alu(struct bpf_verifier *v, const struct bpf_insn *i);
/* A number within the bounds; k, as far as bounds can tell. */
void fathom_bpf_number(struct bpf_reg *r, int32_t low, int32_t high);
void fathom_bpf_const(struct bpf_reg *r, int64_t k);

#endif
