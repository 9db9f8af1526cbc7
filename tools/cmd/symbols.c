/* SPDX-License-Identifier: MIT */
/* symbols.c -- fathom symbols save: keep the names of a trace with it, for when the binaries are gone. */
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "view/export.h"

#include <stdlib.h>
#include <string.h>

static const char *output;
static struct options o;

static const struct option_spec own[] = {
	{"output", 'o', "DIR", "the folder (default: FILE without its suffix)", OPTION_STRING,
	 &output, NULL},
	{"binaries", 0, "LIST",
	 "`NAME: PATH` lines: where the binaries are (default: binaries.list beside FILE)",
	 OPTION_STRING, &o.source.meta, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "symbols",
	.args = "save FILE",
	.about = "Write the symbols that FILE needs into a folder beside it, so that it can be "
		 "read later and elsewhere\nwithout the binaries. A trace of several programs gets "
		 "a table NAME.symt for each binary, with its\nbuild-id; every command finds them "
		 "there. Any other trace gets a file of kallsyms, for --symbols.",
	.own = own,
	.shared = OPTIONS_SOURCE,
	.min_args = 2,
	.max_args = 2,
};

int cmd_symbols(int argc, char **argv)
{
	int rc = options_parse(&spec, argc, argv, &o);
	const char *path, *dot;
	struct source *s;
	char *made = NULL;

	if (rc != OPTIONS_GO)
		return rc;
	if (strcmp(o.args[0], "save")) {
		diag_error("symbols: takes `save FILE`; see `fathom help symbols`");
		return EXIT_USAGE;
	}
	path = o.args[1];
	dot = strrchr(path, '.');
	if (!output &&
	    !(output = made = dot && !strchr(dot, '/') ? strndup(path, (size_t)(dot - path))
						       : strdup(path)))
		return EXIT_FAIL;
	rc = EXIT_FAIL;
	if (!source_open(path, &o.source, &s)) {
		rc = export_symbols(s, output) ? EXIT_FAIL : EXIT_OK;
		source_close(s);
	}
	free(made);
	options_close(&o);
	return rc;
}
