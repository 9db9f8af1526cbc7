/* SPDX-License-Identifier: MIT */
/* forest.h -- the records of the function tracers as a test sees them, and what must be true of calls and returns. */
#ifndef TEST_TRACERS_FOREST_H
#define TEST_TRACERS_FOREST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "fathom/trace.h"
#include "port.h"

struct rec {
	uint16_t type;
	int32_t depth;
	uint64_t func, parent, calltime, rettime;
};
static struct rec recs[1 << 20];

/* Take every function, entry and exit record of a CPU out of its ring. */
static inline size_t drain(uint32_t cpu, struct rec *out, size_t max)
{
	struct fathom_record r;
	size_t n = 0;

	while (fathom_ring_consume(fathom_ring_of(cpu), &r)) {
		const uint8_t *d = r.data;
		struct rec x = {0};

		memcpy(&x.type, d, 2);
		if (x.type != WIRE_ID_FUNCTION && x.type != WIRE_ID_FUNCGRAPH_ENTRY &&
		    x.type != WIRE_ID_FUNCGRAPH_EXIT)
			continue;
		memcpy(&x.func, d + 8, 8);
		if (x.type == WIRE_ID_FUNCTION)
			memcpy(&x.parent, d + 16, 8);
		else
			memcpy(&x.depth, d + 16, 4);
		if (x.type == WIRE_ID_FUNCGRAPH_EXIT) {
			memcpy(&x.calltime, d + 24, 8);
			memcpy(&x.rettime, d + 32, 8);
		}
		if (n < max)
			out[n] = x;
		n++;
	}
	return n < max ? n : max;
}

static inline const char *name_of(uint64_t ip)
{
	uintptr_t offset, size;
	const char *name = port_symbol(ip, &offset, &size);

	return name ? name : "?";
}

/* Calls and returns, one record after the other. */
struct forest {
	struct rec open[4096];
	uint64_t child[4096]; /* ns that callees took */
	size_t depth;
	size_t faults;
	size_t entries, exits;
	size_t cut; /* calls that something deeper or later showed to be over */
};

static inline void forest_cut(struct forest *f, int32_t to)
{
	while (f->depth && f->open[f->depth - 1].depth >= to) {
		f->depth--;
		f->cut++;
	}
}

static inline void forest_feed(struct forest *f, const struct rec *r)
{
	uint64_t took = r->rettime - r->calltime;

	if (r->type == WIRE_ID_FUNCGRAPH_ENTRY) {
		f->entries++;
		forest_cut(f, r->depth);
		/* More than that is not wrong: the entry of the call that was interrupted may stand after it. */
		f->faults += r->depth < (f->depth ? f->open[f->depth - 1].depth + 1 : 0);
		f->child[f->depth] = 0;
		f->open[f->depth++] = *r;
	} else if (r->type == WIRE_ID_FUNCGRAPH_EXIT) {
		f->exits++;
		forest_cut(f, r->depth + 1);
		if (!f->depth || f->open[f->depth - 1].func != r->func ||
		    f->open[f->depth - 1].depth != r->depth) {
			f->faults++;
			return;
		}
		f->depth--;
		f->faults += f->child[f->depth] > took;
		if (f->depth)
			f->child[f->depth - 1] += took;
	}
}

/* Of recs[0..n): entries and exits nest, names and depths match, children are within their parents, nothing is cut. */
static inline int forest_faults(size_t n, size_t *open_ends)
{
	static struct forest f;

	f.depth = f.faults = f.entries = f.exits = f.cut = 0;
	for (size_t i = 0; i < n; i++)
		forest_feed(&f, &recs[i]);
	*open_ends = f.depth;
	return (int)(f.faults + f.cut);
}

#endif
