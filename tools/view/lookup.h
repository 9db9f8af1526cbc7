/* SPDX-License-Identifier: MIT */
/* lookup.h -- names of addresses and tasks, cached for one thread. */
#ifndef VIEW_LOOKUP_H
#define VIEW_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/source.h"
#include "query/expr.h"

/* A symbol looked up before. `id` is the same for equal names, at whatever addresses. */
struct lookup_symbol {
	uint64_t addr;
	const char *name; /* NULL: not known */
	uint32_t len;
	uint32_t id; /* 0 when not asked for */
	uint64_t offset, size;
};

/* Sets of four: a trace meets some thousand addresses, again and again. */
#define LOOKUP_SETS 8192u
#define LOOKUP_WAYS 4u

struct lookup {
	struct source *source;
	bool trace_cmd; /* choose among names of one address as trace-cmd does */
	bool names;	/* give ids */
	struct lookup_symbol *
		slots; /* [LOOKUP_SETS][LOOKUP_WAYS], by a hash of the address; size UINT64_MAX: empty */
	uint32_t next_way; /* to be replaced when a set is full */
	struct lookup_names *ids;
	struct expr_env env; /* asks this lookup */
};

/* False when out of memory. */
bool lookup_init(struct lookup *l, struct source *s, bool trace_cmd, bool names);
void lookup_free(struct lookup *l);
const struct lookup_symbol *lookup_miss(struct lookup *l, uint64_t addr, struct lookup_symbol *set);

static inline const struct lookup_symbol *lookup_symbol(struct lookup *l, uint64_t addr)
{
	struct lookup_symbol *set =
		&l->slots[((addr * 0x9e3779b97f4a7c15u) >> 51 & (LOOKUP_SETS - 1)) * LOOKUP_WAYS];

	for (uint32_t i = 0; i < LOOKUP_WAYS; i++)
		if (set[i].addr == addr && set[i].size != UINT64_MAX)
			return &set[i];
	return lookup_miss(l, addr, set);
}

#endif
