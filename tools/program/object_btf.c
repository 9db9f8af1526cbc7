/* SPDX-License-Identifier: MIT */
/* object_btf.c -- maps as libbpf's SEC(".maps") describes them: members of a structure in .BTF. */
#include "program/object.h"

#include <stdlib.h>
#include <string.h>

/*
 * The section is a head (magic, version, flags, bytes of the head; offset and bytes of the types, of the strings), types after
 * each other, and strings. A type is name, info (kind in bits 24-28, number of members below) and size or type, then what its
 * kind adds. __uint(name, N) is a member that points to an array of N; __type(name, T) one that points to a T.
 */
#define BTF_MAGIC 0xeb9f

enum btf_kind {
	BTF_INT = 1,
	BTF_PTR = 2,
	BTF_ARRAY = 3,
	BTF_STRUCT = 4,
	BTF_UNION = 5,
	BTF_ENUM = 6,
	BTF_TYPEDEF = 8,
	BTF_VOLATILE = 9,
	BTF_CONST = 10,
	BTF_RESTRICT = 11,
	BTF_FUNC_PROTO = 13,
	BTF_VAR = 14,
	BTF_DATASEC = 15,
	BTF_DECL_TAG = 17,
	BTF_ENUM64 = 19,
};

struct btf_head {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t bytes, type_off, type_len, str_off, str_len;
};

struct object_btf_type {
	uint32_t name, info, size; /* size or type */
};

struct object_btf {
	const struct object_btf_type **types; /* by number from 1 */
	uint32_t nr;
	const char *strings;
	uint32_t strings_len;
};

static uint32_t kind_of(const struct object_btf_type *t)
{
	return t->info >> 24 & 31;
}

static uint32_t members_of(const struct object_btf_type *t)
{
	return t->info & 0xffff;
}

/* Words that stand after the type. */
static uint32_t words_after(const struct object_btf_type *t)
{
	switch (kind_of(t)) {
	case BTF_INT:
	case BTF_VAR:
	case BTF_DECL_TAG: return 1;
	case BTF_ARRAY: return 3;
	case BTF_STRUCT:
	case BTF_UNION:
	case BTF_DATASEC:
	case BTF_ENUM64: return members_of(t) * 3;
	case BTF_ENUM:
	case BTF_FUNC_PROTO: return members_of(t) * 2;
	default: return 0;
	}
}

static bool read_types(struct object_btf *b, const uint8_t *data, size_t bytes)
{
	struct btf_head h;
	size_t at, end;

	if (bytes < sizeof(h))
		return false;
	memcpy(&h, data, sizeof(h));
	if (h.magic != BTF_MAGIC || h.bytes > bytes || h.type_off > bytes - h.bytes ||
	    h.type_len > bytes - h.bytes - h.type_off || h.str_off > bytes - h.bytes ||
	    h.str_len > bytes - h.bytes - h.str_off || !h.str_len || (h.bytes + h.type_off) % 4 ||
	    data[h.bytes + h.str_off + h.str_len - 1])
		return false;
	b->strings = (const char *)data + h.bytes + h.str_off;
	b->strings_len = h.str_len;
	b->types = calloc(h.type_len / sizeof(struct object_btf_type) + 2, sizeof(*b->types));
	at = h.bytes + h.type_off;
	end = at + h.type_len;
	while (b->types && end - at >= sizeof(struct object_btf_type)) {
		const struct object_btf_type *t =
			(const struct object_btf_type *)(const void *)(data + at);

		at += sizeof(*t);
		if (words_after(t) * 4u > end - at)
			return false;
		at += words_after(t) * 4u;
		b->types[++b->nr] = t;
	}
	return b->types;
}

/* Through typedefs and qualifiers; NULL: void, or damaged. */
static const struct object_btf_type *type_at(const struct object_btf *b, uint32_t number)
{
	for (int turns = 0; turns < 32 && number && number <= b->nr; turns++) {
		const struct object_btf_type *t = b->types[number];

		if (kind_of(t) < BTF_TYPEDEF || kind_of(t) > BTF_RESTRICT)
			return t;
		number = t->size;
	}
	return NULL;
}

static const uint32_t *after(const struct object_btf_type *t)
{
	return (const uint32_t *)(const void *)(t + 1);
}

static uint32_t size_of(const struct object_btf *b, const struct object_btf_type *t)
{
	uint32_t times = 1;

	for (int turns = 0; t && kind_of(t) == BTF_ARRAY && turns < 8; turns++) {
		times *= after(t)[2];
		t = type_at(b, after(t)[0]);
	}
	return !t ? 0 : kind_of(t) == BTF_PTR ? 8 * times : t->size * times;
}

static const char *name_at(const struct object_btf *b, uint32_t at)
{
	return at < b->strings_len ? b->strings + at : "";
}

static void read_member(const struct object_btf *b, const char *name,
			const struct object_btf_type *to, struct map_raw *out)
{
	uint32_t number = to && kind_of(to) == BTF_ARRAY ? after(to)[2] : 0;

	if (!strcmp(name, "type"))
		out->linux_type = number;
	else if (!strcmp(name, "max_entries"))
		out->entries = number;
	else if (!strcmp(name, "key_size"))
		out->key_bytes = number;
	else if (!strcmp(name, "value_size"))
		out->value_bytes = number;
	else if (!strcmp(name, "value"))
		out->value_bytes = size_of(b, to);
	else if (!strcmp(name, "key")) {
		const struct object_btf_type *of =
			to && kind_of(to) == BTF_ARRAY ? type_at(b, after(to)[0]) : NULL;

		out->key_bytes = size_of(b, to);
		out->key_is_text = of && kind_of(of) == BTF_INT && of->size == 1;
	}
}

bool object_btf_map(const uint8_t *data, size_t bytes, const char *name, struct map_raw *out)
{
	struct object_btf b = {0};
	bool found = false;

	if (!read_types(&b, data, bytes))
		b.nr = 0;
	for (uint32_t i = 1; i <= b.nr && !found; i++) {
		const struct object_btf_type *t = b.types[i], *s;

		if (kind_of(t) != BTF_VAR || strcmp(name_at(&b, t->name), name) != 0)
			continue;
		s = type_at(&b, t->size);
		found = s && kind_of(s) == BTF_STRUCT;
		for (uint32_t k = 0; found && k < members_of(s); k++) {
			const struct object_btf_type *m = type_at(&b, after(s)[k * 3 + 1]);

			if (m && kind_of(m) == BTF_PTR)
				read_member(&b, name_at(&b, after(s)[k * 3]), type_at(&b, m->size),
					    out);
		}
	}
	free(b.types);
	return found;
}
