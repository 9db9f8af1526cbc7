/* SPDX-License-Identifier: MIT */
/* program.h -- programs of bpftrace's language over a trace. */
#ifndef PROGRAM_PROGRAM_H
#define PROGRAM_PROGRAM_H

#include <stdio.h>

#include "store/scan.h"

struct program_options {
	const char *file, *text; /* the program's name, for messages, and its text */
	size_t bytes;
	char **parameters; /* $1 ... */
	uint32_t nr_parameters;
	const struct scan_choice *choice; /* which events there are for it */
	uint32_t threads;		  /* at most; 0: one per CPU */
	bool listing;			  /* print the compiled program instead of running it */
};

/* 0; -EINVAL: the program is wrong, which was said; or another negative errno. */
int program_run(struct source *s, const struct program_options *o, FILE *out);

#endif
