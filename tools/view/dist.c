/* SPDX-License-Identifier: MIT */
/* dist.c -- a distribution of times: count, total, extremes, and percentiles of the values themselves. */
#include "view/dist.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

void dist_settle(struct dist *d)
{
	uint32_t nr = d->nr_recent;

	d->nr_recent = 0;
	if (!nr)
		return;
	if (!VEC_ROOM(d->small, d->nr_small + nr, d->cap_small)) {
		d->failed = true;
		return;
	}
	memcpy(d->small + d->nr_small, d->recent, nr * sizeof(*d->small));
	d->nr_small += nr;
	d->ranked = 0;
}

static void keep(struct dist *d, uint64_t v)
{
	if (v > UINT32_MAX) {
		if (VEC_ROOM(d->big, d->nr_big, d->cap_big))
			d->big[d->nr_big++] = v;
		else
			d->failed = true;
		return;
	}
	d->recent[d->nr_recent++] = (uint32_t)v;
	if (d->nr_recent == DIST_RECENT)
		dist_settle(d);
}

void dist_add(struct dist *d, struct dist_budget *b, uint64_t v)
{
	if (!d->count || v < d->min)
		d->min = v;
	if (v > d->max)
		d->max = v;
	d->count++;
	d->total += v;
	if (++d->skipped < d->step)
		return;
	d->skipped = 0;
	keep(d, v);
	if (++b->values > DIST_VALUES_MAX)
		b->full = true;
}

void dist_thin(struct dist *d, struct dist_budget *b)
{
	size_t before;

	dist_settle(d);
	before = d->nr_small + d->nr_big;
	for (size_t i = 0; i < d->nr_small / 2; i++)
		d->small[i] = d->small[2 * i + 1];
	for (size_t i = 0; i < d->nr_big / 2; i++)
		d->big[i] = d->big[2 * i + 1];
	d->nr_small /= 2;
	d->ranked = 0;
	d->nr_big /= 2;
	d->step = d->step ? d->step * 2 : 2;
	b->values -= before - d->nr_small - d->nr_big;
}

void dist_free(struct dist *d)
{
	free(d->small);
	free(d->big);
	memset(d, 0, sizeof(*d));
}

void dist_join(struct dist *to, const struct dist *from)
{
	if (!from->count)
		return;
	if (!to->count || from->min < to->min)
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
	to->count += from->count;
	to->total += from->total;
	if (from->step > to->step)
		to->step = from->step;
	for (size_t i = 0; i < from->nr_small; i++)
		keep(to, from->small[i]);
	for (size_t i = 0; i < from->nr_big; i++)
		keep(to, from->big[i]);
	for (uint32_t i = 0; i < from->nr_recent; i++)
		keep(to, from->recent[i]);
}

/* The value that would stand at `k` if they were sorted; smaller ones come to stand before it. Those before `lo` do. */
static uint32_t select_small(uint32_t *v, size_t lo, size_t n, size_t k)
{
	size_t hi = n - 1;

	while (lo < hi) {
		uint32_t pivot = v[lo + (hi - lo) / 2];
		size_t i = lo, j = hi;

		for (;;) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			uint32_t x = v[i];

			v[i++] = v[j];
			v[j--] = x;
		}
		if (k <= j)
			hi = j;
		else
			lo = j + 1;
	}
	return v[k];
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t dist_percentile(struct dist *d, uint32_t per_mille)
{
	uint64_t n, rank;
	size_t from;

	dist_settle(d);
	n = d->nr_small + d->nr_big;
	if (!n)
		return 0;
	rank = (n * per_mille + 999) / 1000;
	rank = rank ? rank - 1 : 0;
	if (rank < d->nr_small) {
		from = rank >= d->ranked ? d->ranked : 0;
		d->ranked = (size_t)rank;
		return select_small(d->small, from, d->nr_small, (size_t)rank);
	}
	qsort(d->big, d->nr_big, sizeof(*d->big), by_value);
	return d->big[rank - d->nr_small];
}

void dist_histogram(const struct dist *d, uint64_t out[64])
{
	uint64_t step = d->step ? d->step : 1;

	memset(out, 0, 64 * sizeof(*out));
	for (size_t i = 0; i < d->nr_small; i++)
		out[d->small[i] ? 31 - __builtin_clz(d->small[i]) : 0] += step;
	for (uint32_t i = 0; i < d->nr_recent; i++)
		out[d->recent[i] ? 31 - __builtin_clz(d->recent[i]) : 0] += step;
	for (size_t i = 0; i < d->nr_big; i++)
		out[63 - __builtin_clzll(d->big[i])] += step;
}
