/* SPDX-License-Identifier: MIT */
/* gen_store.c -- what lies in memory: strings, tuples, the keys of maps. */
#include "program/gen.h"

#include <string.h>

static void zeros(struct gen *g, int32_t at, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < bytes; i += 8)
		gen_put(g, BPF_ST | BPF_MEM | BPF_DW, BPF_FP, 0, at + (int32_t)i, 0);
}

/* From the address in r0. */
static void copy(struct gen *g, int32_t at, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < bytes; i += 8) {
		gen_put(g, BPF_LDX | BPF_MEM | BPF_DW, 1, 0, (int)i, 0);
		gen_put(g, BPF_STX | BPF_MEM | BPF_DW, BPF_FP, 1, at + (int32_t)i, 0);
	}
}

static void store_text(struct gen *g, const char *text, int32_t at, uint32_t room)
{
	size_t n = strlen(text), i;

	for (i = 0; i < room; i += 8) {
		uint64_t word = 0;

		if (i < n)
			memcpy(&word, text + i, n - i < 8 ? n - i : 8);
		if (!word) {
			gen_put(g, BPF_ST | BPF_MEM | BPF_DW, BPF_FP, 0, at + (int32_t)i, 0);
			continue;
		}
		gen_imm(g, 0, (int64_t)word);
		gen_put(g, BPF_STX | BPF_MEM | BPF_DW, BPF_FP, 0, at + (int32_t)i, 0);
	}
}

static void store_field(struct gen *g, const struct format_field *f, int32_t at, uint32_t room,
			uint32_t most)
{
	enum bpf_string kind = f->flags & FORMAT_DATA_LOC  ? BPF_STRING_LOC
			       : f->flags & FORMAT_REL_LOC ? BPF_STRING_REL_LOC
			       : f->nr_elems		   ? BPF_STRING_ARRAY
							   : BPF_STRING_TAIL;
	uint32_t bytes = f->size > 65535 ? 65535 : f->size;

	if (f->offset + f->size > g->p->record_bytes)
		g->p->record_bytes = f->offset + f->size;
	gen_put(g, BPF_ALU64 | BPF_MOV | BPF_X, 1, 6, 0, 0);
	gen_imm(g, 2, (int64_t)BPF_STRING_AT(kind, bytes, f->offset));
	gen_address(g, 3, at);
	gen_imm(g, 4, room);
	gen_imm(g, 5, most < room ? most : room);
	gen_call(g, BPF_FIELD_STR);
}

/* From a map's value, or zeros where there is none. */
static void store_map(struct gen *g, struct node *n, int32_t at, uint32_t room)
{
	struct map_spec *m = gen_spec(g, n);
	uint32_t none = gen_label(g), end = gen_label(g),
		 have = m->value_bytes < room ? m->value_bytes : room;

	gen_lookup(g, n);
	gen_goto(g, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0, none);
	copy(g, at, have);
	zeros(g, at + (int32_t)have, room - have);
	gen_goto(g, BPF_JMP | BPF_JA, 0, 0, 0, end);
	gen_here(g, none);
	zeros(g, at, room);
	gen_here(g, end);
}

static void store_variable(struct gen *g, struct node *n, int32_t at, uint32_t room)
{
	uint32_t have = type_room(&n->type) < room ? type_room(&n->type) : room;

	gen_address(g, 0, gen_variable(g, n->text));
	copy(g, at, have);
	zeros(g, at + (int32_t)have, room - have);
}

static void store_ternary(struct gen *g, struct node *n, int32_t at, const struct type *as)
{
	uint32_t no = gen_label(g), end = gen_label(g);

	gen_jump(g, n->kids[0], no, false);
	gen_store(g, n->kids[1], at, as);
	gen_goto(g, BPF_JMP | BPF_JA, 0, 0, 0, end);
	gen_here(g, no);
	gen_store(g, n->kids[2], at, as);
	gen_here(g, end);
}

static void store_member(struct gen *g, struct node *n, int32_t at, uint32_t room)
{
	struct type *t = &n->kids[0]->type;
	uint32_t mark = g->used, i;
	int32_t from = gen_take(g, type_room(t));

	gen_store(g, n->kids[0], from, t);
	for (i = 0; i < (uint32_t)n->number; i++)
		from += (int32_t)type_room(&t->of[i]);
	gen_address(g, 0, from);
	i = type_room(&t->of[n->number]) < room ? type_room(&t->of[n->number]) : room;
	copy(g, at, i);
	zeros(g, at + (int32_t)i, room - i);
	gen_drop(g, mark);
}

/* str() of text: as it is, or its first bytes. */
static void store_str(struct gen *g, struct node *n, int32_t at, const struct type *as)
{
	struct node *kid = n->kids[0];
	uint32_t most = n->nr == 2 ? (uint32_t)n->kids[1]->number : as->bytes;

	if (kid->kind == NODE_FIELD && types_is_args(kid->kids[0])) {
		store_field(g, kid->bound, at, type_room(as), most);
		return;
	}
	gen_store(g, kid, at, as);
	if (most && most <= as->bytes)
		gen_put(g, BPF_ST | BPF_MEM | BPF_B, BPF_FP, 0, at + (int32_t)most - 1, 0);
}

static void store_string(struct gen *g, struct node *n, int32_t at, const struct type *as)
{
	uint32_t room = type_room(as);

	switch (n->kind) {
	case NODE_STRING: store_text(g, n->text, at, room); break;
	case NODE_NAME:
		if (!strcmp(n->text, "probe")) {
			store_text(g, g->p->name, at, room);
			break;
		}
		gen_address(g, 1, at);
		gen_imm(g, 2, room);
		gen_call(g, BPF_COMM);
		break;
	case NODE_FIELD:
		if (types_is_args(n->kids[0]))
			store_field(g, n->bound, at, room, UINT32_MAX);
		else
			store_member(g, n, at, room);
		break;
	case NODE_CALL: store_str(g, n, at, as); break;
	case NODE_MAP: store_map(g, n, at, room); break;
	case NODE_VARIABLE: store_variable(g, n, at, room); break;
	case NODE_TERNARY: store_ternary(g, n, at, as); break;
	default: zeros(g, at, room);
	}
}

static void store_tuple(struct gen *g, struct node *n, int32_t at, const struct type *as)
{
	uint32_t i;

	switch (n->kind) {
	case NODE_TUPLE:
		for (i = 0; i < n->nr; i++) {
			gen_store(g, n->kids[i], at, &as->of[i]);
			at += (int32_t)type_room(&as->of[i]);
		}
		break;
	case NODE_MAP: store_map(g, n, at, type_room(as)); break;
	case NODE_VARIABLE: store_variable(g, n, at, type_room(as)); break;
	case NODE_TERNARY: store_ternary(g, n, at, as); break;
	case NODE_FIELD: store_member(g, n, at, type_room(as)); break;
	default: zeros(g, at, type_room(as));
	}
}

static void store_time(struct gen *g, struct node *n, int32_t at)
{
	struct generator *c = g->c;
	const char **more;

	if (n->kind == NODE_VARIABLE) {
		store_variable(g, n, at, 16);
		return;
	}
	if (n->kind == NODE_MAP) {
		store_map(g, n, at, 16);
		return;
	}
	more = arena_take(&c->ast->arena, sizeof(*more) * (c->nr_times + 1));
	if (c->nr_times)
		memcpy(more, c->times, sizeof(*more) * c->nr_times);
	c->times = more;
	c->times[c->nr_times] = n->kids[0]->text;
	gen_value(g, n->kids[1]);
	gen_put(g, BPF_STX | BPF_MEM | BPF_DW, BPF_FP, 0, at, 0);
	gen_put(g, BPF_ST | BPF_MEM | BPF_DW, BPF_FP, 0, at + 8, c->nr_times++);
}

void gen_store(struct gen *g, struct node *n, int32_t at, const struct type *as)
{
	if (as->kind == VALUE_STRING) {
		store_string(g, n, at, as);
	} else if (as->kind == VALUE_TUPLE) {
		store_tuple(g, n, at, as);
	} else if (as->kind == VALUE_TIME) {
		store_time(g, n, at);
	} else if (n->kind == NODE_NUMBER && n->number >= INT32_MIN && n->number <= INT32_MAX) {
		gen_put(g, BPF_ST | BPF_MEM | BPF_DW, BPF_FP, 0, at, n->number);
	} else {
		gen_value(g, n);
		gen_put(g, BPF_STX | BPF_MEM | BPF_DW, BPF_FP, 0, at, 0);
	}
}

int32_t gen_keys(struct gen *g, struct node *n)
{
	struct map_spec *m = gen_spec(g, n);
	int32_t at, key;
	uint32_t i;

	if (!n->nr)
		return 0;
	key = at = gen_take(g, m->key_bytes);
	for (i = 0; i < n->nr; i++) {
		gen_store(g, n->kids[i], at, &m->keys[i]);
		at += (int32_t)type_room(&m->keys[i]);
	}
	return key;
}
