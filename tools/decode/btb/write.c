/* SPDX-License-Identifier: MIT */
/* write.c -- what a backtracer capture can be written as: the steps of its own pipeline, and its texts. */
#include "decode/btb/write.h"
#include "decode/btb/text.h"
#include "decode/btb/load.h"
#include "base/diag.h"
#include "base/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CPUS_MAX 256

static int text_named(const char *name)
{
	for (int i = 0; i < BTB_FORMS; i++)
		if (!strcmp(name, btb_form_suffix[i]))
			return i;
	return -1;
}

static enum btb_stage stage_named(const char *to)
{
	return !strcmp(to, "cleaned")	   ? BTB_CLEANED
	       : !strcmp(to, "compressed") ? BTB_COMPRESSED
	       : !strcmp(to, "btb")	   ? BTB_PLAIN
					   : BTB_NONE;
}

/*
 * cleaned: control characters as `cat -v` shows them, then without `^[[<digits>m` and without `^M`. Bytes over 127 are
 * shown with `M-`, as there.
 */
static void put_clean_char(unsigned char c, FILE *out)
{
	if (c >= 128) {
		fputs("M-", out);
		c -= 128;
	}
	if (c == 127)
		fputs("^?", out);
	else if (c < 32 && c != '\t' && c != '\n')
		fprintf(out, "^%c", c + 64);
	else
		fputc_unlocked(c, out);
}

static void put_cleaned(const struct btb_file *f, FILE *out)
{
	const uint8_t *p = f->map, *end = p + f->map_bytes;

	while (p < end) {
		if (*p == '\r') {
			p++;
			continue;
		}
		if (*p == 27 && end - p > 2 && p[1] == '[') {
			const uint8_t *q = p + 2;

			while (q < end && *q >= '0' && *q <= '9')
				q++;
			if (q < end && *q == 'm') {
				p = q + 1;
				continue;
			}
		}
		if (*p >= 32 && *p < 127)
			fputc_unlocked(*p++, out);
		else
			put_clean_char(*p++, out);
	}
}

struct btb_writer {
	FILE *out;
	int run;
};

/* A section as it was sent; one that is not whole is cut at its first lost byte, and marked. */
static void put_section(void *arg, uint32_t run, const uint64_t *w, size_t n, size_t good)
{
	struct btb_writer *o = arg;
	uint64_t head[WIRE_BTB_SECTION_HEAD];
	size_t body;

	if (o->run >= 0 && run != (uint32_t)o->run)
		return;
	if (good == n) {
		fwrite(w, sizeof(*w), n, o->out);
		return;
	}
	if (good < WIRE_BTB_SECTION_HEAD || good < WIRE_BTB_SECTION_HEAD + w[2])
		return;
	memcpy(head, w, sizeof(head));
	body = good - WIRE_BTB_SECTION_HEAD - w[2];
	if (head[3] > body * 8) {
		head[3] = body * 8;
		head[0] |= WIRE_BTB_CUT;
	}
	fwrite(head, sizeof(*head), WIRE_BTB_SECTION_HEAD, o->out);
	fwrite(w + WIRE_BTB_SECTION_HEAD, sizeof(*w), good - WIRE_BTB_SECTION_HEAD, o->out);
}

/* The buffer: as it is, or where words are missing only the whole entries, so that lengths lead from one to the next. */
static int put_words(struct btb_file *f, FILE *out)
{
	struct btb b = {0};
	int err;

	if (!f->nr_cuts) {
		fwrite(f->btb.w, 8, f->btb.nr_words, out);
		return 0;
	}
	err = btb_parse(&b, f->btb.w, f->btb.nr_words, f->cuts, f->nr_cuts, f->path, &f->loss);
	if (err)
		return err;
	for (size_t i = 0; i < b.nr_entries; i++)
		fwrite(btb_entry_words(&b, &b.entries[i]), 8, btb_entry_words(&b, &b.entries[i])[1],
		       out);
	btb_free(&b);
	return 0;
}

/* base.SUFFIX -> base-<cpu>.SUFFIX */
static int put_cpu(const struct btb *b, struct btb_names *names, enum btb_form form,
		   const char *out, bool fresh, uint64_t cpu)
{
	const char *dot = strrchr(out, '.');
	struct output f;
	char path[4096];
	int err;

	snprintf(path, sizeof(path), "%.*s-%" PRIu64 "%s",
		 dot ? (int)(dot - out) : (int)strlen(out), out, cpu, dot ? dot : "");
	err = output_open(&f, path, fresh);
	if (!err) {
		btb_text_write(b, names, form, (int64_t)cpu, f.f);
		err = output_close(&f, 0);
	}
	return output_error(path, err);
}

static int put_texts(struct btb_file *f, enum btb_form form, const struct source_writing *w,
		     FILE *out)
{
	struct btb_names_options o = {.tables = w->options->symbols, .binaries = w->options->meta};
	struct btb_names *names = btb_names_open(&f->btb, f->path, &o);
	uint64_t cpus[CPUS_MAX];
	int err = 0;

	if (!names)
		return -ENOMEM;
	btb_text_write(&f->btb, names, form, -1, out);
	if (w->per_cpu && strcmp(w->out, "-")) {
		size_t n = btb_text_cpus(&f->btb, form, cpus, CPUS_MAX);

		for (size_t i = 0; i < n && !err; i++)
			err = put_cpu(&f->btb, names, form, w->out, w->fresh, cpus[i]);
	}
	btb_names_close(names);
	return err;
}

static int put(struct btb_file *f, const char *form, const struct source_writing *w, FILE *out)
{
	struct btb_writer to = {out, (int)w->options->run - 1};

	switch (stage_named(form)) {
	case BTB_CLEANED: put_cleaned(f, out); return 0;
	case BTB_COMPRESSED:
		return btb_console_read((const char *)f->map, f->map_bytes, true, put_section, &to,
					&f->loss);
	case BTB_PLAIN: return put_words(f, out);
	default: return put_texts(f, (enum btb_form)text_named(form), w, out);
	}
}

/* A step goes forward only; the buffer itself may be rewritten, without the damaged parts. */
static bool goes_back(const struct btb_file *f, enum btb_stage to)
{
	return to != BTB_NONE && f->stage >= to && !(f->stage == to && to == BTB_PLAIN);
}

static int load(struct btb_file *f, const char *form, const struct source_options *o)
{
	int run = (int)o->run - 1;

	if (stage_named(form) == BTB_NONE)
		return btb_load(f, run);
	return stage_named(form) == BTB_PLAIN ? btb_load_words(f, run) : 0;
}

static int write_form(struct source *s, const struct source_form *form,
		      const struct source_writing *w)
{
	struct output out;
	struct btb_file f;
	int err;

	(void)s;
	if (output_is_input(w->out, w->in))
		return -EINVAL;
	err = btb_open(&f, w->in);
	if (err)
		return err;
	if (goes_back(&f, stage_named(form->name))) {
		diag_error("%s: it is already %s, or a later step: cannot convert it to %s", w->in,
			   form->name, form->name);
		btb_close(&f);
		return -EINVAL;
	}
	err = load(&f, form->name, w->options);
	if (!err) {
		err = output_open(&out, w->out, w->fresh);
		if (!err)
			err = output_close(&out, put(&f, form->name, w, out.f));
		if (err == -ENODATA)
			diag_error("%s: it has no line of a backtracer (`>=< [id.offset] ...`)",
				   w->in);
		else
			output_error(w->out, err);
		btb_loss_report(&f.loss, w->in);
	}
	diag_flush();
	btb_close(&f);
	return err;
}

#define FORM(name, what)                            \
	{                                           \
		name, what, false, true, write_form \
	}

const struct source_form btb_forms[] = {
	FORM("cleaned", "backtracer: its lines without the console's"),
	FORM("compressed", "backtracer: the sections of its lines"),
	FORM("btb", "backtracer: the unpacked buffer"),
	FORM("interpreted", "backtracer: every entry as text"),
	FORM("btb_lines", "backtracer: the words of every entry, in hex"),
	FORM("folded", "backtracer: its stacks, one line for each"),
	FORM("histogram", "backtracer: samples by depth, and their cost"),
	FORM("durations", "backtracer: what each sample cost, and the time between"),
	{0},
};
