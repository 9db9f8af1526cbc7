/* SPDX-License-Identifier: MIT */
/* bpf_memory.c -- the verifier: memory that a program and its helpers read and write. */
#include "wire/cold.h"

#include "wire/bpf_verify.h"

static uint32_t bpf_bytes_of(const struct bpf_insn *i)
{
	uint32_t size = BPF_SIZE(i->code);

	return size == BPF_DW ? 8 : 4u >> (size >> 3);
}

static struct bpf_reg *bpf_slot_at(struct bpf_verifier *v, int32_t off)
{
	return &v->now[BPF_NR_REGS + (v->in->stack_bytes + (uint32_t)off) / 8];
}

/* The slot that the instruction takes as a whole, at `off` of the register; NULL: it is another kind of access. */
static struct bpf_reg *bpf_slot_whole(struct bpf_verifier *v, const struct bpf_insn *i,
				      const struct bpf_reg *r)
{
	int32_t off = r->low + i->off;

	return r->kind == BPF_IS_STACK && r->low == r->high && BPF_SIZE(i->code) == BPF_DW &&
			       !(off & 7) && off < 0 && off >= -(int32_t)v->in->stack_bytes
		       ? bpf_slot_at(v, off)
		       : 0;
}

/* On the stack: bytes become numbers of some value. If it is not sure which, what was not written stays so. */
const char *fathom_bpf_touch(struct bpf_verifier *v, const struct bpf_reg *r, int32_t off,
			     uint32_t bytes, int write)
{
	int32_t low = r->low + off, end = r->high + off + (int32_t)bytes, from = 0, to;
	const char *why;

	switch (r->kind) {
	case BPF_IS_STACK:
		why = "outside the stack";
		from = -(int32_t)v->in->stack_bytes;
		to = 0;
		break;
	case BPF_IS_VALUE:
		why = "outside the value of the map";
		to = (int32_t)v->in->maps[r->map].value_bytes;
		break;
	case BPF_IS_CONTEXT:
		if (write)
			return "the context is read only";
		why = "outside the context";
		to = (int32_t)v->in->context_bytes;
		break;
	case BPF_IS_MAY_NULL: return "the result of a lookup was not compared with 0";
	case BPF_IS_NOTHING: return "register is not initialised";
	default: return "not a pointer";
	}
	if (low < from || end > to)
		return why;
	for (; r->kind == BPF_IS_STACK && low < end; low++) {
		struct bpf_reg *s = bpf_slot_at(v, low);
		uint8_t bit = (uint8_t)(1u << (low & 7)), written = bpf_written(s);

		if (!write && !(written & bit))
			return "stack is read before it is written";
		if (write) {
			*s = (struct bpf_reg){0};
			s->map = r->low == r->high ? written | bit : written;
		}
	}
	return 0;
}

const char *fathom_bpf_load(struct bpf_verifier *v, const struct bpf_insn *i)
{
	const struct bpf_reg *r = &v->now[BPF_SRC(i)], *whole = bpf_slot_whole(v, i, r);
	struct bpf_reg *d = &v->now[BPF_DST(i)];
	uint32_t bytes = bpf_bytes_of(i);
	const char *why;

	if (whole && whole->kind != BPF_IS_NOTHING) {
		*d = *whole;
		return 0;
	}
	why = fathom_bpf_touch(v, r, i->off, bytes, 0);
	if (bytes == 8 || BPF_MODE(i->code) == BPF_MEMSX)
		fathom_bpf_number(d, BPF_LEAST, BPF_MOST);
	else
		fathom_bpf_number(d, 0, bytes == 4 ? BPF_MOST : (1 << bytes * 8) - 1);
	return why;
}

const char *fathom_bpf_store(struct bpf_verifier *v, const struct bpf_insn *i)
{
	const struct bpf_reg *r = &v->now[BPF_DST(i)];
	struct bpf_reg s = v->now[BPF_SRC(i)], *whole = bpf_slot_whole(v, i, r);
	const char *why;

	if (BPF_CLASS(i->code) == BPF_ST)
		fathom_bpf_const(&s, i->imm);
	if (s.kind == BPF_IS_NOTHING)
		return "register is not initialised";
	if (bpf_is_pointer(&s) && !whole)
		return "a pointer is kept only whole, on the stack";
	why = fathom_bpf_touch(v, r, i->off, bpf_bytes_of(i), 1);
	if (whole)
		*whole = s;
	return why;
}

const char *fathom_bpf_atomic(struct bpf_verifier *v, const struct bpf_insn *i)
{
	struct bpf_reg *r = &v->now[BPF_DST(i)], *s = &v->now[BPF_SRC(i)];
	struct bpf_reg *got = i->imm == BPF_CMPXCHG ? &v->now[0] : s;
	uint32_t bytes = bpf_bytes_of(i);
	const char *why;

	if (s->kind != BPF_IS_NUMBER || got->kind != BPF_IS_NUMBER)
		return "an atomic operation takes numbers";
	if (r->low != r->high || (uint32_t)(i->off + r->low) & (bytes - 1))
		return "an atomic operation is not aligned";
	why = fathom_bpf_touch(v, r, i->off, bytes, 0);
	if (!why)
		why = fathom_bpf_touch(v, r, i->off, bytes, 1);
	if (i->imm & BPF_FETCH)
		fathom_bpf_number(got, BPF_LEAST, BPF_MOST);
	return why;
}

/* ---- calls ---- */

enum bpf_argument {
	BPF_ARG_NONE,
	BPF_ARG_NUMBER,
	BPF_ARG_CONTEXT,
	BPF_ARG_MAP,
	BPF_ARG_KEY,   /* of the map before it */
	BPF_ARG_VALUE, /* of the map before it */
	BPF_ARG_READ,  /* as many bytes as the next BPF_ARG_BYTES says */
	BPF_ARG_WRITE,
	BPF_ARG_BYTES,
};

#define BPF_KEYED (uint16_t) ~(1u << BPF_MAP_RING)
#define BPF_SUMS                                                           \
	(1u << BPF_MAP_COUNTS | 1u << BPF_MAP_HASH | 1u << BPF_MAP_ARRAY | \
	 1u << BPF_MAP_PERCPU_HASH | 1u << BPF_MAP_PERCPU_ARRAY)
#define BPF_HISTS (1u << BPF_MAP_LOG2 | 1u << BPF_MAP_LINEAR)

static const struct {
	uint16_t helper;
	uint16_t kinds; /* of maps that it takes: a bit each */
	uint8_t args[5];
} bpf_helpers[] = {
	{BPF_MAP_LOOKUP, BPF_KEYED, {BPF_ARG_MAP, BPF_ARG_KEY}},
	{BPF_MAP_UPDATE, BPF_KEYED, {BPF_ARG_MAP, BPF_ARG_KEY, BPF_ARG_VALUE, BPF_ARG_NUMBER}},
	{BPF_MAP_DELETE, BPF_KEYED, {BPF_ARG_MAP, BPF_ARG_KEY}},
	{BPF_KTIME_NS, 0, {0}},
	{BPF_CPU, 0, {0}},
	{BPF_PID_TGID, 0, {0}},
	{BPF_TID, 0, {0}},
	{BPF_COMM, 0, {BPF_ARG_WRITE, BPF_ARG_BYTES}},
	{BPF_STACK_ID, 0, {BPF_ARG_CONTEXT, BPF_ARG_NUMBER, BPF_ARG_NUMBER}},
	{BPF_RING_OUTPUT,
	 1u << BPF_MAP_RING,
	 {BPF_ARG_MAP, BPF_ARG_READ, BPF_ARG_BYTES, BPF_ARG_NUMBER}},
	{BPF_MAP_ADD, BPF_SUMS, {BPF_ARG_MAP, BPF_ARG_KEY, BPF_ARG_NUMBER}},
	{BPF_MAP_NOTE, 1u << BPF_MAP_NOTES, {BPF_ARG_MAP, BPF_ARG_KEY, BPF_ARG_NUMBER}},
	{BPF_MAP_HIST, BPF_HISTS, {BPF_ARG_MAP, BPF_ARG_KEY, BPF_ARG_NUMBER}},
	{BPF_FIELD_STR,
	 0,
	 {BPF_ARG_CONTEXT, BPF_ARG_NUMBER, BPF_ARG_WRITE, BPF_ARG_BYTES, BPF_ARG_NUMBER}},
	{BPF_STR_DIFFER, 0, {BPF_ARG_READ, BPF_ARG_READ, BPF_ARG_BYTES}},
	{BPF_ELAPSED, 0, {0}},
	{BPF_PROBE_ID, 0, {0}},
	{BPF_EMIT, 0, {BPF_ARG_NUMBER, BPF_ARG_READ, BPF_ARG_BYTES}},
};

/* The bytes that argument n (BPF_ARG_READ, BPF_ARG_WRITE) must have: the bound of the next BPF_ARG_BYTES. */
static const char *bpf_argument_memory(struct bpf_verifier *v, const uint8_t *args, uint32_t n)
{
	struct bpf_reg *r = &v->now[n + 1], *bytes = r;
	int write = args[n] == BPF_ARG_WRITE;

	for (; args[n] != BPF_ARG_BYTES; n++)
		bytes++;
	if (bytes->kind != BPF_IS_NUMBER)
		return "a number of bytes is not a number";
	if (bytes->low < 0 || bytes->high > 65536)
		return "a number of bytes has no bound";
	if (write && bytes->low != bytes->high)
		return "a number of bytes to write is not constant";
	return bytes->high ? fathom_bpf_touch(v, r, 0, (uint32_t)bytes->high, write) : 0;
}

static const char *bpf_argument(struct bpf_verifier *v, const uint8_t *args, uint32_t n,
				uint32_t kinds, uint8_t map)
{
	const struct bpf_map_info *m = &v->in->maps[map];
	struct bpf_reg *r = &v->now[n + 1];
	uint32_t arg = args[n], bytes;

	if (r->kind == BPF_IS_NOTHING)
		return "register is not initialised";
	if (arg == BPF_ARG_NUMBER || arg == BPF_ARG_BYTES)
		return r->kind == BPF_IS_NUMBER ? 0 : "argument is not a number";
	if (arg == BPF_ARG_CONTEXT)
		return r->kind == BPF_IS_CONTEXT && !r->low && !r->high
			       ? 0
			       : "argument is not the context";
	if (arg == BPF_ARG_MAP) {
		if (r->kind != BPF_IS_MAP)
			return "argument is not a map";
		return kinds >> m->kind & 1 && (kinds != BPF_SUMS || m->value_bytes >= 8)
			       ? 0
			       : "the helper does not take this kind of map";
	}
	if (arg != BPF_ARG_KEY && arg != BPF_ARG_VALUE)
		return bpf_argument_memory(v, args, n);
	bytes = arg == BPF_ARG_KEY ? m->key_bytes : m->value_bytes;
	return bytes ? fathom_bpf_touch(v, r, 0, bytes, 0) : 0;
}

const char *fathom_bpf_call(struct bpf_verifier *v, const struct bpf_insn *i)
{
	uint32_t h = 0, n, nr = sizeof(bpf_helpers) / sizeof(*bpf_helpers);
	struct bpf_reg *r = v->now;
	uint8_t map = r[1].kind == BPF_IS_MAP ? r[1].map : 0;
	const char *why;

	while (h < nr && bpf_helpers[h].helper != (uint32_t)i->imm)
		h++;
	if (h == nr)
		return "no such helper";
	for (n = 0; n < 5 && bpf_helpers[h].args[n]; n++) {
		why = bpf_argument(v, bpf_helpers[h].args, n, bpf_helpers[h].kinds, map);
		if (why)
			return why;
	}
	for (n = 1; n <= 5; n++)
		r[n] = (struct bpf_reg){0};
	fathom_bpf_number(r, BPF_LEAST, BPF_MOST);
	if (bpf_helpers[h].helper == BPF_MAP_LOOKUP)
		r[0] = (struct bpf_reg){BPF_IS_MAY_NULL, map, (uint16_t)v->at, 0, 0};
	return 0;
}
