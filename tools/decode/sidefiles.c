/* SPDX-License-Identifier: MIT */
/* sidefiles.c -- files that an option names beside the trace: each is used, or it is an error. */
#include "base/diag.h"
#include "base/file.h"
#include "decode/names/elf.h"
#include "decode/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIDE_MAX (256u << 20)

/* An option that would change nothing is a mistake that its user should hear of. */
static int check(const struct source *s, const char *option, const char *path, unsigned kind)
{
	if (!path)
		return 0;
	if (access(path, R_OK)) {
		int err = errno;

		diag_error("%s %s: %s", option, path, strerror(err));
		return -err;
	}
	if (s->ops->takes & kind)
		return 0;
	diag_error("%s: %s does not apply to a trace of the format %s; omit it", s->path, option,
		   s->ops->name);
	return -EINVAL;
}

int sidefiles_check(const struct source *s, const struct source_options *o)
{
	int err = check(s, "--symbols", o->symbols, SOURCE_TAKES_SYMBOLS | SOURCE_TAKES_TABLES);

	if (!err)
		err = check(s, "--cmdlines", o->cmdlines, SOURCE_TAKES_CMDLINES);
	if (!err)
		err = check(s, "--formats", o->formats, SOURCE_TAKES_FORMATS);
	if (!err)
		err = check(s, "--types", o->types, SOURCE_TAKES_SYMBOLS);
	return err ? err : check(s, "--meta", o->meta, SOURCE_TAKES_META);
}

static int load_symbols(struct source *s, const char *path)
{
	size_t bytes;
	char *text;

	if (elf_is(path)) {
		elf_add_symbols(s->symbols, path, "");
		protos_add_file(s->protos, path, s->long_bytes); /* if it has types too */
	} else {
		text = file_load(path, SIDE_MAX, &bytes);
		if (!text) {
			diag_error("--symbols %s: %s", path, strerror(errno));
			return -errno;
		}
		symbols_add_kallsyms(s->symbols, text, bytes);
		free(text);
	}
	if (symbols_count(s->symbols))
		return 0;
	diag_error("--symbols %s: it has no symbols; expected kallsyms, System.map or an ELF file "
		   "with a symbol table",
		   path);
	return -ENODATA;
}

static int load_cmdlines(struct source *s, const char *path)
{
	size_t bytes;
	char *text = file_load(path, SIDE_MAX, &bytes);

	if (!text) {
		diag_error("--cmdlines %s: %s", path, strerror(errno));
		return -errno;
	}
	tasks_add_cmdlines(s->tasks, text, bytes);
	free(text);
	return 0;
}

static int load_types(struct source *s, const char *path)
{
	int err = protos_add_file(s->protos, path, s->long_bytes);

	if (err == -ENOENT || err == -EINVAL)
		diag_error("--types %s: it has no types; expected an ELF file with DWARF "
			   "(compiled with -g) or BTF, as /sys/kernel/btf/vmlinux",
			   path);
	else if (err)
		diag_error("--types %s: %s", path, strerror(-err));
	return err;
}

int sidefiles_load(struct source *s, const struct source_options *o)
{
	int err = 0;

	if (o->symbols && s->ops->takes & SOURCE_TAKES_SYMBOLS) {
		err = load_symbols(s, o->symbols);
		s->given_symbols = true;
	}
	if (!err && o->types)
		err = load_types(s, o->types);
	if (!err && o->cmdlines) {
		err = load_cmdlines(s, o->cmdlines);
		s->given_cmdlines = true;
	}
	return err;
}
