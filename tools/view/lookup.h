/* SPDX-License-Identifier: MIT */
/* lookup.h -- names of addresses and tasks, cached for one thread. */
#ifndef VIEW_LOOKUP_H
#define VIEW_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strmap.h"
#include "decode/source.h"
#include "query/expr.h"

/* A symbol looked up before. */
struct lookup_symbol {
	uint64_t addr;
	const char *
		name; /* NULL: not known; of a shorter one OUT_PAD bytes can be read (out_padded) */
	uint32_t len;
	uint32_t id; /* the same for equal names, at whatever addresses; 0: not known */
	uint64_t offset, size;
	const char *module;	   /* "": of the kernel itself */
	const struct proto *proto; /* lookup_proto(); NULL: not known */
	bool has_proto;		   /* it was looked for */
};

/* A trace meets some thousand addresses, again and again; if there are more, all are forgotten then. */
#define LOOKUP_MAX   16384u
#define LOOKUP_FIRST 1024u /* places for a start; there are at least twice as many as symbols */

struct lookup {
	struct source *source;
	bool trace_cmd;	  /* choose among names of one address as trace-cmd does */
	uint32_t *places; /* by a hash of the address: 1 + the number in `symbols`, 0 if empty */
	uint32_t mask;	  /* of places */
	uint32_t nr;
	struct lookup_symbol *symbols; /* in the order they were met, so that few pages are used */
	struct strmap names;
	struct expr_env env; /* asks this lookup */
};

/* False when out of memory. */
bool lookup_init(struct lookup *l, struct source *s, bool trace_cmd);
void lookup_free(struct lookup *l);
const struct lookup_symbol *lookup_miss(struct lookup *l, uint64_t addr);

static inline uint32_t lookup_place(const struct lookup *l, uint64_t addr)
{
	return (uint32_t)((addr * 0x9e3779b97f4a7c15u) >> 40) & l->mask;
}

/* Valid until the next call, but for the name, which stays as long as the lookup. */
static inline const struct lookup_symbol *lookup_symbol(struct lookup *l, uint64_t addr)
{
	uint32_t at = lookup_place(l, addr), n;

	for (; (n = l->places[at]) != 0; at = (at + 1) & l->mask)
		if (l->symbols[n - 1].addr == addr)
			return &l->symbols[n - 1];
	return lookup_miss(l, addr);
}

/* What the function takes and gives; NULL: not known. Stays as long as the source. */
const struct proto *lookup_proto(struct lookup *l, uint64_t func);

#endif
