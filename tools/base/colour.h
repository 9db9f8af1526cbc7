/* SPDX-License-Identifier: MIT */
/* colour.h -- colours on a terminal, and nowhere else. */
#ifndef BASE_COLOUR_H
#define BASE_COLOUR_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COLOUR_BOLD "\033[1m"
#define COLOUR_RED  "\033[31m"
#define COLOUR_NAME "\033[36m" /* of events */
#define COLOUR_OFF  "\033[0m"

/* Does the reader of the descriptor want colours? https://no-color.org */
static inline bool colour_wanted(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

#endif
