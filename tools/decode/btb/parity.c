/* SPDX-License-Identifier: MIT */
/* parity.c -- rebuild lost lines, and find wrong ones, from the parity lines of a run. */
#include "decode/btb/blocks.h"

#include <stdlib.h>
#include <string.h>

/* See wire/btb.h for the code. A group's lines are the unknowns, each parity line one equation over all 32 bytes. */
#define LINE_BYTES (WIRE_BTB_LINE_WORDS * 8)

struct row {
	uint32_t j;
	uint8_t rhs[LINE_BYTES]; /* parity minus all known members */
};

static uint8_t gf_table[256][256], gf_inverse[256];

static void gf_init(void)
{
	if (gf_inverse[1])
		return;
	for (unsigned a = 0; a < 256; a++)
		for (unsigned b = 0; b < 256; b++)
			gf_table[a][b] = wire_gf_mul((uint8_t)a, (uint8_t)b);
	for (unsigned a = 1; a < 256; a++)
		gf_inverse[a] = wire_gf_inv((uint8_t)a);
}

static uint8_t coefficient(uint32_t j, uint32_t i)
{
	return gf_inverse[(255 - j) ^ i];
}

/* dst += c * src */
static void add_scaled(uint8_t *dst, const uint8_t *src, uint8_t c)
{
	for (unsigned k = 0; k < LINE_BYTES; k++)
		dst[k] ^= gf_table[c][src[k]];
}

/* Where a member of the group stands; NULL if its block has no place. */
static uint8_t *member(struct btb_blocks *b, const struct btb_parity *p, uint32_t i, bool *is_known,
		       struct btb_block **block, uint32_t *line)
{
	uint32_t l = i * p->groups + p->group;
	struct btb_block *k = btb_blocks_find(b, p->start + l / WIRE_BTB_BLOCK_LINES);

	if (!k || k->redundancy)
		return NULL;
	*block = k;
	*line = l % WIRE_BTB_BLOCK_LINES;
	*is_known = btb_line_known(k, *line);
	return (uint8_t *)&k->w[*line * WIRE_BTB_LINE_WORDS];
}

/* Gauss-Jordan on the m x m system of the lost members; any Cauchy submatrix is regular. */
static void solve(struct row *rows, const uint32_t *lost, uint32_t m)
{
	static uint8_t a[WIRE_BTB_GROUP_PARITY][WIRE_BTB_GROUP_PARITY];

	for (uint32_t r = 0; r < m; r++)
		for (uint32_t c = 0; c < m; c++)
			a[r][c] = coefficient(rows[r].j, lost[c]);
	for (uint32_t c = 0; c < m; c++) {
		uint8_t inv =
			gf_inverse[a[c][c]]; /* leading minors of a Cauchy matrix are never zero */

		for (uint32_t k = 0; k < m; k++)
			a[c][k] = gf_table[inv][a[c][k]];
		for (unsigned k = 0; k < LINE_BYTES; k++)
			rows[c].rhs[k] = gf_table[inv][rows[c].rhs[k]];
		for (uint32_t r = 0; r < m; r++) {
			uint8_t f = a[r][c];

			if (r == c || !f)
				continue;
			for (uint32_t k = 0; k < m; k++)
				a[r][k] ^= gf_table[f][a[c][k]];
			add_scaled(rows[r].rhs, rows[c].rhs, f);
		}
	}
}

/* All lines are there but the equations do not hold: one line may have been changed into another valid one. */
static void correct(struct btb_blocks *b, const struct btb_parity *p, struct row *rows, uint32_t nr,
		    uint32_t members)
{
	static const uint8_t zero[LINE_BYTES];
	uint32_t wrong = 0, found = 0, at = 0;

	for (uint32_t r = 0; r < nr; r++)
		wrong += memcmp(rows[r].rhs, zero, LINE_BYTES) != 0;
	if (wrong < 2 || wrong != nr)
		return; /* all well, or a parity line is the wrong one */
	for (uint32_t i = 0; i < members; i++) {
		bool fits = true;

		/* rhs_r = c(r,i) * e for one e: compare every row's e with the first's. */
		for (uint32_t r = 1; r < nr && fits; r++)
			for (unsigned k = 0; k < LINE_BYTES && fits; k++)
				fits = gf_table[rows[r].rhs[k]][coefficient(rows[0].j, i)] ==
				       gf_table[rows[0].rhs[k]][coefficient(rows[r].j, i)];
		if (fits) {
			found++;
			at = i;
		}
	}
	if (found == 1) {
		struct btb_block *k;
		uint32_t line;
		bool is_known;
		uint8_t *w = member(b, p, at, &is_known, &k, &line);

		add_scaled(w, rows[0].rhs, gf_inverse[coefficient(rows[0].j, at)]);
		b->loss->corrected_lines++;
	}
}

/* One group: `p` .. `p + nr` are its parity lines. */
static void repair_group(struct btb_blocks *b, const struct btb_parity *p, size_t nr)
{
	static struct row rows[WIRE_BTB_GROUP_PARITY];
	uint32_t lost[WIRE_BTB_GROUP_PARITY], nr_lost = 0, nr_rows = 0;
	uint32_t members = p->lines > p->group ? (p->lines - p->group - 1) / p->groups + 1 : 0;
	struct btb_block *k;
	uint32_t line;
	bool is_known;

	if (members > WIRE_BTB_GROUP_LINES)
		return;
	for (size_t i = 0; i < nr && nr_rows < WIRE_BTB_GROUP_PARITY; i++) {
		if (nr_rows && p[i].row == rows[nr_rows - 1].j)
			continue;
		rows[nr_rows].j = p[i].row;
		memcpy(rows[nr_rows++].rhs, p[i].w, LINE_BYTES);
	}
	for (uint32_t i = 0; i < members; i++) {
		const uint8_t *w = member(b, p, i, &is_known, &k, &line);

		if (!w)
			return;
		if (is_known) {
			for (uint32_t r = 0; r < nr_rows; r++)
				add_scaled(rows[r].rhs, w, coefficient(rows[r].j, i));
		} else if (nr_lost == nr_rows) {
			return; /* more lost than there are equations */
		} else {
			lost[nr_lost++] = i;
		}
	}
	if (!nr_lost) {
		correct(b, p, rows, nr_rows, members);
		return;
	}
	solve(rows, lost, nr_lost);
	for (uint32_t i = 0; i < nr_lost; i++) {
		memcpy(member(b, p, lost[i], &is_known, &k, &line), rows[i].rhs, LINE_BYTES);
		k->known[line / 16] |= 15ull << line % 16 * 4;
		b->loss->rebuilt_lines++;
	}
}

static int by_group(const void *a, const void *b)
{
	const struct btb_parity *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->lines != y->lines)
		return x->lines < y->lines ? -1 : 1;
	if (x->groups != y->groups)
		return x->groups < y->groups ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static bool same_group(const struct btb_parity *x, const struct btb_parity *y)
{
	return x->start == y->start && x->lines == y->lines && x->groups == y->groups &&
	       x->group == y->group;
}

void btb_parity_repair(struct btb_blocks *b)
{
	gf_init();
	qsort(b->parity, b->nr_parity, sizeof(*b->parity), by_group);
	for (size_t i = 0, n; i < b->nr_parity; i += n) {
		for (n = 1; i + n < b->nr_parity && same_group(&b->parity[i], &b->parity[i + n]);)
			n++;
		repair_group(b, &b->parity[i], n);
	}
}
