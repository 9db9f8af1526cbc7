/* SPDX-License-Identifier: MIT */
/* live.h -- a program inside a live target: what it needs of the target's control tree. */
#ifndef PROGRAM_LIVE_H
#define PROGRAM_LIVE_H

#include "program/program.h"

/* The target's tree. Calls return 0 or a count, or a negative errno. Paths have no `/` at the front. */
struct live_tree {
	void *arg;
	const char *target; /* for messages */
	bool process;	    /* its stack is the user's */
	/* A whole file with a NUL after it, to be freed; NULL with *err set. */
	char *(*load)(void *arg, const char *path, int *err);
	int (*store)(void *arg, const char *path, const void *data, size_t bytes);
	int (*make)(void *arg, const char *path);
	int (*remove)(void *arg, const char *path);
	/* What the program emits: opened once, read without waiting (-EAGAIN). */
	int (*events_open)(void *arg, const char *path);
	ssize_t (*events_read)(void *arg, void *buf, size_t bytes);
	/* Wait at most this long; true: the program is to end. */
	bool (*wait)(void *arg, int64_t ms);
};

/*
 * Compile for the target whose formats and symbols `s` has, load, attach, print what comes, and at the end take everything
 * back. `seconds` 0: until the program calls exit() or tree->wait() says so. As program_run().
 */
int live_run(struct source *s, const struct program_options *o, const struct live_tree *tree,
	     uint32_t seconds, FILE *out);

#endif
