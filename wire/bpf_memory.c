/* SPDX-License-Identifier: MIT */
/* bpf_memory.c -- the verifier: memory that a program and its helpers read and write. */
#include "wire/cold.h"

#include "wire/bpf_verify.h"
#include "wire/div.h"

static uint32_t bpf_bytes_of(uint8_t code)
{
	switch (BPF_SIZE(code)) {
	case BPF_B: return 1;
	case BPF_H: return 2;
	case BPF_W: return 4;
	default: return 8;
	}
}

static struct bpf_slot *bpf_slot_at(struct bpf_verifier *v, int64_t off)
{
	return &v->now->slots[(uint64_t)(off + v->in->stack_bytes) / 8];
}

/* Is [low, high + bytes) of the pointer inside its memory? */
static int bpf_inside(struct bpf_verifier *v, const struct bpf_reg *r, int64_t low, int64_t high,
		      uint64_t bytes, int write)
{
	switch (r->kind) {
	case BPF_IS_STACK:
		return low < -(int64_t)v->in->stack_bytes || high + (int64_t)bytes > 0
			       ? bpf_refuse(v, "outside the stack")
			       : 0;
	case BPF_IS_VALUE:
		return low < 0 || (uint64_t)high + bytes > v->in->maps[r->map].value_bytes
			       ? bpf_refuse(v, "outside the value of the map")
			       : 0;
	case BPF_IS_CONTEXT:
		if (write)
			return bpf_refuse(v, "the context is read only");
		return low < 0 || (uint64_t)high + bytes > v->in->context_bytes
			       ? bpf_refuse(v, "outside the context")
			       : 0;
	case BPF_IS_MAY_NULL:
		return bpf_refuse(v, "the result of a lookup is used before it is compared with 0");
	case BPF_IS_NOTHING: return bpf_refuse(v, "register is not initialised");
	default: return bpf_refuse(v, "not a pointer");
	}
}

static int bpf_byte_is_written(struct bpf_verifier *v, int64_t off)
{
	struct bpf_slot *s = bpf_slot_at(v, off);

	if (s->whole)
		return !bpf_is_pointer(&s->reg);
	return s->written >> ((uint64_t)off & 7) & 1;
}

static int bpf_stack_is_written(struct bpf_verifier *v, int64_t low, int64_t end)
{
	for (; low < end; low++)
		if (!bpf_byte_is_written(v, low))
			return bpf_refuse(v, "stack is read before it is written");
	return 0;
}

/* Bytes become numbers of some value. If it is not sure which (`maybe`), what was not written stays so. */
static void bpf_stack_write(struct bpf_verifier *v, int64_t low, int64_t end, int maybe)
{
	for (; low < end; low++) {
		struct bpf_slot *s = bpf_slot_at(v, low);
		uint8_t bit = (uint8_t)(1u << ((uint64_t)low & 7));

		if (s->whole) {
			s->written = bpf_is_pointer(&s->reg) ? 0 : 0xff;
			s->whole = 0;
		}
		if (!maybe)
			s->written |= bit;
	}
}

/* Stack, context or value: [off, off + bytes) of the register may be read (and is numbers) or written. */
int fathom_bpf_touch(struct bpf_verifier *v, const struct bpf_reg *r, int64_t off, uint64_t bytes,
		     int write)
{
	int64_t low = (int64_t)r->low + off, high = (int64_t)r->high + off;
	int err = bpf_inside(v, r, low, high, bytes, write);

	if (err || r->kind != BPF_IS_STACK)
		return err;
	if (!write)
		return bpf_stack_is_written(v, low, high + (int64_t)bytes);
	bpf_stack_write(v, low, high + (int64_t)bytes, low != high);
	return 0;
}

int fathom_bpf_load(struct bpf_verifier *v, const struct bpf_insn *i)
{
	struct bpf_reg *r = &v->now->regs[BPF_SRC(i)], *d = &v->now->regs[BPF_DST(i)];
	uint32_t bytes = bpf_bytes_of(i->code);
	int64_t off = (int64_t)r->low + i->off;
	int err;

	if (r->kind == BPF_IS_STACK && r->low == r->high && bytes == 8 && !(off & 7) &&
	    off >= -(int64_t)v->in->stack_bytes && off <= -8 && bpf_slot_at(v, off)->whole) {
		*d = bpf_slot_at(v, off)->reg;
		return 0;
	}
	err = fathom_bpf_touch(v, r, i->off, bytes, 0);
	if (err)
		return err;
	*d = bytes == 8 || BPF_MODE(i->code) == BPF_MEMSX
		     ? bpf_any_number()
		     : bpf_number(0, wire_shl(1, bytes * 8) - 1);
	return 0;
}

int fathom_bpf_store(struct bpf_verifier *v, const struct bpf_insn *i)
{
	struct bpf_reg *r = &v->now->regs[BPF_DST(i)], *s = &v->now->regs[BPF_SRC(i)];
	struct bpf_reg imm = bpf_number((uint64_t)(int64_t)i->imm, (uint64_t)(int64_t)i->imm);
	uint32_t bytes = bpf_bytes_of(i->code);
	int64_t off = (int64_t)r->low + i->off;
	int whole, err;

	if (BPF_CLASS(i->code) == BPF_ST)
		s = &imm;
	if (s->kind == BPF_IS_NOTHING)
		return bpf_refuse(v, "register is not initialised");
	whole = r->kind == BPF_IS_STACK && r->low == r->high && bytes == 8 && !(off & 7);
	if (bpf_is_pointer(s) && !whole)
		return bpf_refuse(v, "a pointer can be kept only on the stack, as a whole");
	err = fathom_bpf_touch(v, r, i->off, bytes, 1);
	if (!err && whole) {
		bpf_slot_at(v, off)->whole = 1;
		bpf_slot_at(v, off)->reg = *s;
	}
	return err;
}

int fathom_bpf_atomic(struct bpf_verifier *v, const struct bpf_insn *i)
{
	struct bpf_reg *r = &v->now->regs[BPF_DST(i)], *s = &v->now->regs[BPF_SRC(i)];
	uint32_t bytes = bpf_bytes_of(i->code);
	int err;

	if (s->kind != BPF_IS_NUMBER ||
	    (i->imm == BPF_CMPXCHG && v->now->regs[0].kind != BPF_IS_NUMBER))
		return bpf_refuse(v, "an atomic operation takes numbers");
	if (r->low != r->high || ((uint64_t)i->off + r->low) & (bytes - 1))
		return bpf_refuse(v, "an atomic operation is not aligned");
	err = fathom_bpf_touch(v, r, i->off, bytes, 0);
	if (!err)
		err = fathom_bpf_touch(v, r, i->off, bytes, 1);
	if (i->imm == BPF_CMPXCHG)
		v->now->regs[0] = bpf_any_number();
	else if (i->imm & BPF_FETCH)
		*s = bpf_any_number();
	return err;
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
static int bpf_argument_memory(struct bpf_verifier *v, const uint8_t *args, uint32_t n)
{
	struct bpf_reg *r = &v->now->regs[n + 1];
	uint32_t b = n;

	while (args[b] != BPF_ARG_BYTES)
		b++;
	if (v->now->regs[b + 1].kind != BPF_IS_NUMBER)
		return bpf_refuse(v, "a helper's number of bytes is not a number");
	if (v->now->regs[b + 1].high > 65536)
		return bpf_refuse(v, "a helper's number of bytes has no bound");
	if (!v->now->regs[b + 1].high)
		return 0;
	if (args[n] == BPF_ARG_WRITE && !bpf_is_const(&v->now->regs[b + 1]))
		return bpf_refuse(v, "a helper's number of bytes to write is not constant");
	return fathom_bpf_touch(v, r, 0, v->now->regs[b + 1].high, args[n] == BPF_ARG_WRITE);
}

static int bpf_argument(struct bpf_verifier *v, const uint8_t *args, uint32_t n, uint32_t kinds,
			uint32_t *map)
{
	struct bpf_reg *r = &v->now->regs[n + 1];

	if (r->kind == BPF_IS_NOTHING)
		return bpf_refuse(v, "a helper's argument is not initialised");
	switch (args[n]) {
	case BPF_ARG_NUMBER:
	case BPF_ARG_BYTES:
		return r->kind == BPF_IS_NUMBER
			       ? 0
			       : bpf_refuse(v, "a helper's argument is not a number");
	case BPF_ARG_CONTEXT:
		return r->kind == BPF_IS_CONTEXT && !r->low && !r->high
			       ? 0
			       : bpf_refuse(v, "a helper's argument is not the context");
	case BPF_ARG_MAP:
		*map = r->map;
		if (r->kind != BPF_IS_MAP)
			return bpf_refuse(v, "a helper's argument is not a map");
		return kinds >> v->in->maps[r->map].kind & 1 &&
				       (kinds != BPF_SUMS || v->in->maps[r->map].value_bytes >= 8)
			       ? 0
			       : bpf_refuse(v, "the helper does not work on this kind of map");
	case BPF_ARG_KEY:
		return v->in->maps[*map].key_bytes
			       ? fathom_bpf_touch(v, r, 0, v->in->maps[*map].key_bytes, 0)
			       : 0;
	case BPF_ARG_VALUE: return fathom_bpf_touch(v, r, 0, v->in->maps[*map].value_bytes, 0);
	default: return bpf_argument_memory(v, args, n);
	}
}

int fathom_bpf_call(struct bpf_verifier *v, const struct bpf_insn *i)
{
	uint32_t h, n, map = 0, nr = sizeof(bpf_helpers) / sizeof(*bpf_helpers);
	struct bpf_reg *r = v->now->regs;
	int err;

	for (h = 0; h < nr && bpf_helpers[h].helper != (uint32_t)i->imm; h++)
		;
	if (h == nr)
		return bpf_refuse(v, "no such helper");
	for (n = 0; n < 5 && bpf_helpers[h].args[n]; n++) {
		err = bpf_argument(v, bpf_helpers[h].args, n, bpf_helpers[h].kinds, &map);
		if (err)
			return err;
	}
	for (n = 1; n <= 5; n++)
		r[n] = bpf_nothing();
	r[0] = bpf_any_number();
	if (bpf_helpers[h].helper == BPF_MAP_LOOKUP) {
		r[0].kind = BPF_IS_MAY_NULL;
		r[0].map = (uint16_t)map;
		r[0].id = v->at + 1;
		r[0].low = r[0].high = 0;
	}
	return 0;
}
