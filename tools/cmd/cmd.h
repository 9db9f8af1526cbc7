/* SPDX-License-Identifier: MIT */
/* cmd.h -- what every subcommand file defines. */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FATHOM_VERSION "0.1.0"

/* Exit codes of the program. */
enum {
	EXIT_OK = 0,
	EXIT_FAIL = 1,	/* the work could not be completed */
	EXIT_USAGE = 2, /* the command line was wrong */
};

/* argv[0] is the subcommand's name. Returns an exit code. */
#define COMMAND(name, help) int cmd_##name(int argc, char **argv);
#define GROUP(what)
#include "cmd/commands.h"
#undef GROUP
#undef COMMAND

#endif
