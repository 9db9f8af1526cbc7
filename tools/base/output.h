/* SPDX-License-Identifier: MIT */
/* output.h -- a file that is written whole or not at all. */
#ifndef BASE_OUTPUT_H
#define BASE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Output is written under another name in the same folder until it is complete: a reader finds the old file or the new
 * one, never half of one, and a file may be overwritten while it is read. Written in place are "-" (stdout), anything that
 * is not an ordinary file (a pipe, /dev/null), and a file in a folder where no other can be created.
 */
struct output {
	FILE *f;
	char *path, *part; /* part: NULL if written in place */
	bool fresh;
	struct part *listed; /* a signal removes it */
	bool nameless;	     /* the part has no name yet: a program that is killed leaves nothing */
};

/* Opens for writing and reading. `fresh`: -EEXIST if there is such a file. 0 or a negative errno; says nothing. */
int output_open(struct output *o, const char *path, bool fresh);
/* Give it its name now, as it is: what is written from here on is written in place. 0 or a negative errno. */
int output_place(struct output *o);
/* `err` is the writer's result: the file is kept if it is 0 and everything was written. Returns it, or a negative errno. */
int output_close(struct output *o, int err);
/* Reports what went wrong with `path`; says nothing for 0 and for a reader that went away. Returns err. */
int output_error(const char *path, int err);
/* Is it the file being read? Reports that, as a command does not replace its input. */
bool output_is_input(const char *path, const char *in);

/*
 * For handlers of signals. Is a file being written? Remove what is not whole: SIGINT, SIGTERM, SIGHUP and SIGQUIT do so by
 * themselves where they have no handler, then end the program as they would have.
 */
bool output_pending(void);
void output_abandon(void);

/* DIR/NAME.SUFFIX for DIR/NAME.dat, trace.SUFFIX for a stream; to be freed. */
char *output_beside(const char *in, const char *suffix);

#endif
