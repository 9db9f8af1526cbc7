/* SPDX-License-Identifier: MIT */
/* bpf.h -- eBPF instructions (RFC 9669), the helpers that a program may call, and the machine that runs it. */
#ifndef WIRE_BPF_H
#define WIRE_BPF_H

#include <stdint.h>

/*
 * OFFSET SIZE  MEANING of an instruction, in the byte order of the machine that runs it
 *      0    1  code: class in bits 0-2; operation and source, or size and mode, above
 *      1    1  dst in the low four bits, src in the high four
 *      2    2  offset of a jump or of memory, signed
 *      4    4  immediate, signed
 * BPF_LD_IMM64 takes two of them: the second one's immediate is the high half.
 */
struct bpf_insn {
	uint8_t code;
	uint8_t regs;
	int16_t off;
	int32_t imm;
};

#define BPF_DST(i)	((i)->regs & 15)
#define BPF_SRC(i)	((i)->regs >> 4)
#define BPF_REGS(d, s)	(uint8_t)((d) | (s) << 4)
#define BPF_NR_REGS	11
#define BPF_FP		10
#define BPF_STACK_BYTES 512

enum bpf_class {
	BPF_LD = 0,
	BPF_LDX = 1,
	BPF_ST = 2,
	BPF_STX = 3,
	BPF_ALU = 4,
	BPF_JMP = 5,
	BPF_JMP32 = 6,
	BPF_ALU64 = 7,
};
#define BPF_CLASS(code) ((code)&7)

enum bpf_size {
	BPF_W = 0x00,
	BPF_H = 0x08,
	BPF_B = 0x10,
	BPF_DW = 0x18,
};
#define BPF_SIZE(code) ((code)&0x18)

enum bpf_mode {
	BPF_IMM = 0x00,
	BPF_MEM = 0x60,
	BPF_MEMSX = 0x80,
	BPF_ATOMIC = 0xc0,
};
#define BPF_MODE(code) ((code)&0xe0)

enum bpf_op {
	BPF_ADD = 0x00,
	BPF_SUB = 0x10,
	BPF_MUL = 0x20,
	BPF_DIV = 0x30, /* offset 1: signed */
	BPF_OR = 0x40,
	BPF_AND = 0x50,
	BPF_LSH = 0x60,
	BPF_RSH = 0x70,
	BPF_NEG = 0x80,
	BPF_MOD = 0x90, /* offset 1: signed */
	BPF_XOR = 0xa0,
	BPF_MOV = 0xb0, /* offset 8, 16, 32: sign-extended from so many bits */
	BPF_ARSH = 0xc0,
	BPF_END = 0xd0,
};

enum bpf_jump {
	BPF_JA = 0x00,
	BPF_JEQ = 0x10,
	BPF_JGT = 0x20,
	BPF_JGE = 0x30,
	BPF_JSET = 0x40,
	BPF_JNE = 0x50,
	BPF_JSGT = 0x60,
	BPF_JSGE = 0x70,
	BPF_CALL = 0x80,
	BPF_EXIT = 0x90,
	BPF_JLT = 0xa0,
	BPF_JLE = 0xb0,
	BPF_JSLT = 0xc0,
	BPF_JSLE = 0xd0,
};
#define BPF_OP(code) ((code)&0xf0)

/* may_goto: a loop goes through one, which leaves it when the run has used up its loops. Linux has it since 6.9. */
#define BPF_MAY_GOTO (BPF_JMP | 0xe0)

#define BPF_K 0x00 /* the second operand is the immediate */
#define BPF_X 0x08 /* ... is the source register */

#define BPF_LD_IMM64	  (BPF_LD | BPF_IMM | BPF_DW)
/* Source register of BPF_LD_IMM64: the immediate is a number, or the index of a map. */
#define BPF_PSEUDO_NUMBER 0
#define BPF_PSEUDO_MAP	  1

/* Atomic operations: the immediate of BPF_STX | BPF_ATOMIC. Others are BPF_ADD, BPF_OR, BPF_AND, BPF_XOR. */
#define BPF_FETCH   0x01
#define BPF_XCHG    (0xe0 | BPF_FETCH)
#define BPF_CMPXCHG (0xf0 | BPF_FETCH)

/*
 * Helpers. The low numbers and their arguments are Linux's; those from BPF_HELPER_FATHOM on are ours. A "map" is an index
 * from BPF_PSEUDO_MAP. Keys and values are pointers to as many bytes as the map says.
 */
enum bpf_helper {
	BPF_MAP_LOOKUP = 1, /* map, key: the value's address or 0 */
	BPF_MAP_UPDATE = 2, /* map, key, value, flags: 0 or a negative errno */
	BPF_MAP_DELETE = 3, /* map, key */
	BPF_KTIME_NS = 5,
	BPF_CPU = 8,
	BPF_PID_TGID = 14,     /* thread group << 32 | thread */
	BPF_COMM = 16,	       /* buffer, its bytes */
	BPF_STACK_ID = 27,     /* context, map, flags */
	BPF_RING_OUTPUT = 130, /* map, data, bytes, flags */

	BPF_HELPER_FATHOM = 4096,
	BPF_MAP_ADD =
		BPF_HELPER_FATHOM, /* map, key, number: add to a counter that need not be there yet */
	BPF_MAP_NOTE, /* map, key, number: count, total, min and max of what it was given */
	BPF_MAP_HIST, /* map, key, number: one more in the number's bucket */
	BPF_FIELD_STR, /* context, place, buffer, its bytes, at most: a string of the record, filled up with zeros */
	BPF_STR_DIFFER, /* one, other, bytes: 0 if the strings are equal */
	BPF_ELAPSED,	/* nanoseconds since the program began */
	BPF_PROBE_ID,	/* number of the probe that runs: a text for people */
	BPF_TID,	/* the thread alone: BPF_PID_TGID looks its group up */
	BPF_EMIT,	/* action, data, bytes: something for the host to do or print */
};

/* Place of a string, for BPF_FIELD_STR: kind << 32 | bytes << 16 | offset. */
enum bpf_string {
	BPF_STRING_ARRAY,   /* char[bytes] */
	BPF_STRING_LOC,	    /* __data_loc: a 32-bit word that says length << 16 | offset */
	BPF_STRING_REL_LOC, /* __rel_loc: the same, counted from the end of the word */
	BPF_STRING_TAIL,    /* char[]: the rest of the record */
};
#define BPF_STRING_AT(kind, bytes, off) \
	((uint64_t)(kind) << 32 | (uint64_t)(bytes) << 16 | (uint64_t)(off))

/* ---- maps ---- */

enum bpf_map_kind {
	BPF_MAP_HASH,
	BPF_MAP_ARRAY,	     /* the key is 32 bits: 0 .. entries - 1, all there from the start */
	BPF_MAP_PERCPU_HASH, /* each CPU has a value of its own */
	BPF_MAP_PERCPU_ARRAY,
	BPF_MAP_COUNTS, /* BPF_MAP_ADD */
	BPF_MAP_NOTES,	/* BPF_MAP_NOTE: struct bpf_noted */
	BPF_MAP_LOG2,	/* BPF_MAP_HIST: BPF_LOG2_BUCKETS counters */
	BPF_MAP_LINEAR, /* BPF_MAP_HIST: one below, one for each step, one above */
	BPF_MAP_RING,	/* BPF_RING_OUTPUT */
	BPF_MAP_KINDS,
};

/* What min(), max(), avg() and stats() keep. */
struct bpf_noted {
	uint64_t count;
	int64_t total, min, max;
};

#define BPF_LOG2_BUCKETS 66 /* below 0, 0, 1, then powers of two */

/* The bucket of BPF_MAP_LOG2. The compiler's own count of zeros would be a call into libgcc on riscv64. */
static inline uint32_t bpf_log2_bucket(int64_t v)
{
	uint32_t n = 2, low = (uint32_t)v, high = (uint32_t)((uint64_t)v >> 32);

	if (v <= 0)
		return v == 0;
	if (high) {
		low = high;
		n += 32;
	}
	for (uint32_t bits = 16; bits; bits /= 2)
		if (low >> bits) {
			low >>= bits;
			n += bits;
		}
	return n;
}

/* a / b, and what remains; b is not 0. */
uint64_t fathom_bpf_quotient(uint64_t a, uint64_t b, uint64_t *rest);

static inline uint32_t bpf_linear_buckets(int64_t min, int64_t max, int64_t step)
{
	uint64_t rest;

	return (uint32_t)fathom_bpf_quotient((uint64_t)max - (uint64_t)min, (uint64_t)step, &rest) +
	       2;
}

static inline uint32_t bpf_linear_bucket(int64_t min, int64_t max, int64_t step, int64_t v)
{
	uint64_t rest;

	if (v < min)
		return 0;
	v = v < max ? v : max;
	return (uint32_t)fathom_bpf_quotient((uint64_t)v - (uint64_t)min, (uint64_t)step, &rest) +
	       1;
}

/* What a run needs beside the program: helpers, and how many instructions it may take. */
struct bpf_machine {
	uint64_t (*call)(struct bpf_machine *m, uint32_t helper, uint64_t a, uint64_t b, uint64_t c,
			 uint64_t d, uint64_t e);
	uint32_t budget; /* taken down by what was run; a run ends when it is used up */
	uint32_t loops;	 /* how often BPF_MAY_GOTO goes on, in one run */
	uint64_t *stack; /* its lowest word */
	uint32_t stack_bytes;
};

/*
 * Run a program that was verified, or made by our compiler: nothing is checked but the budget. Context: any. The result
 * is r0; a program whose budget is used up ends at once with 0, and machine.budget is 0 then.
 */
uint64_t fathom_bpf_run(struct bpf_machine *m, const struct bpf_insn *program, const void *context);

/* ---- verification ---- */

/* What the verifier knows of a map. */
struct bpf_map_info {
	uint32_t key_bytes, value_bytes;
	uint32_t kind; /* enum bpf_map_kind */
};

struct bpf_subject {
	const struct bpf_insn *code;
	uint32_t nr;
	uint32_t context_bytes; /* of the record that r1 points to: it may be read, not written */
	uint32_t stack_bytes;	/* that there are: a multiple of 8, BPF_STACK_BYTES or less */
	const struct bpf_map_info *maps;
	uint32_t nr_maps;
	void *scratch; /* aligned to 8: 2 bytes an instruction, 132 + 1.5 * stack_bytes a jump target */
	uint32_t scratch_bytes;
};

struct bpf_verdict {
	uint32_t at;	 /* instruction */
	const char *why; /* "" if the program is accepted */
};

/*
 * Prove that every run of the program ends, reads only registers and memory that were written, stays inside its context,
 * stack and map values, and gives each helper what it asks for. 0, or -EINVAL and where and why not; -ENOMEM: the scratch is
 * too small for so many jump targets. Context: task; takes time in proportion to instructions and loops.
 */
int fathom_bpf_verify(const struct bpf_subject *in, struct bpf_verdict *out);

#endif
