/* SPDX-License-Identifier: MIT */
/* btb_export.c -- a backtrace buffer over a text console: blocks of lines, an XOR block a section, parity lines. */
#include "fathom/inside/btb.h"
#include "fathom/sampler.h"
#include "fathom/inside/errno.h"
#include "samples/sampler_buffer.h"
#include "send/btb_code.h"
#include "wire/div.h"
#include "wire/text.h"

/*
 * Each section is announced, printed in blocks and closed by the XOR of its blocks, as the original's reader wants it.
 * Beside that every data line is added into its parity group as it is printed (wire/btb.h). When the groups are full, or
 * the export ends, the parity lines are printed, and the next span of lines begins.
 */
#define BTB_PERCENT_MAX 25u
#define BTB_GROUPS_MIN \
	6u /* a section must fit into a span: 34 blocks of 32 lines in groups of 200 */

static void btb_put(struct fathom_btb_export *e, struct fathom_text *t)
{
	e->write(e->arg, t->buf, t->len);
}

static void btb_put_words(struct fathom_btb_export *e, struct fathom_text *t, const uint64_t *w)
{
	fathom_text_char(t, ']');
	for (uint32_t i = 0; i < WIRE_BTB_LINE_WORDS; i++) {
		fathom_text_char(t, ' ');
		fathom_text_hex(t, w[i], 16, '0');
	}
	fathom_text_str(t, " \n");
	btb_put(e, t);
}

static void btb_put_line(struct fathom_btb_export *e, uint64_t id, uint32_t offset,
			 const uint64_t *w)
{
	char buf[128];
	struct fathom_text t;

	fathom_text_init(&t, buf, sizeof(buf));
	fathom_text_str(&t, ">=< [");
	fathom_text_hex(&t, id, 8, '0');
	fathom_text_char(&t, '.');
	fathom_text_hex(&t, offset, 2, '0');
	btb_put_words(e, &t, w);
}

static void btb_put_parity(struct fathom_btb_export *e, uint32_t group, uint32_t row,
			   const uint64_t *w)
{
	const uint64_t head[5] = {e->span, e->span_lines, e->groups, group, row};
	static const int width[5] = {8, 6, 4, 4, 2};
	char buf[160];
	struct fathom_text t;

	fathom_text_init(&t, buf, sizeof(buf));
	fathom_text_str(&t, WIRE_BTB_PARITY_MARK " [");
	for (uint32_t i = 0; i < 5; i++) {
		if (i)
			fathom_text_char(&t, '.');
		fathom_text_hex(&t, head[i], width[i], '0');
	}
	btb_put_words(e, &t, w);
}

/* Eight bytes of a word times c, in GF(256): the bytes are doubled side by side. */
static uint64_t btb_scale(uint64_t w, uint8_t c)
{
	uint64_t r = 0;

	for (uint32_t i = 0; i < 8; i++) {
		uint64_t high = w >> 7 & 0x0101010101010101ull;

		r ^= (c >> i & 1u) ? w : 0;
		w = (w << 1 & 0xfefefefefefefefeull) ^ high * 0x1d;
	}
	return r;
}

/* Add a data line to its group: every parity line of the group gets its share. */
static void btb_protect(struct fathom_btb_export *e, const uint64_t *w)
{
	uint32_t group, member;
	uint64_t *p;

	if (!e->groups)
		return;
	group = e->span_lines % e->groups;
	member = e->span_lines / e->groups;
	p = e->parity + (size_t)group * e->rows * WIRE_BTB_LINE_WORDS;
	for (uint32_t j = 0; j < e->rows; j++) {
		uint8_t c = wire_btb_coefficient(j, member);

		for (uint32_t i = 0; i < WIRE_BTB_LINE_WORDS; i++)
			*p++ ^= btb_scale(w[i], c);
	}
	e->span_lines++;
}

/* Parity of the span: as many lines of each group as the rate asks for of the members it has. */
static void btb_put_span(struct fathom_btb_export *e)
{
	uint32_t members = e->groups ? (e->span_lines + e->groups - 1) / e->groups : 0;
	uint32_t rows = (members * e->percent + 99) / 100;

	if (rows > e->rows)
		rows = e->rows;
	/* Row by row, so that a burst takes lines of many groups rather than all of one. */
	for (uint32_t j = 0; j < rows; j++)
		for (uint32_t g = 0; g < e->groups && g < e->span_lines; g++)
			btb_put_parity(e, g, j,
				       e->parity + ((size_t)g * e->rows + j) * WIRE_BTB_LINE_WORDS);
	for (size_t i = 0; i < (size_t)e->groups * e->rows * WIRE_BTB_LINE_WORDS; i++)
		e->parity[i] = 0;
	e->span = e->block;
	e->span_lines = 0;
}

static void btb_put_block(struct fathom_btb_export *e, uint64_t id, const uint64_t *data,
			  uint32_t n, uint32_t flags)
{
	uint64_t line[WIRE_BTB_LINE_WORDS] = {id, n, flags, 0};

	for (uint32_t l = 0; l < WIRE_BTB_BLOCK_LINES; l++) {
		for (uint32_t i = 0; l && i < WIRE_BTB_LINE_WORDS; i++) {
			uint32_t at = (l - 1) * WIRE_BTB_LINE_WORDS + i;

			line[i] = at < n ? data[at] : 0;
			if (at < n && !flags)
				e->xored[at] ^= line[i];
		}
		btb_put_line(e, id, l * WIRE_BTB_LINE_WORDS, line);
		if (!flags)
			btb_protect(e, line);
	}
	e->write(e->arg, "\n", 1);
	e->sent_blocks++;
}

/* `--> btbs: 1312 bytes, 164 words, 1 full blocks`, and whether parity lines will follow */
static void btb_announce(struct fathom_btb_export *e, uint32_t words)
{
	char buf[96];
	struct fathom_text t;

	fathom_text_init(&t, buf, sizeof(buf));
	fathom_text_str(&t, "--> btbs: ");
	fathom_text_u64(&t, (uint64_t)words * 8, 0, ' ');
	fathom_text_str(&t, " bytes, ");
	fathom_text_u64(&t, words, 0, ' ');
	fathom_text_str(&t, " words, ");
	fathom_text_u64(&t, words / WIRE_BTB_BLOCK_DATA, 0, ' ');
	fathom_text_str(&t, e->groups ? " full blocks, parity\n" : " full blocks\n");
	btb_put(e, &t);
}

static void btb_put_section(struct fathom_btb_export *e)
{
	uint32_t n = fathom_btb_encode(e->words, e->nr, e->sorted, e->code);
	const uint64_t *w = n ? e->code : e->words;
	uint32_t room = e->groups * WIRE_BTB_GROUP_LINES, blocks;
	uint64_t first;

	n = n ? n : e->nr;
	blocks = (n + WIRE_BTB_BLOCK_DATA - 1) / WIRE_BTB_BLOCK_DATA;
	if (e->groups && e->span_lines + blocks * WIRE_BTB_BLOCK_LINES > room)
		btb_put_span(e);
	first = e->block;
	for (uint32_t i = 0; i < WIRE_BTB_BLOCK_DATA; i++)
		e->xored[i] = 0;
	btb_announce(e, n);
	for (uint32_t at = 0; at < n; at += WIRE_BTB_BLOCK_DATA)
		btb_put_block(e, e->block++, w + at,
			      n - at < WIRE_BTB_BLOCK_DATA ? n - at : WIRE_BTB_BLOCK_DATA, 0);
	btb_put_block(e, first, e->xored, n < WIRE_BTB_BLOCK_DATA ? n : WIRE_BTB_BLOCK_DATA,
		      WIRE_BTB_REDUNDANCY);
	e->nr = WIRE_BTB_SECTION_HEAD;
}

int fathom_btb_export_begin(struct fathom_btb_export *e, void *memory, size_t bytes,
			    uint32_t percent, uint64_t expect, fathom_write_fn write, void *arg)
{
	/* Half of what it would take uncompressed: traces shrink to a third, and more members a group cost nothing. */
	uint64_t enough = expect;
	uint64_t *w = memory;
	size_t left;

	if (!memory || (uintptr_t)memory % 8 || !write || percent > BTB_PERCENT_MAX)
		return -FATHOM_EINVAL;
	if (bytes < FATHOM_BTB_EXPORT_BYTES)
		return -FATHOM_ENOMEM;
	e->write = write;
	e->arg = arg;
	e->words = w;
	e->sorted = w + WIRE_BTB_SECTION_WORDS;
	e->code = w + 2 * WIRE_BTB_SECTION_WORDS;
	e->parity = w + 3 * WIRE_BTB_SECTION_WORDS;
	e->nr = WIRE_BTB_SECTION_HEAD;
	e->percent = percent;
	e->rows = FATHOM_BTB_ROWS(percent);
	left = bytes - FATHOM_BTB_EXPORT_BYTES;
	e->groups = percent ? (uint32_t)(left / FATHOM_BTB_GROUP_BYTES(percent)) : 0;
	if (e->groups > 0xffff)
		e->groups = 0xffff;
	if (percent && e->groups < BTB_GROUPS_MIN)
		return -FATHOM_ENOMEM;
	wire_div(&enough, WIRE_BTB_LINE_WORDS * 2 * WIRE_BTB_GROUP_LINES);
	enough += BTB_GROUPS_MIN;
	if (expect && e->groups > enough)
		e->groups = (uint32_t)enough;
	e->block = e->span = 0;
	e->span_lines = 0;
	e->sent_words = e->sent_blocks = 0;
	for (size_t i = 0; i < (size_t)e->groups * e->rows * WIRE_BTB_LINE_WORDS; i++)
		e->parity[i] = 0;
	return 0;
}

void fathom_btb_export_words(struct fathom_btb_export *e, const uint64_t *w, size_t n)
{
	e->sent_words += n;
	while (n--) {
		e->words[e->nr++] = *w++;
		if (e->nr == WIRE_BTB_SECTION_WORDS)
			btb_put_section(e);
	}
}

void fathom_btb_export_end(struct fathom_btb_export *e)
{
	if (e->nr > WIRE_BTB_SECTION_HEAD)
		btb_put_section(e);
	if (e->span_lines)
		btb_put_span(e);
}

void fathom_sampler_export(struct fathom_btb_export *e)
{
	const uint64_t *w;
	uint64_t n;

	if (!e->sent_words)
		fathom_sampler_describe();
	/* Twice a CPU, as its words may go round; the third call frees them, and what came meanwhile goes along. */
	for (uint32_t i = 0; i < fathom_core.nr_cpus; i++)
		for (uint32_t k = 0; k < 3 && (n = fathom_sampler_take(i, &w)); k++)
			fathom_btb_export_words(e, w, (size_t)n);
}

void fathom_sampler_export_end(struct fathom_btb_export *e)
{
	fathom_btb_export_end(e);
	fathom_sampler.described = 0; /* the next export is read by itself */
}
