/* SPDX-License-Identifier: MIT */
/* console.c -- fathom console: a target's console on this terminal. */
#include "base/diag.h"
#include "capture/console.h"
#include "capture/gdb.h"
#include "capture/p9.h"
#include "cmd/cmd.h"
#include "cmd/options.h"

#include <string.h>

#define SILENT_MAX_S 86400

static bool echo;
static uint64_t silent_s;

static const struct option_spec own[] = {
	{"echo", 0, NULL, "the target does not echo: leave each line where it was typed",
	 OPTION_FLAG, &echo, NULL},
	{"time", 0, "SECONDS", "end once the input has ended and the line was silent for so long",
	 OPTION_NUMBER, &silent_s, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "console",
	.args = "TARGET",
	.about = "The console of a target whose line carries it, with or without frames of a "
		 "trace between.\n"
		 "Lines are edited here and sent when they are complete; ctrl-] leaves. TARGET as "
		 "in fathom\n"
		 "mount, but no pid. Without a terminal, bytes go both ways as they are.",
	.own = own,
	.shared = OPTIONS_NONE,
	.runs_command = true,
};

int cmd_console(int argc, char **argv)
{
	struct console_options c = {0};
	struct options line;
	int rc = options_parse(&spec, argc, argv, &line);

	if (rc != OPTIONS_GO)
		return rc;
	if (!line.command || line.command[1]) {
		diag_error("console: %s is required; see --help", spec.args);
		return EXIT_USAGE;
	}
	if (silent_s > SILENT_MAX_S) {
		diag_error("console: --time takes up to %d seconds", SILENT_MAX_S);
		return EXIT_USAGE;
	}
	c.target = line.command[0];
	c.echo = echo;
	c.silent_s = (uint32_t)silent_s;
	if (p9_is_process(c.target) || !strncmp(c.target, GDB_TARGET, strlen(GDB_TARGET))) {
		diag_error("%s: has no console; its line is a socket or a serial device", c.target);
		return EXIT_USAGE;
	}
	return console_run(&c) ? EXIT_FAIL : EXIT_OK;
}
