/* SPDX-License-Identifier: MIT */
/* ranges.c -- which bytes of a trace.dat belong to which CPU: each to one, or a small file could claim to be a large one. */
#include "decode/tracedat/tracedat.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>

/*
 * A list of CPUs costs 20 bytes each, and each may name any part of the file. If parts could be shared, a file of n bytes
 * would hold n * n / 20 bytes of pages. So the ranges of a list are sorted, each ends where the next begins, and one that
 * meets the range of an earlier list is skipped.
 */
struct claim {
	uint64_t from, to;
};

/* Claims are disjoint, so "they meet" is an order that a tree can be kept in. */
static int by_place(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	return x->to <= y->from ? -1 : x->from >= y->to;
}

/* 0, -EEXIST if the range meets another, -ENOMEM. */
static int claim(struct tracedat *t, uint64_t from, uint64_t to)
{
	struct claim *c = malloc(sizeof(*c)), **at;

	if (!c)
		return -ENOMEM;
	*c = (struct claim){from, to};
	at = tsearch(c, &t->claims, by_place);
	if (at && *at == c)
		return 0;
	free(c);
	return at ? -EEXIST : -ENOMEM;
}

void tracedat_claims_free(struct tracedat *t)
{
	tdestroy(t->claims, free);
	t->claims = NULL;
}

/* Where it ends in the file, whatever its size says. */
static uint64_t end_of(const struct source *s, const struct cpu_range *r)
{
	return r->bytes < s->map_bytes - r->offset ? r->offset + r->bytes : s->map_bytes;
}

static bool has_pages(const struct source *s, const struct cpu_range *r)
{
	return r->bytes && r->offset < s->map_bytes;
}

static int by_offset(const void *a, const void *b)
{
	const struct cpu_range *const *x = a, *const *y = b;

	if ((*x)->offset != (*y)->offset)
		return (*x)->offset < (*y)->offset ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

/* Each range ends where the next begins; of two with the same beginning the first has it. */
static void trim(struct source *s, struct cpu_range **sorted, size_t nr)
{
	for (size_t i = 0; i + 1 < nr; i++) {
		struct cpu_range *r = sorted[i], *next = sorted[i + 1];

		if (end_of(s, r) <= next->offset)
			continue;
		source_damage(s, next->offset, end_of(s, r) - next->offset,
			      "cpu %u and cpu %u claim the same pages", r->cpu, next->cpu);
		if (r->offset != next->offset) {
			r->bytes = next->offset - r->offset;
		} else {
			next->bytes = 0;
			sorted[i + 1] = r;
		}
	}
}

int tracedat_settle_ranges(struct source *s, struct cpu_range *v, size_t nr)
{
	struct cpu_range **sorted = nr ? malloc(nr * sizeof(*sorted)) : NULL;
	size_t used = 0;
	int err = 0;

	if (nr && !sorted)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		if (has_pages(s, &v[i]))
			sorted[used++] = &v[i];
	if (used)
		qsort(sorted, used, sizeof(*sorted), by_offset);
	trim(s, sorted, used);
	for (size_t i = 0; i < nr && !err; i++) {
		if (!has_pages(s, &v[i]))
			continue;
		err = claim(s->priv, v[i].offset, end_of(s, &v[i]));
		if (err != -EEXIST)
			continue;
		source_damage(s, v[i].offset, v[i].bytes,
			      "cpu %u: its pages belong to another buffer", v[i].cpu);
		v[i].bytes = 0;
		err = 0;
	}
	free(sorted);
	return err;
}
