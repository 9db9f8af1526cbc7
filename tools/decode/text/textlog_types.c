/* SPDX-License-Identifier: MIT */
/* textlog_types.c -- event types of a text: their names, the keys their lines carry, the formats made up for them. */
#include "decode/text/textlog.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same(struct words a, struct words b)
{
	return a.n == b.n && !memcmp(a.p, b.p, a.n);
}

void text_types_free(struct textlog *t)
{
	free(t->types);
	strmap_free(&t->names);
}

struct text_type *text_type_of(struct textlog *t, struct words name, bool add)
{
	uint32_t i = strmap_find(&t->names, name.p, name.n);

	if (i != STRMAP_NONE)
		return &t->types[i];
	if (!add || t->nr_types == TEXT_TYPES_MAX || name.n > 100)
		return NULL;
	if (!VEC_MORE(t->types, t->nr_types) ||
	    strmap_add(&t->names, name.p, name.n) == STRMAP_NONE)
		return NULL;
	i = t->nr_types++;
	t->types[i] = (struct text_type){.name = name, .id = TEXT_FIRST_ID + i};
	return &t->types[i];
}

static struct text_key *key_of(struct text_type *k, struct words name)
{
	for (uint32_t i = 0; i < k->nr_keys; i++)
		if (same(k->keys[i].name, name))
			return &k->keys[i];
	if (k->nr_keys == TEXT_KEYS_MAX || name.n > 60 ||
	    (name.n == 4 && !memcmp(name.p, "text", 4)) ||
	    (name.n > 7 && !memcmp(name.p, "common_", 7)))
		return NULL;
	k->keys[k->nr_keys] = (struct text_key){.name = name};
	return &k->keys[k->nr_keys++];
}

void text_learn(struct text_type *k, struct words info)
{
	const char *p = info.p, *end = info.p + info.n;
	struct words name, value;
	int64_t v;

	if (same(k->name, (struct words){"function", 8}) && memmem(info.p, info.n, " <-", 3)) {
		k->function = true;
		return;
	}
	while (text_next_pair(&p, end, &name, &value)) {
		struct text_key *key = key_of(k, name);

		if (key && !text_number(value, &v))
			key->text = true;
	}
}

/* u32 text at 8; numbers as s64 at multiples of 8 from 16 on; then strings as u32 each. */
static void lay_out(struct text_type *k)
{
	uint32_t at = 16;

	for (uint32_t i = 0; i < k->nr_keys; i++)
		if (!k->keys[i].text) {
			k->keys[i].offset = at;
			at += 8;
		}
	for (uint32_t i = 0; i < k->nr_keys; i++)
		if (k->keys[i].text) {
			k->keys[i].offset = at;
			at += 4;
		}
	k->fixed = at;
}

int text_add_schema(struct source *s, struct text_type *k)
{
	char name[104];
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	int err;

	if (!f)
		return -ENOMEM;
	if (k->function) {
		k->nr_keys = 2;
		k->keys[0] = (struct text_key){.name = {"func", 4}, .text = true};
		k->keys[1] = (struct text_key){.name = {"parent", 6}, .text = true};
	}
	lay_out(k);
	snprintf(name, sizeof(name), "%.*s", (int)k->name.n, k->name.p);
	fprintf(f, SOURCE_COMMON, name, k->id);
	fputs("\tfield:__data_loc char[] text;\toffset:8;\tsize:4;\tsigned:0;\n", f);
	for (uint32_t i = 0; i < k->nr_keys; i++)
		fprintf(f, "\tfield:%s %.*s;\toffset:%u;\tsize:%u;\tsigned:%d;\n",
			k->keys[i].text ? "__data_loc char[]" : "s64", (int)k->keys[i].name.n,
			k->keys[i].name.p, k->keys[i].offset, k->keys[i].text ? 4u : 8u,
			!k->keys[i].text);
	fputs("\nprint fmt: \"%s\", __get_str(text)\n", f);
	if (fclose(f))
		return -ENOMEM;
	err = source_add_schema(s, "text", text, n, true);
	free(text);
	return err;
}
