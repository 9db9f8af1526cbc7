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
 */

#define BPF_EINVAL_ 22
#define BPF_ENOMEM_ 12

enum bpf_kind {
	BPF_IS_NOTHING, /* never written, or different things on different ways */
	BPF_IS_NUMBER,
	BPF_IS_STACK, /* fp + [low, high] */
	BPF_IS_CONTEXT,
	BPF_IS_VALUE,	 /* of a map, at [low, high] */
	BPF_IS_MAY_NULL, /* BPF_IS_VALUE at 0, or 0: the result of a lookup */
	BPF_IS_MAP,
};

struct bpf_reg {
	uint8_t kind;
	uint16_t map;
	uint32_t
		id; /* of BPF_IS_MAY_NULL: the same for copies, so that a test of one is a test of all */
	uint64_t low, high; /* BPF_IS_NUMBER: unsigned bounds; pointers: signed offsets */
};

struct bpf_slot {
	uint8_t written; /* a bit per byte, when it is not a whole register */
	uint8_t whole;	 /* holds `reg` */
	struct bpf_reg reg;
};

struct bpf_state {
	struct bpf_reg regs[BPF_NR_REGS];
	struct bpf_slot slots[]; /* from the lowest; verifier.nr_slots */
};

struct bpf_verifier {
	const struct bpf_subject *in;
	struct bpf_verdict *out;
	uint32_t at;
	uint32_t nr_slots, state_bytes;
	struct bpf_state *now,
		*other;	 /* of the instruction at hand; of the other way out of a test */
	int reached;	 /* `now` is a state that can be */
	uint16_t *label; /* per instruction: 1 + number of its state, 0: not a jump target */
	uint8_t *states; /* each: one byte that says that something is in it, 7 unused, the state */
	uint32_t nr_states, room_states;
	int again; /* a state before the instruction at hand has grown */
};

static inline int bpf_refuse(struct bpf_verifier *v, const char *why)
{
	v->out->at = v->at;
	v->out->why = why;
	return -BPF_EINVAL_;
}

static inline struct bpf_reg bpf_number(uint64_t low, uint64_t high)
{
	struct bpf_reg r = {BPF_IS_NUMBER, 0, 0, low, high};

	return r;
}

static inline struct bpf_reg bpf_any_number(void)
{
	return bpf_number(0, UINT64_MAX);
}

static inline struct bpf_reg bpf_nothing(void)
{
	struct bpf_reg r = {BPF_IS_NOTHING, 0, 0, 0, 0};

	return r;
}

static inline int bpf_is_pointer(const struct bpf_reg *r)
{
	return r->kind > BPF_IS_NUMBER;
}

static inline int bpf_is_const(const struct bpf_reg *r)
{
	return r->kind == BPF_IS_NUMBER && r->low == r->high;
}

static inline int bpf_is_wide(const struct bpf_insn *i)
{
	return i->code == BPF_LD_IMM64;
}

static inline int64_t bpf_target_of(const struct bpf_insn *i, uint32_t at)
{
	return (int64_t)at + 1 + (i->code == (BPF_JMP32 | BPF_JA) ? i->imm : i->off);
}

/* bpf_form.c: what can be seen without running; numbers the jump targets. 0, -EINVAL, -ENOMEM. */
int fathom_bpf_form(struct bpf_verifier *v);
/* bpf_memory.c: [off, off + bytes) of the register may be read (and is numbers) or written. */
int fathom_bpf_touch(struct bpf_verifier *v, const struct bpf_reg *r, int64_t off, uint64_t bytes,
		     int write);
int fathom_bpf_load(struct bpf_verifier *v, const struct bpf_insn *i);
int fathom_bpf_store(struct bpf_verifier *v, const struct bpf_insn *i);
int fathom_bpf_atomic(struct bpf_verifier *v, const struct bpf_insn *i);
int fathom_bpf_call(struct bpf_verifier *v, const struct bpf_insn *i);
/* bpf_numbers.c: what operations make of numbers and pointers. */
int fathom_bpf_alu(struct bpf_verifier *v, const struct bpf_insn *i);

#endif
