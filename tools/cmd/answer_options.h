/* SPDX-License-Identifier: MIT */
/* answer_options.h -- commands that answer from the model: the options they share, and how they run. */
#ifndef CMD_ANSWER_OPTIONS_H
#define CMD_ANSWER_OPTIONS_H

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "model/walk.h"

/* What the command's print() is given. */
struct answer {
	struct options o;
	struct model_walk walk;
	const char *bold, *plain; /* of a terminal, or "" */
};

extern struct option_call answer_add_pair;
#define ANSWER_PAIR                                                                         \
	{                                                                                   \
		"pair", 'p', "A=B:KEY",                                                     \
			"spans from event A to event B with the same field KEY (the task)", \
			OPTION_CALL, &answer_add_pair, NULL                                 \
	}

/* The kind of span with this name, of those in `allowed` (1 << kind; SPAN_KINDS is named "off"). -1 with a message. */
int answer_kind(const char *name, size_t bytes, uint32_t allowed);
/*
 * Parse the command line, open the trace and print the answer. print() returns 0, EXIT_USAGE after its own message, or
 * a negative errno: -EINVAL after its own message, -ENODATA if the trace has nothing of the kind, which `nothing` says.
 */
int answer_run(const struct command_spec *spec, int argc, char **argv,
	       int (*print)(struct source *s, struct answer *a), const char *nothing);

#endif
