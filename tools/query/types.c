/* SPDX-License-Identifier: MIT */
/* types.c -- the integer types of C expressions: their names, their promotion. */
#include "query/compile.h"

#include <string.h>

uint8_t type_common(uint8_t a, uint8_t b)
{
	uint8_t sa = a & TYPE_SIZE, sb = b & TYPE_SIZE;

	/* Integer promotion: what is smaller than int becomes int. */
	if (sa < 4)
		a = TYPE_INT, sa = 4;
	if (sb < 4)
		b = TYPE_INT, sb = 4;
	if (sa != sb)
		return sa > sb ? (uint8_t)(sa | (a & TYPE_SIGNED))
			       : (uint8_t)(sb | (b & TYPE_SIGNED));
	return (uint8_t)(sa | (a & b & TYPE_SIGNED));
}

uint8_t type_promote(uint8_t t)
{
	return t & TYPE_BYTES ? TYPE_U64 : type_common(t, TYPE_INT);
}

struct type_name {
	const char *name;
	uint8_t type;
};

static const struct type_name type_names[] = {
	{"u8", 1},
	{"__u8", 1},
	{"uint8_t", 1},
	{"s8", 1 | TYPE_SIGNED},
	{"__s8", 1 | TYPE_SIGNED},
	{"int8_t", 1 | TYPE_SIGNED},
	{"bool", 1},
	{"_Bool", 1},
	{"u16", 2},
	{"__u16", 2},
	{"uint16_t", 2},
	{"__le16", 2},
	{"__be16", 2},
	{"umode_t", 2},
	{"s16", 2 | TYPE_SIGNED},
	{"__s16", 2 | TYPE_SIGNED},
	{"int16_t", 2 | TYPE_SIGNED},
	{"u32", 4},
	{"__u32", 4},
	{"uint32_t", 4},
	{"__le32", 4},
	{"__be32", 4},
	{"dev_t", 4},
	{"gfp_t", 4},
	{"uid_t", 4},
	{"gid_t", 4},
	{"fmode_t", 4},
	{"s32", TYPE_INT},
	{"__s32", TYPE_INT},
	{"int32_t", TYPE_INT},
	{"pid_t", TYPE_INT},
	{"u64", 8},
	{"__u64", 8},
	{"uint64_t", 8},
	{"__le64", 8},
	{"__be64", 8},
	{"sector_t", 8},
	{"blkcnt_t", 8},
	{"s64", TYPE_LONG},
	{"__s64", TYPE_LONG},
	{"int64_t", TYPE_LONG},
	{"loff_t", TYPE_LONG},
	{"ktime_t", TYPE_LONG},
};

/* Words whose size is the machine's long. */
static const char *const long_names[] = {"size_t", "ssize_t",	"uintptr_t", "ino_t",
					 "off_t",  "ptrdiff_t", "pgoff_t"};

static bool known_type(struct compiler *c, uint8_t *type)
{
	for (size_t i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++)
		if (token_word(&c->t, type_names[i].name)) {
			*type = type_names[i].type;
			return true;
		}
	for (size_t i = 0; i < sizeof(long_names) / sizeof(long_names[0]); i++)
		if (token_word(&c->t, long_names[i])) {
			*type = c->long_bytes;
			if (i == 1 || i >= 4)
				*type |= TYPE_SIGNED;
			return true;
		}
	return false;
}

struct type_words {
	bool any, is_unsigned, is_signed, is_char, is_short, is_int, is_void, is_other;
	unsigned longs;
	uint8_t known;
};

/* One word of a type; false if it is none. */
static bool type_word(struct compiler *c, struct type_words *w)
{
	static const char *const ignored[] = {"const", "volatile", "__user", "__kernel", "__force"};

	if (c->t.kind != TOKEN_IDENT)
		return false;
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		if (token_word(&c->t, ignored[i]))
			return true;
	if (token_word(&c->t, "unsigned"))
		return w->is_unsigned = w->any = true;
	if (token_word(&c->t, "signed"))
		return w->is_signed = w->any = true;
	if (token_word(&c->t, "char"))
		return w->is_char = w->any = true;
	if (token_word(&c->t, "short"))
		return w->is_short = w->any = true;
	if (token_word(&c->t, "int"))
		return w->is_int = w->any = true;
	if (token_word(&c->t, "void"))
		return w->is_void = w->any = true;
	if (token_word(&c->t, "long")) {
		w->longs++;
		return w->any = true;
	}
	if (token_word(&c->t, "struct") || token_word(&c->t, "enum") ||
	    token_word(&c->t, "union")) {
		w->is_int = token_word(&c->t, "enum");
		compiler_advance(c);
		w->is_other = true;
		return w->any = c->t.kind == TOKEN_IDENT;
	}
	if (w->any)
		return false;
	if (known_type(c, &w->known))
		return w->any = true;
	/* A typedef that is not known: taken as one if it looks like one. */
	if (c->t.len > 2 && !memcmp(c->t.at + c->t.len - 2, "_t", 2)) {
		w->known = TYPE_LONG;
		return w->any = true;
	}
	return false;
}

bool compile_type(struct compiler *c, uint8_t *type)
{
	struct type_words w = {0};

	while (type_word(c, &w))
		compiler_advance(c);
	if (!w.any)
		return false;
	if (w.known)
		*type = w.known;
	else if (w.is_char)
		*type = w.is_unsigned ? 1 : 1 | TYPE_SIGNED;
	else if (w.is_short)
		*type = w.is_unsigned ? 2 : 2 | TYPE_SIGNED;
	else if (w.longs >= 2)
		*type = w.is_unsigned ? 8 : TYPE_LONG;
	else if (w.longs)
		*type = (uint8_t)(c->long_bytes | (w.is_unsigned ? 0 : TYPE_SIGNED));
	else if (w.is_void || w.is_other)
		*type = w.is_int ? TYPE_INT : c->long_bytes;
	else
		*type = w.is_unsigned ? 4 : TYPE_INT;
	if (token_is(&c->t, '*')) {
		uint8_t target = *type;

		while (token_is(&c->t, '*') || token_word(&c->t, "const"))
			compiler_advance(c);
		/* The element's type is kept for what is indexed after the cast: ((u32 *)...)[i]. */
		*type = (uint8_t)(TYPE_POINTER | (target & (TYPE_SIZE | TYPE_SIGNED)));
	}
	return !c->failed;
}
