/* SPDX-License-Identifier: MIT */
/* answer_options.h -- what commands that answer from the model take alike. */
#ifndef CMD_ANSWER_OPTIONS_H
#define CMD_ANSWER_OPTIONS_H

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "model/walk.h"

#define ANSWER_PAIRS 32

struct answer_options {
	struct options o;
	char *pairs; /* as given, joined by "; " */
	struct model_pair pair[ANSWER_PAIRS];
	size_t nr_pairs;
};

#define ANSWER_OPTIONS(a)                                                                   \
	{                                                                                   \
		"pair", 'p', "A=B:KEY",                                                     \
			"spans from event A to event B with the same field KEY (the task)", \
			OPTION_JOINED, &(a).pairs, NULL                                     \
	}

/* Take the pairs apart. False with a message. */
bool answer_pairs(struct answer_options *a);
/* What model_walk() is to do, after options_open(). */
void answer_walk(struct answer_options *a, struct model_walk *w, struct progress *bar);
void answer_close(struct answer_options *a);

#endif
