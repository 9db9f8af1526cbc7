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

#define LOOKUP_SLOTS 16384u

struct lookup {
	struct source *source;
	bool trace_cmd; /* choose among names of one address as trace-cmd does */
	bool names;	/* give ids */
	struct lookup_symbol
		*slots; /* [LOOKUP_SLOTS], by a hash of the address; addr 0 and name NULL: empty */
	struct lookup_names *ids;
	struct expr_env env; /* asks this lookup */
};

/* False when out of memory. */
bool lookup_init(struct lookup *l, struct source *s, bool trace_cmd, bool names);
void lookup_free(struct lookup *l);
const struct lookup_symbol *lookup_miss(struct lookup *l, uint64_t addr,
					struct lookup_symbol *slot);

static inline const struct lookup_symbol *lookup_symbol(struct lookup *l, uint64_t addr)
{
	struct lookup_symbol *slot =
		&l->slots[(addr * 0x9e3779b97f4a7c15u) >> 50 & (LOOKUP_SLOTS - 1)];

	return slot->addr == addr && slot->size != UINT64_MAX ? slot : lookup_miss(l, addr, slot);
}

#endif
