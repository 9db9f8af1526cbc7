/* SPDX-License-Identifier: MIT */
/* write.c -- what a seL4 trace can be written as: ftrace.bin with ftrace.meta, and fixed records. */
#include "decode/sel4/write.h"
#include "decode/sel4/fixed_write.h"
#include "decode/sel4/sel4.h"
#include "base/diag.h"
#include "base/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* OUT for the first, then the number before the suffix: ftrace.bin, ftrace-2.bin. */
static char *numbered(const char *out, size_t i)
{
	const char *suffix = source_suffix(out);
	size_t stem = strlen(out) - (*suffix ? strlen(suffix) + 1 : 0);
	char *path;

	if (!i)
		return strdup(out);
	return asprintf(&path, "%.*s-%zu%s", (int)stem, out, i + 1, out + stem) < 0 ? NULL : path;
}

static int write_file(const char *path, const void *data, size_t bytes)
{
	struct output out;
	int err = output_open(&out, path, false);

	if (!err) {
		fwrite(data, 1, bytes, out.f);
		err = output_close(&out, 0);
	}
	return output_error(path, err);
}

static int write_meta(const struct sel4_meta *m, const char *bin)
{
	char *path = sel4_path(bin, ".meta");
	struct output out;
	int err = path ? output_open(&out, path, false) : -ENOMEM;

	if (!err)
		err = output_close(&out, sel4_meta_write(m, "", out.f));
	output_error(path ? path : bin, err);
	free(path);
	return err;
}

static int write_bin(const struct sel4_trace *t, const char *path)
{
	struct sel4_meta meta = t->meta;
	uint64_t bytes = t->meta.raw_bytes ? t->meta.raw_bytes : t->nr_words * 2;
	int err;

	if (bytes > t->nr_words * 2 + 1)
		bytes = t->nr_words * 2;
	meta.raw_bytes = bytes;
	err = write_file(path, t->words, bytes);
	return err ? err : write_meta(&meta, path);
}

/* May the file `path` with `suffix` (which replaces its own, if asked) be written? Says why not. */
static bool free_place(const struct source *s, const char *path, const char *suffix, bool replace,
		       bool fresh)
{
	char *name = replace ? sel4_path(path, suffix) : NULL;
	bool good;

	if (!name && asprintf(&name, "%s%s", path, suffix) < 0)
		return false;
	good = !output_is_input(name, s->path) &&
	       (!fresh || access(name, F_OK) || !output_error(name, -EEXIST));
	free(name);
	return good;
}

/* All files that belong to one trace: none is written if one of them must not be. */
static bool all_free(const struct source *s, const char *path, bool bin, bool fresh)
{
	if (!free_place(s, path, "", false, fresh))
		return false;
	return bin ? free_place(s, path, ".meta", true, fresh)
		   : free_place(s, path, ".types", false, fresh) &&
			       free_place(s, path, ".meta", false, fresh);
}

static int write_all(struct source *s, const char *out, bool bin)
{
	struct sel4 *p = s->priv;
	int err = 0;

	for (size_t i = 0; i < p->nr && !err; i++) {
		char *path = numbered(out, i);

		if (!path)
			return -ENOMEM;
		if (bin)
			err = write_bin(&p->traces[i], path);
		else
			err = output_error(path, sel4_fixed_write(&p->traces[i], path));
		free(path);
	}
	return err;
}

/* What could not be read is not in the new files either: it is reported, place by place. */
static int report_damage(const struct source *s)
{
	for (size_t i = 0; i < s->nr_damage; i++)
		diag_at(s->path, s->damage[i].offset, "%s", s->damage[i].what);
	diag_flush();
	return s->damage_total ? -EIO : 0;
}

static int write_form(struct source *s, const struct source_form *form,
		      const struct source_writing *w)
{
	struct sel4 *p = s->priv;
	bool bin = !strcmp(form->name, "bin");
	int err;

	for (size_t i = 0; i < p->nr; i++) {
		char *path = numbered(w->out, i);
		bool good = path && all_free(s, path, bin, w->fresh);

		free(path);
		if (!good)
			return -EEXIST;
	}
	err = write_all(s, w->out, bin);
	return err ? err : report_damage(s);
}

const struct source_form sel4_forms[] = {
	{"bin", "seL4: the 16-bit stream, with its description beside it (ftrace.meta)", true,
	 false, write_form},
	{"idx", "seL4: fixed 16-byte records, ftrace.idx.types and ftrace.idx.meta", true, false,
	 write_form},
	{0},
};
