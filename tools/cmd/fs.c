/* SPDX-License-Identifier: MIT */
/* fs.c -- fathom fs: files of a target's control tree, without a mount. */
#include "capture/fs.h"
#include "cmd/cmd.h"
#include "cmd/options.h"

#include <string.h>

static const struct option_spec own[] = {{0}};

static const struct command_spec spec = {
	.name = "fs",
	.args = "TARGET ls|cat|write|append|mkdir|rmdir|tree [PATH] [TEXT]",
	.about = "The files of a target's control tree without a mount. TARGET as in fathom "
		 "mount.\n\n"
		 "  ls [PATH]          the names in a directory\n"
		 "  cat PATH...        the content of files\n"
		 "  write PATH TEXT    as `>` does\n"
		 "  append PATH TEXT   as `>>` does\n"
		 "  mkdir|rmdir PATH   make or remove an instance\n"
		 "  tree               the whole tree",
	.own = own,
	.shared = OPTIONS_NONE,
	.runs_command = true,
};

static int wrong_words(void)
{
	diag_error("fs: %s is required; see --help", spec.args);
	return EXIT_USAGE;
}

int cmd_fs(int argc, char **argv)
{
	struct options line;
	struct p9 *c;
	char **words;
	int n = 0, ret = options_parse(&spec, argc, argv, &line);

	if (ret != OPTIONS_GO)
		return ret;
	words = line.command;
	while (words && words[n])
		n++;
	if (n < 2)
		return wrong_words();
	c = p9_connect(words[0]);
	if (!c)
		return EXIT_FAIL;
	ret = fs_run(c, n - 1, words + 1);
	p9_close(c);
	if (ret < 0)
		diag_error("%s: %s: %s", words[0], n > 2 ? words[2] : words[1], strerror(-ret));
	return ret < 0 ? EXIT_FAIL : ret ? wrong_words() : EXIT_OK;
}
