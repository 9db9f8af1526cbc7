/* SPDX-License-Identifier: MIT */
/* symbols.c -- fathom symbols save: keep the names of a trace with it, for when the binaries are gone. */
#include "cmd/cmd.h"
#include "decode/btb/load.h"
#include "decode/btb/names.h"
#include "decode/source.h"
#include "base/diag.h"
#include "base/output.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"usage: fathom symbols save [OPTIONS] FILE\n"
	"\n"
	"Write the symbols that FILE needs into a folder beside it, so that it can be read later "
	"and elsewhere\n"
	"without the binaries. Of a backtracer capture: a table NAME.symt of each binary, with its "
	"build-id; every\n"
	"command finds them there by itself. Of any other trace: kallsyms, to be given with "
	"--symbols.\n"
	"\n"
	"  -o, --output DIR      the folder (default: FILE without its suffix)\n"
	"      --binaries LIST   `NAME: PATH` lines: where the binaries are (default: "
	"binaries.list beside FILE)\n"
	"      --symbols FILE    where symbols come from, if the trace has none\n";

static const struct option options[] = {
	{"output", required_argument, NULL, 'o'},
	{"binaries", required_argument, NULL, 'b'},
	{"symbols", required_argument, NULL, 's'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int save_capture(struct btb_file *f, const char *dir, const struct btb_names_options *o)
{
	struct btb_names *names = btb_load(f, -1) ? NULL : btb_names_open(&f->btb, f->path, o);
	size_t n = names ? btb_names_save(names, dir) : 0;

	btb_names_close(names);
	if (n)
		fprintf(stderr, "%s: tables of %zu binaries\n", dir, n);
	return n ? EXIT_OK : EXIT_FAIL;
}

static int save_source(const char *path, const char *dir, const char *symbols)
{
	struct source_options o = {.symbols = symbols};
	struct source *s;
	struct symbol sym;
	struct output out;
	char *name = NULL;
	size_t n = 0;
	int err;

	if (source_open(path, &o, &s))
		return EXIT_FAIL;
	source_want_names(s);
	err = asprintf(&name, "%s.kallsyms", dir) < 0 ? -ENOMEM : output_open(&out, name, false);
	if (!err) {
		for (; symbols_at(s->symbols, n, &sym); n++)
			fprintf(out.f, "%016" PRIx64 " t %s%s%s%s\n", sym.start, sym.name,
				*sym.module ? "\t[" : "", sym.module, *sym.module ? "]" : "");
		err = output_close(&out, n ? 0 : -ENODATA);
	}
	source_close(s);
	if (!err)
		fprintf(stderr, "%s: %zu symbols\n", name, n);
	else if (err == -ENODATA)
		diag_error("%s: it has no symbols", path);
	else
		output_error(name ? name : dir, err);
	free(name);
	return err ? EXIT_FAIL : EXIT_OK;
}

int cmd_symbols(int argc, char **argv)
{
	struct btb_names_options names = {0};
	const char *dir = NULL, *symbols = NULL, *path, *dot;
	struct btb_file f;
	char *made = NULL;
	int opt, rc;

	optind = 1;
	while ((opt = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		switch (opt) {
		case 'o': dir = optarg; break;
		case 'b': names.binaries = optarg; break;
		case 's': names.tables = symbols = optarg; break;
		case 'h': fputs(help, stdout); return EXIT_OK;
		default: return EXIT_USAGE;
		}
	}
	if (argc - optind != 2 || strcmp(argv[optind], "save")) {
		diag_error("symbols: it takes `save FILE`");
		fputs("        `fathom help symbols` tells more\n", stderr);
		return EXIT_USAGE;
	}
	path = argv[optind + 1];
	dot = strrchr(path, '.');
	if (!dir && !(dir = made = dot && !strchr(dot, '/') ? strndup(path, (size_t)(dot - path))
							    : strdup(path)))
		return EXIT_FAIL;
	if (btb_open(&f, path)) {
		free(made);
		return EXIT_FAIL;
	}
	rc = f.stage != BTB_NONE ? save_capture(&f, dir, &names) : save_source(path, dir, symbols);
	btb_close(&f);
	free(made);
	return rc;
}
