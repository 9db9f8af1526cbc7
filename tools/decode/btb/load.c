/* SPDX-License-Identifier: MIT */
/* load.c -- open a backtracer capture at any of its stages. */
#include "decode/btb/load.h"
#include "base/vec.h"
#include "decode/source.h"
#include "base/diag.h"
#include "base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static bool looks_compressed(const uint64_t *w, size_t n)
{
	return n >= WIRE_BTB_SECTION_HEAD && btb_section_length(w, n) > WIRE_BTB_SECTION_HEAD;
}

/* The original's rule: a type, a length of 8 to 100 words, a time. */
static bool looks_plain(const uint64_t *w, size_t n)
{
	return n >= WIRE_BTB_ENTRY_HEAD && btb_type_index(w[0]) >= 0 &&
	       w[1] > WIRE_BTB_ENTRY_HEAD && w[1] < WIRE_BTB_ENTRY_MAX && w[2] > 0x10000;
}

enum btb_stage btb_stage_of(const char *path, const uint8_t *head, size_t bytes)
{
	const char *suffix = source_suffix(path);
	uint64_t w[WIRE_BTB_SECTION_HEAD];

	if (bytes >= sizeof(w)) {
		memcpy(w, head, sizeof(w));
		if (looks_compressed(w, WIRE_BTB_SECTION_HEAD))
			return BTB_COMPRESSED;
		if (looks_plain(w, WIRE_BTB_SECTION_HEAD))
			return BTB_PLAIN;
	}
	if (!strcmp(suffix, "traced"))
		return BTB_TRACED;
	if (!strcmp(suffix, "cleaned"))
		return BTB_CLEANED;
	if (!strcmp(suffix, "compressed"))
		return BTB_COMPRESSED;
	if (!strcmp(suffix, "btb"))
		return BTB_PLAIN;
	if (memmem(head, bytes, ">=< [", 5))
		return BTB_TRACED;
	return BTB_NONE;
}

int btb_open(struct btb_file *f, const char *path)
{
	int err;

	memset(f, 0, sizeof(*f));
	f->map = file_map(path, &f->map_bytes);
	f->path = strdup(path);
	if (!f->map || !f->path) {
		err = f->map ? ENOMEM : errno;
		diag_error("%s: %s", path,
			   err == EINVAL    ? "not a regular file"
			   : err == ENODATA ? "empty: nothing was captured"
					    : strerror(err));
		btb_close(f);
		return -err;
	}
	f->stage = btb_stage_of(path, f->map, f->map_bytes < 65536 ? f->map_bytes : 65536);
	return 0;
}

static void add_cut(struct btb_file *f)
{
	if (!VEC_ROOM(f->cuts, f->nr_cuts, f->cap_cuts))
		return;
	f->cuts[f->nr_cuts++] = f->words.n;
	f->loss.cut_sections++;
}

struct sink {
	struct btb_file *f;
	int run;
};

static void take_section(void *arg, uint32_t run, const uint64_t *w, size_t n, size_t good)
{
	struct sink *s = arg;
	bool cut;

	if (s->run >= 0 && run != (uint32_t)s->run)
		return;
	if (!btb_section_decode(w, n, good, &s->f->words, &cut))
		cut = true;
	if (cut)
		add_cut(s->f);
}

/* Sections back to back. One that makes no sense is skipped word by word. */
static int read_sections(struct btb_file *f)
{
	const uint64_t *w = (const uint64_t *)f->map;
	size_t n = f->map_bytes / 8, at = 0;

	if (f->map_bytes % 8)
		diag_at(f->path, n * 8, "the file ends inside a word");
	while (at < n) {
		size_t left = n - at, step;
		bool cut;

		step = btb_section_decode(w + at, left, left, &f->words, &cut);
		if (!step) {
			size_t from = at;

			while (at < n && !looks_compressed(w + at, n - at))
				at++;
			diag_at(f->path, from * 8, "no section header here; %zu words skipped",
				at - from);
			f->loss.lost_words += at - from;
			add_cut(f);
			continue;
		}
		f->loss.sections++;
		if (step > left) {
			diag_at(f->path, at * 8, "the section has %zu words, the file %zu", step,
				left);
			f->loss.lost_words += step - left;
			step = left;
			cut = true;
		}
		if (cut)
			add_cut(f);
		at += step;
	}
	return 0;
}

int btb_load_words(struct btb_file *f, int run)
{
	struct sink sink = {f, run};
	int err = 0;

	switch (f->stage) {
	case BTB_TRACED:
	case BTB_CLEANED:
		err = btb_console_read((const char *)f->map, f->map_bytes, true, take_section,
				       &sink, &f->loss);
		if (err == -ENODATA)
			diag_error("%s: it has no line of a backtracer (`>=< [id.offset] ...`)",
				   f->path);
		if (!err && run >= 0 && (uint64_t)run >= f->loss.runs) {
			diag_error("%s: there is no run %d: the log has %" PRIu64
				   ", counted from 0",
				   f->path, run, f->loss.runs);
			err = -EINVAL;
		}
		break;
	case BTB_COMPRESSED: err = read_sections(f); break;
	case BTB_PLAIN:
		f->btb.w = (const uint64_t *)f->map;
		f->btb.mapped = true;
		f->btb.nr_words = f->map_bytes / 8;
		return 0;
	case BTB_NONE:
		diag_error("%s: not a backtracer capture: neither `>=<` lines nor sections nor "
			   "entries",
			   f->path);
		err = -EINVAL;
		break;
	}
	f->btb.w = f->words.w;
	f->btb.mapped = f->words.filed;
	f->btb.nr_words = f->words.n;
	return err;
}

int btb_load(struct btb_file *f, int run)
{
	int err = btb_load_words(f, run);

	if (!err)
		err = btb_parse(&f->btb, f->btb.w, f->btb.nr_words, f->cuts, f->nr_cuts, f->path,
				&f->loss);
	f->parsed = !err;
	return err;
}

void btb_close(struct btb_file *f)
{
	if (f->parsed)
		btb_free(&f->btb);
	if (f->map)
		munmap((void *)f->map, f->map_bytes);
	btb_words_free(&f->words);
	free(f->cuts);
	free(f->path);
	memset(f, 0, sizeof(*f));
}

void btb_loss_report(const struct btb_loss *l, const char *path)
{
	if (l->bad_lines || l->joined_lines || l->rebuilt_words || l->rebuilt_lines ||
	    l->corrected_lines)
		diag_warn("%s: repaired: %" PRIu64 " damaged lines, %" PRIu64 " joined, %" PRIu64
			  " words rebuilt by XOR, %" PRIu64 " lines by parity, %" PRIu64
			  " wrong lines corrected",
			  path, l->bad_lines, l->joined_lines, l->rebuilt_words, l->rebuilt_lines,
			  l->corrected_lines);
	if (l->lost_words || l->cut_sections || l->skipped_words || l->xor_errors)
		diag_warn("%s: lost: %" PRIu64 " words in %" PRIu64 " of %" PRIu64
			  " sections; %" PRIu64 " words skipped; %" PRIu64
			  " words disagree with their XOR",
			  path, l->lost_words, l->cut_sections, l->sections, l->skipped_words,
			  l->xor_errors);
	if (l->runs > 1)
		diag_warn("%s: %" PRIu64 " runs in one log (choose one with --run N)", path,
			  l->runs);
}
