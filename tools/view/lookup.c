/* SPDX-License-Identifier: MIT */
/* lookup.c -- a cache of symbols in front of a source, and numbers for names. */
#include "view/lookup.h"
#include "query/out.h"

#include <stdlib.h>
#include <string.h>

/* Of the names, kept with their padding; STRMAP_NONE when out of memory. */
static uint32_t kept(struct lookup *l, const char *name)
{
	return strmap_add(&l->names, name, (uint32_t)strlen(name));
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
	l->names = (struct strmap){.copies = true, .pad = OUT_PAD};
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
	return l->places && l->symbols;
}

void lookup_free(struct lookup *l)
{
	free(l->places);
	free(l->symbols);
	strmap_free(&l->names);
	*l = (struct lookup){0};
}

static bool find(struct lookup *l, uint64_t addr, struct symbol *sym)
{
	bool found;

	source_want_names(l->source);
	found = symbols_find(l->source->symbols, addr, l->trace_cmd ? ALIAS_TRACE_CMD : ALIAS_FIRST,
			     sym);
	/* After its last symbol the kernel knows none, but trace-cmd takes that for a name. */
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
	uint32_t name = STRMAP_NONE;
	const char *module = "";
	struct lookup_symbol *out;
	struct symbol sym;

	if (l->nr == LOOKUP_MAX || l->nr * 2 > l->mask)
		make_room(l);
	if (find(l, addr, &sym)) {
		uint32_t m = *sym.module ? kept(l, sym.module) : STRMAP_NONE;

		module = m != STRMAP_NONE ? l->names.word[m].p : "";
		name = kept(l, sym.name);
	}
	out = &l->symbols[l->nr];
	*out = (struct lookup_symbol){.addr = addr, .module = ""};
	if (name != STRMAP_NONE) {
		out->name = l->names.word[name].p;
		out->len = l->names.word[name].n;
		out->id = name + 1;
		out->offset = sym.offset;
		out->module = module;
		out->size = sym.size == UINT64_MAX ? 0 : sym.size;
	}
	place(l, l->nr++);
	return out;
}

const struct proto *lookup_proto(struct lookup *l, uint64_t func)
{
	struct lookup_symbol *s =
		(struct lookup_symbol *)lookup_symbol(l, func); /* this one's own */

	if (!s->has_proto) {
		s->has_proto = true;
		if (s->name)
			s->proto = source_proto(l->source, s->name, func - s->offset);
	}
	return s->proto;
}
