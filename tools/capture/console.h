/* SPDX-License-Identifier: MIT */
/* console.h -- a target's console on this terminal, without the frames that share its line. */
#ifndef CAPTURE_CONSOLE_H
#define CAPTURE_CONSOLE_H

#include <stdbool.h>
#include <stdint.h>

struct console_options {
	const char *target;
	bool echo; /* the target does not: leave each line where it was typed */
	uint32_t
		silent_s; /* end once the input has ended and the line was silent for this long; 0: never */
};

/* Until a person leaves, a signal comes, or the target hangs up: -1 then, and if it cannot be opened, with a message; else 0. */
int console_run(const struct console_options *o);

#endif
