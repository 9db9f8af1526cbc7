/* SPDX-License-Identifier: MIT */
/* lookup.c -- a cache of symbols in front of a source, and numbers for names. */
#include "view/lookup.h"

#include <stdlib.h>
#include <string.h>

/* Names numbered in the order they are met: an open-addressing table that grows. */
struct lookup_names {
	const char **names;
	uint32_t *ids;
	uint32_t nr, cap;
};

static uint64_t hash(const char *s, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)s[i]) * 0x100000001b3u;
	return h ^ h >> 32;
}

static bool grow(struct lookup_names *t)
{
	uint32_t cap = t->cap ? t->cap * 2 : 4096;
	const char **names = calloc(cap, sizeof(*names));
	uint32_t *ids = calloc(cap, sizeof(*ids));

	if (!names || !ids) {
		free(names);
		free(ids);
		return false;
	}
	for (uint32_t i = 0; i < t->cap; i++) {
		uint32_t k;

		if (!t->names[i])
			continue;
		k = (uint32_t)hash(t->names[i], strlen(t->names[i])) & (cap - 1);
		while (names[k])
			k = (k + 1) & (cap - 1);
		names[k] = t->names[i];
		ids[k] = t->ids[i];
	}
	free(t->names);
	free(t->ids);
	t->names = names;
	t->ids = ids;
	t->cap = cap;
	return true;
}

/* 0 when out of memory. */
static uint32_t number(struct lookup_names *t, const char *name, uint32_t len)
{
	uint32_t k;

	if (t->nr * 2 >= t->cap && !grow(t))
		return 0;
	k = (uint32_t)hash(name, len) & (t->cap - 1);
	while (t->names[k] && strcmp(t->names[k], name) != 0)
		k = (k + 1) & (t->cap - 1);
	if (!t->names[k]) {
		t->names[k] = name;
		t->ids[k] = ++t->nr;
	}
	return t->ids[k];
}

static const char *env_symbol(void *arg, uint64_t addr, uint64_t *offset, uint64_t *size)
{
	const struct lookup_symbol *s = lookup_symbol(arg, addr);

	*offset = s->offset;
	*size = s->size;
	return s->name;
}

/* Asked for a handful of names while formats are compiled. */
static bool env_address(void *arg, const char *name, uint64_t *addr)
{
	struct lookup *l = arg;
	struct symbol s;

	source_want_names(l->source);
	for (size_t i = 0; symbols_at(l->source->symbols, i, &s); i++)
		if (!strcmp(s.name, name)) {
			*addr = s.start;
			return true;
		}
	return false;
}

static const char *env_comm(void *arg, int32_t pid)
{
	struct lookup *l = arg;

	return source_comm(l->source, pid);
}

static const char *env_printk(void *arg, uint64_t addr)
{
	struct lookup *l = arg;

	return source_printk(l->source, addr);
}

bool lookup_init(struct lookup *l, struct source *s, bool trace_cmd, bool names)
{
	*l = (struct lookup){.source = s, .trace_cmd = trace_cmd, .names = names};
	l->slots = calloc(LOOKUP_SETS * LOOKUP_WAYS, sizeof(*l->slots));
	l->ids = names ? calloc(1, sizeof(*l->ids)) : NULL;
	for (uint32_t i = 0; l->slots && i < LOOKUP_SETS * LOOKUP_WAYS; i++)
		l->slots[i].size = UINT64_MAX; /* empty */
	l->env = (struct expr_env){
		.symbol = env_symbol,
		.address = env_address,
		.comm = env_comm,
		.printk = env_printk,
		.arg = l,
		.swap = s->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__),
		.long_bytes = s->long_bytes == 4 ? 4 : 8,
	};
	return l->slots && (!names || l->ids);
}

void lookup_free(struct lookup *l)
{
	free(l->slots);
	if (l->ids) {
		free(l->ids->names);
		free(l->ids->ids);
		free(l->ids);
	}
	*l = (struct lookup){0};
}

const struct lookup_symbol *lookup_miss(struct lookup *l, uint64_t addr, struct lookup_symbol *set)
{
	struct lookup_symbol *slot = NULL;
	struct symbol sym;
	bool found;

	for (uint32_t i = 0; i < LOOKUP_WAYS && !slot; i++)
		if (set[i].size == UINT64_MAX)
			slot = &set[i];
	if (!slot)
		slot = &set[l->next_way++ % LOOKUP_WAYS];

	source_want_names(l->source);
	if (l->source->ops->symbol)
		found = source_symbol(l->source, addr, &sym);
	else
		found = symbols_find(l->source->symbols, addr,
				     l->trace_cmd ? ALIAS_TRACE_CMD : ALIAS_FIRST, &sym);
	/* Behind its last symbol the kernel knows none, but trace-cmd takes that for a name. */
	if (found && !l->trace_cmd && !strcmp(sym.name, "_end"))
		found = false;
	*slot = (struct lookup_symbol){.addr = addr};
	if (found) {
		slot->name = sym.name;
		slot->len = (uint32_t)strlen(sym.name);
		slot->offset = sym.offset;
		slot->size = sym.size == UINT64_MAX ? 0 : sym.size;
		slot->id = l->names ? number(l->ids, slot->name, slot->len) : 0;
	}
	return slot;
}
