/* SPDX-License-Identifier: MIT */
/* lookup.c -- a cache of symbols in front of a source, and numbers for names. */
#include "view/lookup.h"
#include "query/out.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES (64u << 10)

/* Names as they are met: kept once, padded, and numbered from 1. An open-addressing table that grows. */
struct lookup_names {
	struct kept_name {
		const char *text;
		uint32_t len;
		uint32_t id;
	} * slots;
	uint32_t nr, cap;
	struct name_block {
		struct name_block *next;
		size_t used, cap;
		char text[];
	} * blocks;
};

static uint32_t hash(const char *s, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)s[i]) * 0x100000001b3u;
	return (uint32_t)(h ^ h >> 32);
}

static bool grow(struct lookup_names *t)
{
	uint32_t cap = t->cap ? t->cap * 2 : 4096;
	struct kept_name *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return false;
	for (uint32_t i = 0; i < t->cap; i++) {
		uint32_t k = hash(t->slots[i].text, t->slots[i].len) & (cap - 1);

		if (!t->slots[i].text)
			continue;
		while (slots[k].text)
			k = (k + 1) & (cap - 1);
		slots[k] = t->slots[i];
	}
	free(t->slots);
	t->slots = slots;
	t->cap = cap;
	return true;
}

static const char *keep(struct lookup_names *t, const char *name, uint32_t len)
{
	size_t need = len + 1 > OUT_PAD ? len + 1 : OUT_PAD;
	struct name_block *b = t->blocks;
	char *at;

	if (!b || b->cap - b->used < need) {
		size_t cap = need > BLOCK_BYTES ? need : BLOCK_BYTES;

		b = calloc(1, sizeof(*b) + cap);
		if (!b)
			return NULL;
		b->cap = cap;
		b->next = t->blocks;
		t->blocks = b;
	}
	at = b->text + b->used;
	memcpy(at, name, len);
	b->used += need; /* others read the pad while this thread adds names: it is not shared */
	return at;
}

/* NULL when out of memory. */
static const struct kept_name *kept(struct lookup_names *t, const char *name)
{
	uint32_t len = (uint32_t)strlen(name), k;
	struct kept_name *n;

	if (t->nr * 2 >= t->cap && !grow(t))
		return NULL;
	k = hash(name, len) & (t->cap - 1);
	while (t->slots[k].text &&
	       (t->slots[k].len != len || memcmp(t->slots[k].text, name, len) != 0))
		k = (k + 1) & (t->cap - 1);
	n = &t->slots[k];
	if (!n->text && (n->text = keep(t, name, len))) {
		n->len = len;
		n->id = ++t->nr;
	}
	return n->text ? n : NULL;
}

static void names_free(struct lookup_names *t)
{
	if (!t)
		return;
	for (struct name_block *b = t->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(t->slots);
	free(t);
}

static const char *env_module(void *arg, uint64_t addr)
{
	return lookup_symbol(arg, addr)->module;
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

bool lookup_init(struct lookup *l, struct source *s, bool trace_cmd)
{
	*l = (struct lookup){.source = s, .trace_cmd = trace_cmd};
	l->places = calloc(LOOKUP_FIRST, sizeof(*l->places));
	l->mask = LOOKUP_FIRST - 1;
	l->symbols = malloc(LOOKUP_MAX * sizeof(*l->symbols));
	l->names = calloc(1, sizeof(*l->names));
	l->env = (struct expr_env){
		.symbol = env_symbol,
		.module = env_module,
		.address = env_address,
		.comm = env_comm,
		.printk = env_printk,
		.arg = l,
		.swap = s->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__),
		.long_bytes = s->long_bytes == 4 ? 4 : 8,
		.kernel = source_kernel(s),
	};
	return l->places && l->symbols && l->names;
}

void lookup_free(struct lookup *l)
{
	free(l->places);
	free(l->symbols);
	names_free(l->names);
	*l = (struct lookup){0};
}

static bool find(struct lookup *l, uint64_t addr, struct symbol *sym)
{
	bool found;

	source_want_names(l->source);
	found = symbols_find(l->source->symbols, addr, l->trace_cmd ? ALIAS_TRACE_CMD : ALIAS_FIRST,
			     sym);
	/* Behind its last symbol the kernel knows none, but trace-cmd takes that for a name. */
	return found && (l->trace_cmd || strcmp(sym->name, "_end") != 0);
}

static void place(struct lookup *l, uint32_t n)
{
	uint32_t at = lookup_place(l, l->symbols[n].addr);

	while (l->places[at])
		at = (at + 1) & l->mask;
	l->places[at] = n + 1;
}

/* Room for one more symbol: more places, or those there are, emptied. */
static void make_room(struct lookup *l)
{
	uint32_t places = 2 * (l->mask + 1);
	uint32_t *p = l->nr < LOOKUP_MAX ? calloc(places, sizeof(*p)) : NULL;

	if (!p) {
		memset(l->places, 0, places / 2 * sizeof(*p));
		l->nr = 0;
		return;
	}
	free(l->places);
	l->places = p;
	l->mask = places - 1;
	for (uint32_t i = 0; i < l->nr; i++)
		place(l, i);
}

const struct lookup_symbol *lookup_miss(struct lookup *l, uint64_t addr)
{
	const struct kept_name *name = NULL;
	const char *module = "";
	struct lookup_symbol *out;
	struct symbol sym;

	if (l->nr == LOOKUP_MAX || l->nr * 2 > l->mask)
		make_room(l);
	if (find(l, addr, &sym)) {
		const struct kept_name *m = *sym.module ? kept(l->names, sym.module) : NULL;

		module = m ? m->text : "";
		name = kept(l->names, sym.name);
	}
	out = &l->symbols[l->nr];
	*out = (struct lookup_symbol){.addr = addr, .module = ""};
	if (name) {
		out->name = name->text;
		out->len = name->len;
		out->id = name->id;
		out->offset = sym.offset;
		out->module = module;
		out->size = sym.size == UINT64_MAX ? 0 : sym.size;
	}
	place(l, l->nr++);
	return out;
}
