/* SPDX-License-Identifier: MIT */
/* version.c -- fathom version: print the version. */
#include "cmd/cmd.h"

#include <stdio.h>

int cmd_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	puts("fathom " FATHOM_VERSION);
	return EXIT_OK;
}
