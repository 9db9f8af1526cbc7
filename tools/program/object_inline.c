/* SPDX-License-Identifier: MIT */
/* object_inline.c -- BPF-to-BPF calls: what a function calls is put into it, so that the target needs no call stack. */
#include "program/object.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/*
 * The callee's frame lies below the caller's: its accesses through r10 are moved down. r6 to r9 belong to the caller, so they are
 * kept on the stack meanwhile; a program with calls begins by setting them, because what was never set cannot be kept.
 */
#define DEPTH_MAX 8
#define CODE_MAX  16384u
#define KEPT	  4 /* registers, from r6 on */

struct text {
	struct object *o;
	struct bpf_insn *code;
	size_t nr;
	bool failed;
};

static void emit(struct text *t, uint8_t code, uint8_t dst, uint8_t src, int32_t off, int32_t imm)
{
	if (t->failed || off < INT16_MIN || off > INT16_MAX || t->nr >= CODE_MAX ||
	    !VEC_MORE(t->code, t->nr)) {
		t->failed = true;
		return;
	}
	t->code[t->nr++] = (struct bpf_insn){code, BPF_REGS(dst, src), (int16_t)off, imm};
}

static bool is_call(const struct bpf_insn *i)
{
	return i->code == (BPF_JMP | BPF_CALL) && BPF_SRC(i) == BPF_PSEUDO_CALL;
}

bool object_is_jump(const struct bpf_insn *i)
{
	int class = BPF_CLASS(i->code), op = BPF_OP(i->code);

	return (class == BPF_JMP || class == BPF_JMP32) && op != BPF_CALL && op != BPF_EXIT;
}

/* Bytes of the function's own frame: the lowest offset from r10 that it names. */
static uint32_t frame_of(const struct object_function *f)
{
	int32_t low = 0;

	for (uint32_t i = 0; i < f->nr; i++) {
		const struct bpf_insn *n = &f->code[i];
		int class = BPF_CLASS(n->code);

		if (n->code == (BPF_ALU64 | BPF_ADD | BPF_K) && n->imm < low &&
		    n->imm >= -BPF_STACK_BYTES)
			low = n->imm;
		if (((class == BPF_LDX && BPF_SRC(n) == BPF_FP) ||
		     ((class == BPF_ST || class == BPF_STX) && BPF_DST(n) == BPF_FP)) &&
		    n->off < low)
			low = n->off;
	}
	return ((uint32_t)-low + 7) & ~7u;
}

/* ---- variables ---- */

static int32_t global_slot(uint32_t number)
{
	return (int32_t)number * 8 - BPF_STACK_BYTES;
}

/* Their addresses onto the stack. The key, which is 0, lies above them. */
static void find_globals(struct text *t)
{
	int32_t key = global_slot(t->o->nr_globals);

	if (!t->o->nr_globals)
		return;
	emit(t, BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0);
	emit(t, BPF_ST | BPF_MEM | BPF_DW, BPF_FP, 0, key, 0);
	for (uint32_t i = 0; i < t->o->nr_globals; i++) {
		emit(t, BPF_LD_IMM64, 1, BPF_PSEUDO_MAP, 0, (int32_t)t->o->globals[i].map);
		emit(t, 0, 0, 0, 0, 0);
		emit(t, BPF_ALU64 | BPF_MOV | BPF_X, 2, BPF_FP, 0, 0);
		emit(t, BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, key);
		emit(t, BPF_JMP | BPF_CALL, 0, 0, 0, BPF_MAP_LOOKUP);
		emit(t, BPF_JMP | BPF_JNE | BPF_K, 0, 0, 2, 0);
		emit(t, BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0);
		emit(t, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
		emit(t, BPF_STX | BPF_MEM | BPF_DW, BPF_FP, 0, global_slot(i), 0);
	}
	emit(t, BPF_ALU64 | BPF_MOV | BPF_X, 1, 6, 0, 0);
}

/* Of a damaged object it may be none; the verifier does not know it then. */
static bool is_global(const struct text *t, const struct bpf_insn *i)
{
	return i->code == BPF_LD_IMM64 && BPF_SRC(i) == BPF_PSEUDO_GLOBAL &&
	       (uint32_t)i->imm < t->o->nr_globals;
}

/* Two instructions for two. */
static void put_global(struct text *t, const struct bpf_insn *i)
{
	emit(t, BPF_LDX | BPF_MEM | BPF_DW, BPF_DST(i), BPF_FP, global_slot((uint32_t)i->imm), 0);
	emit(t, BPF_ALU64 | BPF_ADD | BPF_K, BPF_DST(i), 0, 0, i[1].imm);
}

static void set_word(struct text *t, uint32_t at, const uint8_t *word)
{
	uint32_t half[2];

	memcpy(half, word, 8);
	if (!half[0] && !half[1])
		return;
	emit(t, BPF_LD_IMM64, 2, BPF_PSEUDO_NUMBER, 0, (int32_t)half[0]);
	emit(t, 0, 0, 0, 0, (int32_t)half[1]);
	emit(t, BPF_STX | BPF_MEM | BPF_DW, 1, 2, (int32_t)at, 0);
}

/* Its numbers lie above the key. */
static void put_print(struct text *t, const struct object_function *f, uint32_t call)
{
	int32_t data = global_slot(t->o->nr_globals + 1);
	uint32_t action = 0;
	int nr = object_print(t->o, f, call, &action);

	t->failed |= nr < 0;
	for (int k = 0; k < nr; k++)
		emit(t, BPF_STX | BPF_MEM | BPF_DW, BPF_FP, (uint8_t)(3 + k), data + 8 * k, 0);
	emit(t, BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, (int32_t)action);
	emit(t, BPF_ALU64 | BPF_MOV | BPF_X, 2, BPF_FP, 0, 0);
	emit(t, BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, data);
	emit(t, BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, nr * 8);
	emit(t, BPF_JMP | BPF_CALL, 0, 0, 0, BPF_EMIT);
}

static bool is_print(const struct bpf_insn *i)
{
	return i->code == (BPF_JMP | BPF_CALL) && !BPF_SRC(i) && i->imm == BPF_TRACE_PRINTK;
}

/* ---- calls ---- */

static void put(struct text *t, uint32_t function, uint32_t frame, int depth);

static void put_call(struct text *t, const struct bpf_insn *i, uint32_t frame, uint32_t own,
		     int depth)
{
	int32_t below = -(int32_t)(frame + own);

	for (int k = 0; k < KEPT; k++)
		emit(t, BPF_STX | BPF_MEM | BPF_DW, BPF_FP, (uint8_t)(6 + k), below - 8 * (k + 1),
		     0);
	put(t, (uint32_t)i->imm, frame + own + KEPT * 8, depth + 1);
	for (int k = 0; k < KEPT; k++)
		emit(t, BPF_LDX | BPF_MEM | BPF_DW, (uint8_t)(6 + k), BPF_FP, below - 8 * (k + 1),
		     0);
}

/* One instruction, with r10 where the frame is. */
static void put_one(struct text *t, const struct bpf_insn *i, uint32_t frame)
{
	int class = BPF_CLASS(i->code);
	bool memory = (class == BPF_LDX && BPF_SRC(i) == BPF_FP) ||
		      ((class == BPF_ST || class == BPF_STX) && BPF_DST(i) == BPF_FP);

	emit(t, i->code, BPF_DST(i), BPF_SRC(i), memory ? i->off - (int32_t)frame : i->off, i->imm);
	if (i->code == (BPF_ALU64 | BPF_MOV | BPF_X) && BPF_SRC(i) == BPF_FP && frame)
		emit(t, BPF_ALU64 | BPF_ADD | BPF_K, BPF_DST(i), 0, 0, -(int32_t)frame);
}

static void put(struct text *t, uint32_t function, uint32_t frame, int depth)
{
	const struct object_function *f = &t->o->functions[function];
	uint32_t own = frame_of(f), *at = calloc(f->nr + 1, sizeof(*at));

	if (!at || depth > DEPTH_MAX)
		t->failed = true;
	for (uint32_t i = 0; i < f->nr && !t->failed; i++) {
		const struct bpf_insn *n = &f->code[i];

		at[i] = (uint32_t)t->nr;
		if (is_global(t, n) && i + 1 < f->nr) {
			put_global(t, n);
			at[++i] = (uint32_t)t->nr;
			continue;
		}
		if (is_call(n))
			put_call(t, n, frame, own, depth);
		else if (is_print(n))
			put_print(t, f, i);
		else if (depth && n->code == (BPF_JMP | BPF_EXIT))
			emit(t, BPF_JMP | BPF_JA, 0, 0, 0, 0);
		else
			put_one(t, n, frame);
		if (n->code == BPF_LD_IMM64 && i + 1 < f->nr) {
			put_one(t, &f->code[++i], 0);
			at[i] = (uint32_t)t->nr;
		}
	}
	if (at)
		at[f->nr] = (uint32_t)t->nr;
	for (uint32_t i = 0; i < f->nr && !t->failed; i++) {
		const struct bpf_insn *n = &f->code[i];
		int64_t to = (int64_t)i + 1 + n->off;

		if (depth && n->code == (BPF_JMP | BPF_EXIT))
			to = f->nr;
		else if (!object_is_jump(n))
			continue;
		if (to < 0 || to > f->nr || n->code == (BPF_JMP32 | BPF_JA))
			t->failed = true;
		else
			t->code[at[i]].off = (int16_t)((int32_t)at[to] - (int32_t)at[i] - 1);
	}
	free(at);
}

/* The text, in the arena; NULL: it was too long. */
static struct bpf_insn *finished(struct text *t, uint32_t *nr)
{
	struct bpf_insn *code = NULL;

	if (!t->failed) {
		code = arena_take(&t->o->ast->arena, t->nr * sizeof(*code));
		memcpy(code, t->code, t->nr * sizeof(*code));
		*nr = (uint32_t)t->nr;
	}
	free(t->code);
	return code;
}

struct bpf_insn *object_inline(struct object *o, uint32_t function, uint32_t *nr)
{
	const struct object_function *f = &o->functions[function];
	struct text t = {.o = o};
	struct bpf_insn *code;
	bool calls = false;

	find_globals(&t);
	for (uint32_t i = 0; i < f->nr; i++)
		calls |= is_call(&f->code[i]);
	for (int k = 0; k < KEPT && calls; k++)
		emit(&t, BPF_ALU64 | BPF_MOV | BPF_K, (uint8_t)(6 + k), 0, 0, 0);
	put(&t, function, 0, 0);
	code = finished(&t, nr);
	if (!code)
		object_error(o->ast, "%s: its calls are too deep or too many, or call each other",
			     f->name);
	return code;
}

struct bpf_insn *object_initial(struct object *o, uint32_t *nr)
{
	struct text t = {.o = o};
	struct bpf_insn *code;

	find_globals(&t);
	for (uint32_t i = 0; i < o->nr_globals; i++) {
		emit(&t, BPF_LDX | BPF_MEM | BPF_DW, 1, BPF_FP, global_slot(i), 0);
		for (uint32_t at = 0; o->globals[i].content && at < o->globals[i].bytes; at += 8)
			set_word(&t, at, o->globals[i].content + at);
	}
	emit(&t, BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0);
	emit(&t, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	code = finished(&t, nr);
	if (!code)
		object_error(o->ast, "its variables have too much to begin with");
	return code;
}
