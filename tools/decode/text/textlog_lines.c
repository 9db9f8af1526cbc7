/* SPDX-License-Identifier: MIT */
/* textlog_lines.c -- where the lines of each CPU are in a text. */
#include "decode/text/textlog.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Lay out what was gathered, CPU by CPU, as text_lines_of() reads it; its bytes. */
static size_t lay_out(struct text_gather *g)
{
	uint16_t *places, shares = 0, end = 0;
	struct text_share share;

	memset(g->end, 0, sizeof(g->end));
	for (uint32_t i = 0; i < g->nr; i++)
		g->end[g->cpu[i]]++;
	for (uint32_t cpu = 0; cpu < TEXT_CPU_MAX; cpu++) {
		uint16_t begin = end;

		if (!g->end[cpu])
			continue;
		end = (uint16_t)(end + g->end[cpu]);
		share = (struct text_share){(uint16_t)cpu, end};
		memcpy(&g->out[1 + 2 * shares++], &share, sizeof(share));
		g->end[cpu] = begin; /* where its next line goes */
	}
	g->out[0] = shares;
	places = &g->out[1 + 2 * shares];
	for (uint32_t i = 0; i < g->nr; i++)
		places[g->end[g->cpu[i]]++] = g->at[i];
	return (1u + 2u * shares + g->nr) * sizeof(*g->out);
}

/* Keep the block that was gathered; those up to `block` have no lines. */
static int keep_blocks(struct text_lines *t, struct text_gather *g, uint64_t block)
{
	int err = 0;

	while (t->nr < block && !err) {
		if (!VEC_MORE(t->blocks, t->nr))
			return -ENOMEM;
		err = spool_append(&t->spool, g->out, lay_out(g), &t->blocks[t->nr]);
		g->nr = 0;
		t->nr++;
	}
	return err;
}

int text_lines_add(struct text_lines *t, struct text_gather *g, uint64_t offset, uint32_t cpu)
{
	int err = keep_blocks(t, g, offset / TEXT_BLOCK);

	if (err || g->nr == TEXT_BLOCK / 8)
		return err;
	g->cpu[g->nr] = (uint16_t)cpu;
	g->at[g->nr++] = (uint16_t)(offset % TEXT_BLOCK);
	return 0;
}

int text_lines_finish(struct text_lines *t, struct text_gather *g, uint64_t blocks)
{
	int err = keep_blocks(t, g, blocks);

	return err ? err : spool_finish(&t->spool);
}

void text_lines_free(struct text_lines *t)
{
	spool_free(&t->spool);
	free(t->blocks);
}

const uint16_t *text_lines_of(struct text_lines *t, uint64_t block, uint32_t cpu, uint32_t *nr)
{
	const uint16_t *p = (const uint16_t *)(const void *)(t->spool.map + t->blocks[block]);
	const struct text_share *share = (const struct text_share *)(const void *)(p + 1);
	uint32_t lo = 0, hi = p[0], begin;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (share[mid].cpu < cpu)
			lo = mid + 1;
		else
			hi = mid;
	}
	*nr = 0;
	if (lo == p[0] || share[lo].cpu != cpu)
		return NULL;
	begin = lo ? share[lo - 1].end : 0;
	*nr = share[lo].end - begin;
	spool_walk(&t->spool, *nr * sizeof(*p));
	return p + 1 + 2 * p[0] + begin;
}
