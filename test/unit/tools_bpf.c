/* SPDX-License-Identifier: MIT */
/* tools_bpf.c -- eBPF: what instructions do, what the verifier refuses, and that what it accepts stays inside its memory. */
#include "test/harness.h"

#include "wire/bpf.h"

#include <inttypes.h>

#define I(code, dst, src, off, imm)                \
	{                                          \
		code, BPF_REGS(dst, src), off, imm \
	}
#define MOV(d, imm)	    I(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, imm)
#define MOVX(d, s)	    I(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ALU(op, d, imm)	    I(BPF_ALU64 | op | BPF_K, d, 0, 0, imm)
#define ALUX(op, d, s)	    I(BPF_ALU64 | op | BPF_X, d, s, 0, 0)
#define ALU32(op, d, imm)   I(BPF_ALU | op | BPF_K, d, 0, 0, imm)
#define LDX(size, d, s, o)  I(BPF_LDX | BPF_MEM | size, d, s, o, 0)
#define ST(size, d, o, imm) I(BPF_ST | BPF_MEM | size, d, 0, o, imm)
#define STX(size, d, o, s)  I(BPF_STX | BPF_MEM | size, d, s, o, 0)
#define CALL(helper)	    I(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define JMP(op, d, imm, o)  I(BPF_JMP | op | BPF_K, d, 0, o, imm)
#define JMPX(op, d, s, o)   I(BPF_JMP | op | BPF_X, d, s, o, 0)
#define JA(o)		    I(BPF_JMP | BPF_JA, 0, 0, o, 0)
#define MAY(o)		    I(BPF_MAY_GOTO, 0, 0, o, 0)
#define MAPREF(d, index)    I(BPF_LD_IMM64, d, BPF_PSEUDO_MAP, 0, index), I(0, 0, 0, 0, 0)
#define EXIT		    I(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define RETURN0		    MOV(0, 0), EXIT

/* ---- a machine with exact memory: ASan sees one byte too far ---- */

#define CONTEXT_BYTES 24u
#define STACK_BYTES   64u
#define NR_MAPS	      3u

static const struct bpf_map_info maps[NR_MAPS] = {
	{8, 8, BPF_MAP_HASH}, {16, 24, BPF_MAP_HASH}, {0, 8, BPF_MAP_COUNTS}};

struct box {
	struct bpf_machine m;
	uint8_t *context, *keys, *values[NR_MAPS];
	uint64_t sum; /* of what helpers were given */
};

static void note(struct box *b, const void *data, uint64_t bytes)
{
	const uint8_t *p = data;

	while (bytes--)
		b->sum = b->sum * 31 + *p++;
}

static uint64_t helper(struct bpf_machine *m, uint32_t which, uint64_t a, uint64_t k, uint64_t c,
		       uint64_t d, uint64_t e)
{
	struct box *b = (struct box *)m;
	const void *key = (const void *)(uintptr_t)k;

	(void)e;
	switch (which) {
	case BPF_MAP_LOOKUP:
		note(b, key, maps[a].key_bytes);
		return b->sum & 1 ? (uintptr_t)b->values[a] : 0;
	case BPF_MAP_UPDATE:
		note(b, key, maps[a].key_bytes);
		memcpy(b->values[a], (void *)(uintptr_t)c, maps[a].value_bytes);
		return 0;
	case BPF_MAP_ADD:
	case BPF_MAP_NOTE:
	case BPF_MAP_HIST:
		b->sum += c;
		/* fall through */
	case BPF_MAP_DELETE: note(b, key, maps[a].key_bytes); return b->sum;
	case BPF_COMM: memset((void *)(uintptr_t)a, 'c', k); return 0;
	case BPF_FIELD_STR: memset((void *)(uintptr_t)c, 'f', d); return k;
	case BPF_STR_DIFFER:
		note(b, (void *)(uintptr_t)a, c);
		note(b, key, c);
		return b->sum & 1;
	case BPF_EMIT:
		b->sum += a;
		note(b, key, c);
		return 0;
	case BPF_RING_OUTPUT: note(b, key, c); return 0;
	default: return which * 1000;
	}
}

static struct box *box_new(uint8_t garbage)
{
	struct box *b = calloc(1, sizeof(*b));
	uint32_t i;

	b->m.call = helper;
	b->m.budget = 1000000;
	b->m.loops = 20;
	b->m.stack_bytes = STACK_BYTES;
	b->m.stack = malloc(STACK_BYTES);
	memset(b->m.stack, garbage, STACK_BYTES);
	b->context = malloc(CONTEXT_BYTES);
	for (i = 0; i < CONTEXT_BYTES; i++)
		b->context[i] = (uint8_t)(i * 7 + 1);
	for (i = 0; i < NR_MAPS; i++) {
		b->values[i] = malloc(maps[i].value_bytes);
		memset(b->values[i], (int)i + 1, maps[i].value_bytes);
	}
	return b;
}

static uint64_t box_end(struct box *b)
{
	uint64_t sum;
	uint32_t i;

	for (i = 0; i < NR_MAPS; i++) {
		note(b, b->values[i], maps[i].value_bytes);
		free(b->values[i]);
	}
	sum = b->sum;
	free(b->m.stack);
	free(b->context);
	free(b);
	return sum;
}

static uint64_t scratch[65536];

static int verify(const struct bpf_insn *code, uint32_t nr, struct bpf_verdict *why)
{
	struct bpf_subject s = {.code = code,
				.nr = nr,
				.context_bytes = CONTEXT_BYTES,
				.stack_bytes = STACK_BYTES,
				.maps = maps,
				.nr_maps = NR_MAPS,
				.scratch = scratch,
				.scratch_bytes = sizeof(scratch)};

	return fathom_bpf_verify(&s, why);
}

/* ---- instructions ---- */

static uint64_t result(const struct bpf_insn *code)
{
	struct box *b = box_new(0xaa);
	uint64_t r = fathom_bpf_run(&b->m, code, b->context);

	box_end(b);
	return r;
}

#define RESULT(...) result((const struct bpf_insn[]){__VA_ARGS__, EXIT})

TEST(arithmetic)
{
	CHECK_EQ(RESULT(MOV(0, -7), ALU(BPF_ADD, 0, 10)), 3);
	CHECK_EQ(RESULT(MOV(0, 5), ALU(BPF_SUB, 0, 10)), -5);
	CHECK_EQ(RESULT(MOV(0, -1), ALU32(BPF_ADD, 0, 0)), 0xffffffff);
	CHECK_EQ(RESULT(MOV(0, 7), ALU(BPF_DIV, 0, 2)), 3);
	CHECK_EQ(RESULT(MOV(0, 7), MOV(1, 0), ALUX(BPF_DIV, 0, 1)), 0);
	CHECK_EQ(RESULT(MOV(0, 7), MOV(1, 0), ALUX(BPF_MOD, 0, 1)), 7);
	CHECK_EQ(RESULT(MOV(0, -7), I(BPF_ALU64 | BPF_DIV | BPF_K, 0, 0, 1, 2)), -3);
	CHECK_EQ(RESULT(MOV(0, -7), I(BPF_ALU64 | BPF_MOD | BPF_K, 0, 0, 1, 2)), -1);
	CHECK_EQ(RESULT(MOV(0, 1), ALU(BPF_LSH, 0, 63),
			I(BPF_ALU64 | BPF_DIV | BPF_K, 0, 0, 1, -1)),
		 INT64_MIN);
	CHECK_EQ(RESULT(MOV(0, -7), I(BPF_ALU | BPF_DIV | BPF_K, 0, 0, 1, 2)), 0xfffffffd);
	CHECK_EQ(RESULT(MOV(0, -8), ALU(BPF_ARSH, 0, 1)), -4);
	CHECK_EQ(RESULT(MOV(0, -8), ALU32(BPF_ARSH, 0, 1)), 0xfffffffc);
	CHECK_EQ(RESULT(MOV(0, -8), ALU(BPF_RSH, 0, 60)), 15);
	CHECK_EQ(RESULT(MOV(0, 6), MOV(1, 66), ALUX(BPF_LSH, 0, 1)), 24);
	CHECK_EQ(RESULT(MOV(1, 0x180), I(BPF_ALU64 | BPF_MOV | BPF_X, 0, 1, 8, 0)), -128);
	CHECK_EQ(RESULT(MOV(1, 0x18000), I(BPF_ALU | BPF_MOV | BPF_X, 0, 1, 16, 0)), 0xffff8000);
	CHECK_EQ(RESULT(MOV(0, 0x1234), I(BPF_ALU | BPF_END | BPF_X, 0, 0, 0, 16)), 0x3412);
	CHECK_EQ(RESULT(MOV(0, 0x12345678), I(BPF_ALU | BPF_END | BPF_K, 0, 0, 0, 16)), 0x5678);
	CHECK_EQ(RESULT(MOV(0, 0x12345678), I(BPF_ALU64 | BPF_END, 0, 0, 0, 32)), 0x78563412);
	CHECK_EQ(RESULT(I(BPF_LD_IMM64, 0, 0, 0, 1), I(0, 0, 0, 0, 2)), 0x200000001);
	CHECK_EQ(RESULT(MOV(0, 5), I(BPF_ALU64 | BPF_NEG, 0, 0, 0, 0)), -5);
}

TEST(memory_and_jumps)
{
	CHECK_EQ(RESULT(LDX(BPF_B, 0, 1, 1)), 8);
	CHECK_EQ(RESULT(ST(BPF_DW, 10, -8, -2), I(BPF_LDX | BPF_MEMSX | BPF_B, 0, 10, -8, 0)), -2);
	CHECK_EQ(RESULT(ST(BPF_DW, 10, -8, -2), LDX(BPF_W, 0, 10, -8)), 0xfffffffe);
	CHECK_EQ(RESULT(ST(BPF_DW, 10, -8, 5), MOV(1, 3),
			I(BPF_STX | BPF_ATOMIC | BPF_DW, 10, 1, -8, BPF_ADD | BPF_FETCH),
			LDX(BPF_DW, 0, 10, -8), ALU(BPF_MUL, 0, 10), ALUX(BPF_ADD, 0, 1)),
		 85);
	CHECK_EQ(RESULT(ST(BPF_DW, 10, -8, 5), MOV(0, 5), MOV(1, 9),
			I(BPF_STX | BPF_ATOMIC | BPF_DW, 10, 1, -8, BPF_CMPXCHG),
			LDX(BPF_DW, 0, 10, -8)),
		 9);
	CHECK_EQ(RESULT(MOV(0, 1), JMP(BPF_JSGT, 0, -1, 1), MOV(0, 7)), 1);
	CHECK_EQ(RESULT(MOV(0, 1), JMP(BPF_JGT, 0, -1, 1), MOV(0, 7)), 7);
	CHECK_EQ(RESULT(MOV(0, 6), JMP(BPF_JSET, 0, 2, 1), MOV(0, 7)), 6);
	CHECK_EQ(RESULT(MOV(0, 0), MAY(2), ALU(BPF_ADD, 0, 1), JA(-3)), 20);
}

TEST(budget_ends_a_run)
{
	const struct bpf_insn loop[] = {MOV(0, 1), JA(-2)};
	struct box *b = box_new(0);

	CHECK_EQ(fathom_bpf_run(&b->m, loop, b->context), 0);
	CHECK_EQ(b->m.budget, 0);
	box_end(b);
}

/* ---- the verifier ---- */

#include "bpf_hostile.h"

TEST(hostile_programs_are_refused)
{
	size_t i;

	for (i = 0; i < sizeof(hostiles) / sizeof(*hostiles); i++) {
		const struct hostile *h = &hostiles[i];
		struct bpf_verdict v;
		int err = verify(h->code, h->nr, &v);

		if (strcmp(v.why, h->why) || !!err != !!*h->why || (err && v.at != h->at))
			TEST_SAY("  case %zu: %d at %u: %s, want at %u: %s\n", i, err, v.at, v.why,
				 h->at, h->why);
	}
}

/* ---- families: the same fault in every place that it can have ---- */

static uint32_t refusals;

static void refused(const char *why, uint32_t at, const struct bpf_insn *code, uint32_t nr)
{
	struct bpf_verdict v;
	int err = verify(code, nr, &v);

	refusals++;
	if (err != -22 || strcmp(v.why, why) != 0 || v.at != at)
		TEST_SAY("  refusal %u: %d at %u: %s, want at %u: %s\n", refusals, err, v.at, v.why,
			 at, why);
}

#define REFUSED(why, at, ...)                                         \
	do {                                                          \
		const struct bpf_insn code[] = {__VA_ARGS__};         \
		refused(why, at, code, sizeof(code) / sizeof(*code)); \
	} while (0)

static const uint8_t sizes[] = {BPF_B, BPF_H, BPF_W, BPF_DW};
static const int size_bytes[] = {1, 2, 4, 8};

TEST(every_access_at_every_edge)
{
	for (int k = 0; k < 4; k++) {
		int n = size_bytes[k];
		uint8_t z = sizes[k];

		REFUSED("outside the context", 0, LDX(z, 0, 1, (int16_t)(CONTEXT_BYTES - n + 1)),
			EXIT);
		REFUSED("outside the context", 0, LDX(z, 0, 1, -n), EXIT);
		REFUSED("outside the stack", 0, ST(z, 10, (int16_t)(1 - n), 1), RETURN0);
		REFUSED("outside the stack", 0, ST(z, 10, -(int)STACK_BYTES - 1, 1), RETURN0);
		REFUSED("outside the stack", 1, MOV(2, 0), STX(z, 10, (int16_t)(1 - n), 2),
			RETURN0);
		REFUSED("outside the stack", 0, LDX(z, 0, 10, 0), EXIT);
		REFUSED("stack is read before it is written", 0, LDX(z, 0, 10, -8), EXIT);
		REFUSED("the context is read only", 0, ST(z, 1, 0, 1), RETURN0);
		REFUSED("the context is read only", 1, MOV(2, 0), STX(z, 1, 0, 2), RETURN0);
		REFUSED("register is not initialised", 0, LDX(z, 0, 5, 0), EXIT);
		REFUSED("register is not initialised", 0, ST(z, 5, 0, 0), RETURN0);
		REFUSED("register is not initialised", 0, STX(z, 10, -8, 5), RETURN0);
		REFUSED("not a pointer", 1, MOV(5, 4096), LDX(z, 0, 5, 0), EXIT);
		REFUSED("not a pointer", 1, MOV(5, 4096), ST(z, 5, 0, 0), RETURN0);
		REFUSED("the frame pointer cannot be changed", 0, LDX(z, 10, 1, 0), RETURN0);
		if (n < 8)
			REFUSED("a pointer is kept only whole, on the stack", 0, STX(z, 10, -8, 1),
				RETURN0);
	}
}

TEST(every_operation_on_a_pointer)
{
	for (int op = BPF_MUL; op <= BPF_ARSH; op += 0x10) {
		if (op == BPF_NEG || op == BPF_MOV)
			continue;
		REFUSED("arithmetic with a pointer", 0, ALU(op, 1, 1), RETURN0);
		REFUSED("arithmetic with a pointer", 1, MOV(2, 1), ALUX(op, 1, 2), RETURN0);
		REFUSED("arithmetic with a pointer", 1, MOV(2, 1), ALUX(op, 2, 1), RETURN0);
		REFUSED("arithmetic with a pointer", 0, ALU32(op, 1, 1), RETURN0);
		REFUSED("register is not initialised", 0, ALU(op, 2, 1), RETURN0);
		REFUSED("register is not initialised", 1, MOV(2, 1), ALUX(op, 2, 3), RETURN0);
		REFUSED("the frame pointer cannot be changed", 0, ALU(op, 10, 1), RETURN0);
	}
	for (int op = BPF_JGT; op <= BPF_JSLE; op += 0x10) {
		if (op == BPF_JNE || op == BPF_CALL || op == BPF_EXIT)
			continue;
		REFUSED("a pointer can only be compared with 0", 0, JMP(op, 1, 0, 0), RETURN0);
		REFUSED("a pointer can only be compared with 0", 0, JMPX(op, 1, 10, 0), RETURN0);
		REFUSED("register is not initialised", 0, JMP(op, 3, 0, 0), RETURN0);
		REFUSED("jump out of the program", 1, MOV(2, 0), JMP(op, 2, 0, 100), RETURN0);
		REFUSED("jump out of the program", 1, MOV(2, 0), JMP(op, 2, 0, -100), RETURN0);
		REFUSED("loop without may_goto", 1, MOV(2, 0), JMP(op, 2, 0, -1), RETURN0);
	}
}

TEST(every_helper_without_its_arguments)
{
	static const uint16_t maps_first[] = {BPF_MAP_LOOKUP, BPF_MAP_UPDATE,  BPF_MAP_DELETE,
					      BPF_MAP_ADD,    BPF_RING_OUTPUT, BPF_MAP_NOTE,
					      BPF_MAP_HIST};
	static const struct {
		uint16_t helper, map;
	} unfit[] = {{BPF_MAP_NOTE, 0},	   {BPF_MAP_NOTE, 1},	 {BPF_MAP_NOTE, 2},
		     {BPF_MAP_HIST, 0},	   {BPF_MAP_HIST, 1},	 {BPF_MAP_HIST, 2},
		     {BPF_RING_OUTPUT, 0}, {BPF_RING_OUTPUT, 1}, {BPF_RING_OUTPUT, 2}};

	for (uint32_t i = 0; i < sizeof(maps_first) / sizeof(*maps_first); i++) {
		REFUSED("argument is not a map", 0, CALL(maps_first[i]), RETURN0);
		REFUSED("argument is not a map", 1, MOV(1, 0), CALL(maps_first[i]), RETURN0);
		if (i < 4)
			REFUSED("register is not initialised", 2, MAPREF(1, 0), CALL(maps_first[i]),
				RETURN0);
	}
	REFUSED("a number of bytes is not a number", 0, CALL(BPF_COMM), RETURN0);
	REFUSED("a number of bytes is not a number", 0, CALL(BPF_STR_DIFFER), RETURN0);
	REFUSED("argument is not a number", 0, CALL(BPF_EMIT), RETURN0);
	REFUSED("register is not initialised", 0, CALL(BPF_STACK_ID), RETURN0);
	REFUSED("register is not initialised", 0, CALL(BPF_FIELD_STR), RETURN0);
	for (uint32_t i = 0; i < sizeof(unfit) / sizeof(*unfit); i++)
		REFUSED("the helper does not take this kind of map", 8, ST(BPF_DW, 10, -8, 0),
			ST(BPF_DW, 10, -16, 0), MAPREF(1, unfit[i].map), MOVX(2, 10),
			ALU(BPF_ADD, 2, -16), MOV(3, 8), MOV(4, 0), CALL(unfit[i].helper), RETURN0);
	for (int32_t helper = 17; helper < 100; helper++)
		if (helper != BPF_STACK_ID)
			REFUSED("no such helper", 0, CALL(helper), RETURN0);
}

TEST(every_atomic_operation)
{
	static const int32_t ops[] = {BPF_ADD, BPF_OR, BPF_AND, BPF_XOR, BPF_XCHG};

	for (uint32_t i = 0; i < 5; i++) {
		REFUSED("an atomic operation is not aligned", 3, ST(BPF_DW, 10, -16, 0),
			ST(BPF_DW, 10, -8, 0), MOV(2, 1),
			I(BPF_STX | BPF_ATOMIC | BPF_DW, 10, 2, -12, ops[i]), RETURN0);
		REFUSED("an atomic operation is not aligned", 2, ST(BPF_DW, 10, -8, 0), MOV(2, 1),
			I(BPF_STX | BPF_ATOMIC | BPF_W, 10, 2, -7, ops[i]), RETURN0);
		REFUSED("the context is read only", 1, MOV(2, 1),
			I(BPF_STX | BPF_ATOMIC | BPF_DW, 1, 2, 0, ops[i]), RETURN0);
		REFUSED("stack is read before it is written", 1, MOV(2, 1),
			I(BPF_STX | BPF_ATOMIC | BPF_DW, 10, 2, -8, ops[i]), RETURN0);
		REFUSED("unknown width", 1, MOV(2, 1),
			I(BPF_STX | BPF_ATOMIC | BPF_B, 10, 2, -8, ops[i]), RETURN0);
	}
	printf("  %u refusals\n", refusals);
	CHECK(refusals >= 300);
}

/* The result of an earlier turn of the same lookup is not what the test of a later one tells about. */
TEST(a_lookup_in_a_loop_is_another)
{
	const struct bpf_insn code[] = {
		ST(BPF_DW, 10, -8, 1),
		MOV(6, 0),
		MOV(0, 0),
		MAY(11),
		MOVX(6, 0),
		MAPREF(1, 0),
		MOVX(2, 10),
		ALU(BPF_ADD, 2, -8),
		CALL(BPF_MAP_LOOKUP),
		JMP(BPF_JEQ, 0, 0, 2),
		MOV(7, 0), /* r0 is found here, r6 is what it was before */
		LDX(BPF_DW, 7, 6, 0),
		JA(-10),
		RETURN0,
	};
	struct bpf_verdict v;

	CHECK(verify(code, sizeof(code) / sizeof(*code), &v) != 0);
}

TEST(little_scratch_is_an_error)
{
	const struct bpf_insn code[] = {MOV(0, 0), JMP(BPF_JEQ, 0, 0, 0), EXIT};
	struct bpf_verdict v;
	uint32_t bytes;

	for (bytes = 0; bytes < 2000; bytes += 8) {
		struct bpf_subject s = {
			.code = code, .nr = 3, .stack_bytes = 0, .scratch_bytes = bytes};
		int err;

		s.scratch = malloc(bytes + 1);
		err = fathom_bpf_verify(&s, &v);
		CHECK(err == -12 || !err);
		free(s.scratch);
	}
}

/* ---- random programs ---- */

static uint64_t seed;

static uint32_t dice(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 20) % n;
}

static const int32_t numbers[] = {0,  1,  -1, 7,  8,   15,  16,	 23,	    24,
				  25, 63, 64, -8, -16, -64, 255, INT32_MIN, INT32_MAX};
static const uint16_t helper_ids[] = {BPF_MAP_LOOKUP, BPF_MAP_UPDATE, BPF_MAP_DELETE, BPF_KTIME_NS,
				      BPF_CPU,	      BPF_COMM,	      BPF_MAP_ADD,    BPF_FIELD_STR,
				      BPF_STR_DIFFER, BPF_EMIT,	      BPF_RING_OUTPUT};

static struct bpf_insn random_insn(uint32_t left)
{
	uint8_t d = (uint8_t)dice(10), s = (uint8_t)dice(11);
	uint8_t size = sizes[dice(4)];
	int32_t n = numbers[dice(sizeof(numbers) / sizeof(*numbers))];
	int16_t off = (int16_t)(dice(3) ? -8 * (int)dice(9) : (int)dice(30) - 4);
	uint8_t x = dice(2) ? BPF_X : BPF_K;

	switch (dice(12)) {
	case 0:
	case 1: return (struct bpf_insn)MOV(d, n);
	case 2: return (struct bpf_insn)MOVX(d, s);
	case 3:
		return (struct bpf_insn)I((dice(4) ? BPF_ALU64 : BPF_ALU) | dice(13) << 4 | x, d,
					  x ? s : 0, 0, x ? 0 : n);
	case 4: return (struct bpf_insn)LDX(size, d, dice(2) ? s : dice(2) ? 10 : 6, off);
	case 5: return (struct bpf_insn)STX(size, dice(2) ? s : 10, off, d);
	case 6:
	case 7: return (struct bpf_insn)ST(BPF_DW, 10, (int16_t)(-8 * (int)(1 + dice(8))), n);
	case 8:
		return (struct bpf_insn)I((dice(4) ? BPF_JMP : BPF_JMP32) | (1 + dice(13)) << 4 | x,
					  d, x ? s : 0, (int16_t)dice(left < 6 ? left : 6),
					  x ? 0 : n);
	case 9:
		return (struct bpf_insn)CALL(
			helper_ids[dice(sizeof(helper_ids) / sizeof(*helper_ids))]);
	case 10: return (struct bpf_insn)ALU(BPF_ADD, d, n);
	default:
		return (struct bpf_insn)I(BPF_STX | BPF_ATOMIC | (dice(2) ? BPF_DW : BPF_W), 10, d,
					  off,
					  (int32_t)(dice(2)   ? BPF_ADD
						    : dice(2) ? BPF_XCHG
							      : BPF_CMPXCHG));
	}
}

/* A piece that is likely to be right, so that what follows it is looked at. */
static uint32_t random_piece(struct bpf_insn *p)
{
	const struct bpf_insn lookup[] = {MAPREF(1, 0), MOVX(2, 10), ALU(BPF_ADD, 2, -16),
					  CALL(BPF_MAP_LOOKUP),
					  JMP(BPF_JEQ, 0, 0, (int16_t)dice(4))};
	const struct bpf_insn comm[] = {MOVX(1, 10), ALU(BPF_ADD, 1, -8 * (int)(1 + dice(8))),
					MOV(2, 8 * (int)dice(9)), CALL(BPF_COMM)};
	const struct bpf_insn emit[] = {MOV(1, 1), MOVX(2, 10), ALU(BPF_ADD, 2, -8 * (int)dice(9)),
					MOV(3, (int)dice(70)), CALL(BPF_EMIT)};
	const struct bpf_insn bound[] = {LDX(BPF_B, 7, 6, (int16_t)dice(24)),
					 ALU(BPF_AND, 7, (int)dice(40)), MOVX(8, 6),
					 ALUX(BPF_ADD, 8, 7), LDX(BPF_B, 9, 8, (int16_t)dice(24))};
	const struct bpf_insn stack[] = {LDX(BPF_B, 7, 6, 0), ALU(BPF_AND, 7, (int)dice(40)),
					 MOVX(8, 10), ALUX(BPF_ADD, 8, 7),
					 ST(BPF_B, 8, (int16_t) - (int)dice(70), 1)};
	const struct bpf_insn *from[] = {lookup, comm, emit, bound, stack};
	const uint32_t nr[] = {6, 4, 5, 5, 5};
	uint32_t which = dice(5);

	memcpy(p, from[which], nr[which] * sizeof(*p));
	return nr[which];
}

static uint32_t random_program(struct bpf_insn *p)
{
	uint32_t n = 0, length = 4 + dice(30), loop = dice(4) ? 0 : 3 + dice(5);

	p[n++] = (struct bpf_insn)MOVX(6, 1);
	if (loop)
		p[n++] = (struct bpf_insn)MAY(0); /* its way out is set below */
	while (n < length) {
		if (!dice(3))
			n += random_piece(p + n);
		else {
			p[n] = random_insn(length - n);
			n++;
		}
	}
	if (loop) {
		p[n] = (struct bpf_insn)JA((int16_t)(1 - (int)n - 1));
		p[1].off = (int16_t)(n - 1);
		n++;
	}
	p[n++] = (struct bpf_insn)MOV(0, 0);
	if (dice(2))
		p[n - 1] = (struct bpf_insn)MOVX(0, (uint8_t)dice(10));
	p[n++] = (struct bpf_insn)EXIT;
	return n;
}

static void run_both(const struct bpf_insn *p, uint32_t nr, uint64_t at)
{
	/* Two machines with other garbage in their memory, at other addresses: what is accepted cannot see a difference. */
	struct box *a = box_new(0x11), *b = box_new(0xee);
	uint64_t x, y;

	(void)nr;
	x = fathom_bpf_run(&a->m, p, a->context);
	y = fathom_bpf_run(&b->m, p, b->context);
	CHECK(a->m.budget && b->m.budget);
	if (x != y)
		TEST_SAY("  program of seed %" PRIu64 ": %" PRIx64 " and %" PRIx64 "\n", at, x, y);
	x = box_end(a);
	y = box_end(b);
	if (x != y)
		TEST_SAY("  program of seed %" PRIu64 " leaves something else each time\n", at);
}

TEST(accepted_programs_stay_inside)
{
	uint64_t nr = getenv("N") ? strtoull(getenv("N"), NULL, 10) : 200000, i, accepted = 0;
	uint64_t first = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 1;
	struct bpf_insn p[80];

	for (i = 0; i < nr; i++) {
		struct bpf_verdict v;
		uint32_t n;

		seed = (first + i) * 0x9e3779b97f4a7c15;
		n = random_program(p);
		if (!verify(p, n, &v)) {
			accepted++;
			run_both(p, n, first + i);
		}
	}
	printf("  %" PRIu64 " of %" PRIu64 " accepted\n", accepted, nr);
	CHECK(accepted > nr / 100);
}

TEST_MAIN
