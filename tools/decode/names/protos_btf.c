/* SPDX-License-Identifier: MIT */
/* protos_btf.c -- prototypes from BTF, the types that Linux carries about itself. */
#include "decode/names/protos_int.h"
#include "base/bytes.h"
#include "base/vec.h"

/*
 * A header, types one after the other, strings. A type is a name, `info` (kind, whether a flag is set, how many members
 * follow) and its size or the type it refers to; what follows depends on the kind. Types are numbered from 1; 0 is void.
 */
enum btf_kind {
	BTF_INT = 1,
	BTF_PTR,
	BTF_ARRAY,
	BTF_STRUCT,
	BTF_UNION,
	BTF_ENUM,
	BTF_FWD,
	BTF_TYPEDEF,
	BTF_VOLATILE,
	BTF_CONST,
	BTF_RESTRICT,
	BTF_FUNC,
	BTF_FUNC_PROTO,
	BTF_VAR,
	BTF_DATASEC,
	BTF_FLOAT,
	BTF_DECL_TAG,
	BTF_TYPE_TAG,
	BTF_ENUM64,
	BTF_KINDS,
};

#define BTF_TYPE_BYTES 12u
#define BTF_DEPTH_MAX  32u /* of types that refer to types */
/* Of enums, all in all: a hostile file may have every function take the largest again and again. */
#define BTF_VALUES_MAX (1u << 20)

/* What follows a type: so many bytes, and so many for each member. */
static const uint8_t follows[BTF_KINDS][2] = {
	[BTF_INT] = {4, 0},	[BTF_ARRAY] = {12, 0},	 [BTF_STRUCT] = {0, 12},
	[BTF_UNION] = {0, 12},	[BTF_ENUM] = {0, 8},	 [BTF_FUNC_PROTO] = {0, 8},
	[BTF_VAR] = {4, 0},	[BTF_DATASEC] = {0, 12}, [BTF_DECL_TAG] = {4, 0},
	[BTF_ENUM64] = {0, 12},
};

#define BTF_INT_SIGNED 1u
#define BTF_INT_CHAR   2u
#define BTF_INT_BOOL   4u

struct btf_func {
	uint64_t hash;
	uint32_t type; /* of its prototype */
	uint32_t name;
};

struct btf {
	const uint8_t *types, *strings;
	uint32_t types_bytes, strings_bytes, long_bytes;
	bool big;
	uint32_t *at; /* of type i + 1 */
	uint32_t nr;
	uint32_t values;       /* of enums, kept so far */
	struct btf_func *func; /* by hash */
	size_t nr_func;
};

struct btf_type {
	enum btf_kind kind;
	uint32_t name, nr, size; /* or the type it refers to */
	bool flag;
	const uint8_t *more;
};

static const char *btf_string(const struct btf *b, uint32_t at)
{
	return at < b->strings_bytes ? (const char *)b->strings + at : "";
}

static uint64_t name_hash(const char *s)
{
	return bytes_hash(1, s, strlen(s));
}

static int by_hash(const void *a, const void *b)
{
	const struct btf_func *x = a, *y = b;

	return (x->hash > y->hash) - (x->hash < y->hash);
}

/* How long the type at `p` is; 0: it is none. */
static uint64_t type_bytes(const struct btf *b, const uint8_t *p)
{
	uint32_t info = get_u32(p + 4, b->big), kind = info >> 24 & 0x1f;

	if (!kind || kind >= BTF_KINDS)
		return 0;
	return BTF_TYPE_BYTES + follows[kind][0] + (uint64_t)follows[kind][1] * (info & 0xffff);
}

static bool add_type(struct btf *b, uint32_t at)
{
	const uint8_t *p = b->types + at;
	uint32_t name = get_u32(p, b->big);

	if (!VEC_MORE(b->at, b->nr))
		return false;
	b->at[b->nr++] = at;
	if ((get_u32(p + 4, b->big) >> 24 & 0x1f) != BTF_FUNC)
		return true;
	if (!VEC_MORE(b->func, b->nr_func))
		return false;
	b->func[b->nr_func++] = (struct btf_func){.hash = name_hash(btf_string(b, name)),
						  .type = get_u32(p + 8, b->big),
						  .name = name};
	return true;
}

static bool walk_types(struct btf *b)
{
	for (uint64_t at = 0; at + BTF_TYPE_BYTES <= b->types_bytes;) {
		uint64_t n = type_bytes(b, b->types + at);

		if (!n || n > b->types_bytes - at)
			return b->nr > 0; /* a newer kind, or damage: what came before it is good */
		if (!add_type(b, (uint32_t)at))
			return false;
		at += n;
	}
	return b->nr > 0;
}

struct btf *btf_open(const void *data, size_t bytes, uint32_t long_bytes)
{
	const uint8_t *p = data;
	struct btf *b;
	uint32_t head, type_at, string_at;

	if (bytes < 24 || bytes > UINT32_MAX)
		return NULL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->big = p[0] == 0xeb;
	b->long_bytes = long_bytes == 4 ? 4 : 8;
	head = get_u32(p + 4, b->big);
	type_at = get_u32(p + 8, b->big);
	b->types_bytes = get_u32(p + 12, b->big);
	string_at = get_u32(p + 16, b->big);
	b->strings_bytes = get_u32(p + 20, b->big);
	if (get_u16(p, b->big) != 0xeb9f || (uint64_t)head + type_at + b->types_bytes > bytes ||
	    (uint64_t)head + string_at + b->strings_bytes > bytes || !b->strings_bytes ||
	    p[head + string_at + b->strings_bytes - 1])
		goto fail;
	b->types = p + head + type_at;
	b->strings = p + head + string_at;
	if (!walk_types(b))
		goto fail;
	if (b->nr_func)
		qsort(b->func, b->nr_func, sizeof(*b->func), by_hash);
	return b;
fail:
	btf_close(b);
	return NULL;
}

void btf_close(struct btf *b)
{
	if (!b)
		return;
	free(b->at);
	free(b->func);
	free(b);
}

static bool type_at(const struct btf *b, uint32_t id, struct btf_type *out)
{
	const uint8_t *p;
	uint32_t info;

	if (!id || id > b->nr)
		return false;
	p = b->types + b->at[id - 1];
	info = get_u32(p + 4, b->big);
	*out = (struct btf_type){.kind = (enum btf_kind)(info >> 24 & 0x1f),
				 .name = get_u32(p, b->big),
				 .nr = info & 0xffff,
				 .size = get_u32(p + 8, b->big),
				 .flag = info >> 31,
				 .more = p + BTF_TYPE_BYTES};
	return true;
}

/* Without typedefs, const and the like. */
static bool bare_type(const struct btf *b, uint32_t id, struct btf_type *out)
{
	for (unsigned i = 0; i < BTF_DEPTH_MAX && type_at(b, id, out); i++) {
		switch (out->kind) {
		case BTF_TYPEDEF:
		case BTF_VOLATILE:
		case BTF_CONST:
		case BTF_RESTRICT:
		case BTF_TYPE_TAG: id = out->size; break;
		default: return true;
		}
	}
	return false;
}

static void enum_values(struct btf *b, const struct btf_type *t, struct proto_type *out)
{
	bool room = t->nr <= BTF_VALUES_MAX - b->values;
	struct proto_value *v = room ? calloc(t->nr ? t->nr : 1, sizeof(*v)) : NULL;
	uint32_t step = t->kind == BTF_ENUM64 ? 12 : 8;

	for (uint32_t i = 0; v && i < t->nr; i++) {
		const uint8_t *p = t->more + (size_t)i * step;
		uint32_t low = get_u32(p + 4, b->big);

		v[i].name = btf_string(b, get_u32(p, b->big));
		v[i].value = t->kind == BTF_ENUM64
				     ? (int64_t)((uint64_t)get_u32(p + 8, b->big) << 32 | low)
			     : t->flag ? (int32_t)low
				       : (int64_t)low;
	}
	out->values = v;
	out->nr_values = v ? t->nr : 0;
	b->values += out->nr_values;
}

static void int_type(const struct btf *b, const struct btf_type *t, struct proto_type *out)
{
	uint32_t how = get_u32(t->more, b->big) >> 24;

	out->kind = how & BTF_INT_BOOL			    ? PROTO_BOOL
		    : how & BTF_INT_CHAR && out->bytes == 1 ? PROTO_CHAR
							    : PROTO_INT;
	out->is_signed = how & BTF_INT_SIGNED;
}

static void proto_type_of(struct btf *b, uint32_t id, struct proto_type *out)
{
	struct btf_type t;

	*out = (struct proto_type){.kind = id ? PROTO_OTHER : PROTO_VOID, .name = ""};
	if (!id || !bare_type(b, id, &t))
		return;
	out->bytes = t.size;
	out->name = btf_string(b, t.name);
	switch (t.kind) {
	case BTF_INT: int_type(b, &t, out); break;
	case BTF_PTR:
		out->kind = PROTO_POINTER;
		out->bytes = b->long_bytes;
		out->name = "";
		break;
	case BTF_ENUM:
	case BTF_ENUM64:
		out->kind = PROTO_ENUM;
		out->is_signed = t.flag;
		enum_values(b, &t, out);
		break;
	case BTF_STRUCT:
	case BTF_UNION: out->kind = PROTO_RECORD; break;
	case BTF_FLOAT: out->kind = PROTO_FLOAT; break;
	default: out->bytes = b->long_bytes; break;
	}
}

/* As Linux counts: each takes the next word, what is larger takes several. */
static void place_params(const struct btf *b, struct proto *p)
{
	uint32_t word = 0;

	for (uint32_t i = 0; i < p->nr; i++) {
		struct proto_param *a = &p->param[i];
		uint64_t n = a->type.kind == PROTO_RECORD
				     ? ((uint64_t)a->type.bytes + b->long_bytes - 1) / b->long_bytes
				     : 1;

		n = n ? n : 1;
		a->first = (uint16_t)(word < UINT16_MAX ? word : UINT16_MAX);
		a->words = (uint16_t)(n < UINT16_MAX ? n : UINT16_MAX);
		word += a->words;
	}
}

static struct proto *proto_of(struct btf *b, const struct btf_type *t)
{
	uint32_t nr = t->nr;
	struct proto *p;

	/* The last of a function that takes any number of arguments has neither name nor type. */
	if (nr && !get_u32(t->more + 8 * (nr - 1), b->big) &&
	    !get_u32(t->more + 8 * (nr - 1) + 4, b->big))
		nr--;
	p = proto_make(nr);
	if (!p)
		return NULL;
	p->is_btf = true;
	proto_type_of(b, t->size, &p->ret);
	for (uint32_t i = 0; i < nr; i++) {
		p->param[i].name = btf_string(b, get_u32(t->more + 8 * i, b->big));
		proto_type_of(b, get_u32(t->more + 8 * i + 4, b->big), &p->param[i].type);
	}
	place_params(b, p);
	return p;
}

struct proto *btf_proto(struct btf *b, const char *name)
{
	uint64_t hash = name_hash(name);
	size_t lo = 0, hi = b->nr_func;
	struct btf_type t;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (b->func[mid].hash < hash)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < b->nr_func && b->func[lo].hash == hash; lo++)
		if (!strcmp(btf_string(b, b->func[lo].name), name) &&
		    type_at(b, b->func[lo].type, &t) && t.kind == BTF_FUNC_PROTO)
			return proto_of(b, &t);
	return NULL;
}
