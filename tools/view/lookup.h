/* SPDX-License-Identifier: MIT */
/* lookup.h -- names of addresses and tasks, cached for one thread. */
#ifndef VIEW_LOOKUP_H
#define VIEW_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/source.h"
#include "query/expr.h"

/* A symbol looked up before. */
struct lookup_symbol {
	const char *
		name; /* NULL: not known; of a shorter one OUT_PAD bytes can be read (out_padded) */
	uint32_t len;
	uint32_t id; /* the same for equal names, at whatever addresses; 0: not known */
	uint64_t offset, size;
	bool used;
};

/* Sets of four: a trace meets some thousand addresses, again and again. */
#define LOOKUP_SETS 4096u
#define LOOKUP_WAYS 4u

struct lookup {
	struct source *source;
	bool trace_cmd;	 /* choose among names of one address as trace-cmd does */
	uint64_t *addrs; /* [LOOKUP_SETS * LOOKUP_WAYS], the set chosen by a hash of the address */
	struct lookup_symbol *symbols; /* of the address in the same place */
	uint32_t next_way;	       /* to be replaced when a set is full */
	struct lookup_names *names;
	struct expr_env env; /* asks this lookup */
};

/* False when out of memory. */
bool lookup_init(struct lookup *l, struct source *s, bool trace_cmd);
void lookup_free(struct lookup *l);
const struct lookup_symbol *lookup_miss(struct lookup *l, uint64_t addr, uint32_t set);

/* Valid until the next call, but for the name, which stays as long as the lookup. */
static inline const struct lookup_symbol *lookup_symbol(struct lookup *l, uint64_t addr)
{
	uint32_t set = ((addr * 0x9e3779b97f4a7c15u) >> 51 & (LOOKUP_SETS - 1)) * LOOKUP_WAYS;

	for (uint32_t i = set; i < set + LOOKUP_WAYS; i++)
		if (l->addrs[i] == addr && l->symbols[i].used)
			return &l->symbols[i];
	return lookup_miss(l, addr, set);
}

#endif
