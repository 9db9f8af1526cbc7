/* SPDX-License-Identifier: MIT */
/* sel4.h -- the 16-bit stream of the seL4 function tracer: words, markers, console dump, fixed records. */
#ifndef WIRE_SEL4_H
#define WIRE_SEL4_H

#include <stdint.h>

/*
 * The stream is a sequence of little-endian 16-bit words. One event is one word, or a marker and its operands:
 *
 *	even, 0x0000 .. 0x01fe	VMID: the address space from here on is word >> 1
 *	even, 0xff00 .. 0xfffe	marker, followed by its operands (table below), which are raw and may look like anything
 *	any other, bit 0 set	enter the function with the dictionary index word >> 1
 *	any other, bit 0 clear	leave it
 *
 * Function indices are 256 .. 0x7f7f, so that the bit-0-clear plane of a function never meets VMIDs and markers.
 * Numbers of several words have their low word first.
 */
#define WIRE_SEL4_FUNC_FIRST   256u
#define WIRE_SEL4_FUNC_LAST    0x7f7fu
#define WIRE_SEL4_FUNC_MAX     (WIRE_SEL4_FUNC_LAST - WIRE_SEL4_FUNC_FIRST + 1)
#define WIRE_SEL4_VMID_MAX     255u
#define WIRE_SEL4_MARKER_FIRST 0xff00u
#define WIRE_SEL4_MARKER_KNOWN 0xffe4u /* lowest marker with a defined length */
#define WIRE_SEL4_WORDS_MAX    8u      /* of the longest event, PT_MAP */

/* Types of events; also the type numbers of the fixed records and of the index. Markers follow their values downwards. */
enum wire_sel4_type {
	WIRE_SEL4_FUNC_ENTER = 0,
	WIRE_SEL4_FUNC_EXIT = 1,
	WIRE_SEL4_VMID = 2,
	WIRE_SEL4_SAFE_PTE = 3,	     /* 0xfffe: 48-bit pc */
	WIRE_SEL4_SYSCALL = 4,	     /* 0xfffc: number */
	WIRE_SEL4_VSPACE = 5,	     /* 0xfffa: 48-bit physical address of the root */
	WIRE_SEL4_THREAD = 6,	     /* 0xfff8: 48-bit TCB address */
	WIRE_SEL4_RETYPE = 7,	     /* 0xfff6: 48-bit physical address, object type */
	WIRE_SEL4_INIT_PT = 8,	     /* 0xfff4: 48-bit physical address, phase */
	WIRE_SEL4_CREATE_OBJ = 9,    /* 0xfff2: 48-bit physical address, object type */
	WIRE_SEL4_PT_MAP = 10,	     /* 0xfff0: 48-bit table, 48-bit parent, slot */
	WIRE_SEL4_KERNEL_ENTRY = 11, /* 0xffee: path|syscall|cap|fastpath, tag[15:0], tag[18:16] */
	WIRE_SEL4_INTERRUPT = 12,    /* 0xffec: IRQ number */
	WIRE_SEL4_KERNEL_EXIT = 13,  /* 0xffea: 32-bit duration in cycles */
	WIRE_SEL4_VM_FAULT = 14,     /* 0xffe8: fault type, 48-bit address */
	WIRE_SEL4_USER_FAULT = 15,   /* 0xffe6: number, 32-bit code */
	WIRE_SEL4_TRACEPOINT = 16,   /* 0xffe4: id, 48-bit duration */
	WIRE_SEL4_TIMESTAMP = 17,    /* a TRACEPOINT with the id below: 48-bit clock */
	WIRE_SEL4_UNKNOWN = 18,	     /* a marker without a defined length */
	WIRE_SEL4_CUT = 19,	     /* an event whose operands are missing */
	WIRE_SEL4_NR_TYPES = 20,
};

/*
 * Time. The stream has no clock of its own, and an unknown marker would put every other reader out of step. So Fathom's
 * timestamp is a TRACEPOINT with an id that no kernel uses: readers that do not know it step over it as one tracepoint.
 * The value is the clock's low 48 bits; it holds for the event after it. Its rate is the dump's CLOCK_HZ.
 */
#define WIRE_SEL4_TIMESTAMP_ID 0xffffu

static inline uint32_t wire_sel4_marker(uint32_t type)
{
	if (type == WIRE_SEL4_TIMESTAMP)
		type = WIRE_SEL4_TRACEPOINT;
	return 0xfffeu - 2u * (type - WIRE_SEL4_SAFE_PTE);
}

static inline int wire_sel4_is_marker(uint32_t word)
{
	return word >= WIRE_SEL4_MARKER_FIRST && !(word & 1u);
}

/* A word that is not a function: a marker or a VMID. */
static inline int wire_sel4_is_special(uint32_t word)
{
	return ((word + 0x100u) & 0xffffu) < 0x300u && !(word & 1u);
}

/* The type that a known marker stands for; the caller tells a TIMESTAMP from a TRACEPOINT by its first operand. */
static inline uint32_t wire_sel4_marker_type(uint32_t word)
{
	return word < WIRE_SEL4_MARKER_KNOWN ? (uint32_t)WIRE_SEL4_UNKNOWN
					     : WIRE_SEL4_SAFE_PTE + (0xfffeu - word) / 2u;
}

/* Words of an event of this type, its first word included. */
static inline uint32_t wire_sel4_words(uint32_t type)
{
	switch (type) {
	case WIRE_SEL4_SYSCALL:
	case WIRE_SEL4_INTERRUPT: return 2;
	case WIRE_SEL4_KERNEL_EXIT: return 3;
	case WIRE_SEL4_SAFE_PTE:
	case WIRE_SEL4_VSPACE:
	case WIRE_SEL4_THREAD:
	case WIRE_SEL4_KERNEL_ENTRY:
	case WIRE_SEL4_USER_FAULT: return 4;
	case WIRE_SEL4_RETYPE:
	case WIRE_SEL4_INIT_PT:
	case WIRE_SEL4_CREATE_OBJ:
	case WIRE_SEL4_VM_FAULT:
	case WIRE_SEL4_TRACEPOINT:
	case WIRE_SEL4_TIMESTAMP: return 5;
	case WIRE_SEL4_PT_MAP: return 8;
	default: return 1;
	}
}

/* KERNEL_ENTRY: its three operands. */
enum wire_sel4_path {
	WIRE_SEL4_PATH_UNKNOWN = 0,
	WIRE_SEL4_PATH_INTERRUPT = 1,
	WIRE_SEL4_PATH_UNKNOWN_SYSCALL = 2,
	WIRE_SEL4_PATH_USER_FAULT = 3,
	WIRE_SEL4_PATH_DEBUG_FAULT = 4,
	WIRE_SEL4_PATH_VM_FAULT = 5,
	WIRE_SEL4_PATH_SYSCALL = 6,
	WIRE_SEL4_PATH_VCPU_FAULT = 7,
};

struct wire_sel4_entry {
	uint8_t path;	  /* enum wire_sel4_path */
	uint8_t syscall;  /* 4 bits: the positive number, Call is 1 */
	uint8_t cap;	  /* 5 bits: type of the invoked capability */
	uint8_t fastpath; /* 1 bit */
	uint32_t tag;	  /* 19 bits: invocation label */
};

static inline void wire_sel4_entry_pack(const struct wire_sel4_entry *e, uint16_t out[3])
{
	out[0] = (uint16_t)((e->path & 7u) | (e->syscall & 15u) << 3 | (e->cap & 31u) << 7 |
			    (e->fastpath & 1u) << 12);
	out[1] = (uint16_t)e->tag;
	out[2] = (uint16_t)(e->tag >> 16 & 7u);
}

static inline struct wire_sel4_entry wire_sel4_entry_unpack(const uint16_t in[3])
{
	struct wire_sel4_entry e = {
		.path = (uint8_t)(in[0] & 7u),
		.syscall = (uint8_t)(in[0] >> 3 & 15u),
		.cap = (uint8_t)(in[0] >> 7 & 31u),
		.fastpath = (uint8_t)(in[0] >> 12 & 1u),
		.tag = in[1] | (uint32_t)(in[2] & 7u) << 16,
	};

	return e;
}

static inline uint32_t wire_sel4_get32(const uint16_t *w)
{
	return w[0] | (uint32_t)w[1] << 16;
}

static inline uint64_t wire_sel4_get48(const uint16_t *w)
{
	return w[0] | (uint64_t)w[1] << 16 | (uint64_t)w[2] << 32;
}

static inline void wire_sel4_put48(uint16_t *w, uint64_t v)
{
	w[0] = (uint16_t)v;
	w[1] = (uint16_t)(v >> 16);
	w[2] = (uint16_t)(v >> 32);
}

/* The console dump. Lines end in LF or CR LF; everything else about it is in FORMAT.md. */
#define WIRE_SEL4_DUMP_START   "=== BINARY TRANSFER START ==="
#define WIRE_SEL4_DUMP_END     "=== BINARY TRANSFER END ==="
#define WIRE_SEL4_DUMP91_START "=== FTRACE BINARY DUMP START ==="
#define WIRE_SEL4_DUMP91_END   "=== FTRACE BINARY DUMP END ==="
#define WIRE_SEL4_DUMP_RULE    "==="
#define WIRE_SEL4_DUMP_LINE    76u /* characters of a body line that Fathom writes */
#define WIRE_SEL4_BASE91_DIGITS                                          \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" \
	"!#$%&()*+,./:;<=>?@[]^_`{|}~\""

/* Why a dump was made: DUMP_REASON and DUMP_REASON_CODE. */
enum wire_sel4_reason {
	WIRE_SEL4_REASON_UNKNOWN = 0,  /* UNKNOWN */
	WIRE_SEL4_REASON_FINALIZE = 1, /* FINALIZE: the log was finalised by a call */
	WIRE_SEL4_REASON_FULL = 2,     /* STORAGE_FULL */
	WIRE_SEL4_REASON_FAULT = 3,    /* FAULT: the kernel found an error */
	WIRE_SEL4_REASON_REQUEST = 4,  /* REQUEST: asked for from outside */
};

/*
 * The fixed-record form, ftrace.idx: record N is event N, at byte 16 N, no header. Before the event that ftrace.idx.meta
 * calls first_vmid_event no address space is known and `vmid` is 0.
 *
 * OFFSET  SIZE  MEANING
 *      0     1  type: enum wire_sel4_type
 *      1     1  vmid in force (of a VMID event: the new one)
 *      2     2  arg16: function index, syscall, IRQ, fault type, tracepoint id, object type, phase;
 *               KERNEL_ENTRY: its first operand; PT_MAP: bits 47:32 of the parent
 *      4     4  arg32: PT_MAP: bits 31:0 of the parent; otherwise 0
 *      8     8  value: function address (0: not in the dictionary), 48-bit address, tag, duration, code, clock;
 *               PT_MAP: table in bits 47:0, slot in bits 63:48
 */
struct wire_sel4_record {
	uint8_t type;
	uint8_t vmid;
	uint16_t arg16;
	uint32_t arg32;
	uint64_t value;
};

#endif
