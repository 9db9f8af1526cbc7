/* SPDX-License-Identifier: MIT */
/* tree.h -- a control tree as files: over 9P, or in a directory where one is mounted. */
#ifndef CAPTURE_TREE_H
#define CAPTURE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tree;

/* TARGET as in p9_connect(), or a directory: `fathom mount`'s, or the tracefs of this machine. NULL with a message. */
struct tree *tree_open(const char *target);
void tree_close(struct tree *t);
/* This machine's own tracefs. */
bool tree_is_local(const struct tree *t);
/* On a line, where every byte counts (p9_attach_line()). */
bool tree_is_framed(const struct tree *t);
/* 0, or -EBUSY: another recorder has it. Until tree_close(). */
int tree_claim(struct tree *t);
/* The target went away, or no longer answers. */
bool tree_is_dead(const struct tree *t);
/* As p9_stop_when() and p9_patience(); a directory's calls do not wait for a target. */
void tree_stop_when(struct tree *t, bool (*told_to_stop)(void));
void tree_patience(struct tree *t, int64_t silent_ms, int64_t flush_ms);

/* Calls return 0 or a count, or a negative errno value. Paths have no `/` at the front. */

/*
 * A whole file, NUL-terminated, at most `max` bytes: NULL with *err set. Freed by the caller. Of this machine's tracefs
 * `kallsyms` is the one in /proc.
 */
char *tree_load(struct tree *t, const char *path, size_t max, size_t *bytes, int *err);
/* As `echo TEXT > PATH` and `echo TEXT >> PATH` do. */
int tree_write(struct tree *t, const char *path, const char *text);
int tree_append(struct tree *t, const char *path, const char *text);
/* Any bytes, in as many writes as it takes. */
int tree_store(struct tree *t, const char *path, const void *data, size_t bytes, bool truncate);
/* As `> PATH` does. */
int tree_clear(struct tree *t, const char *path);

int tree_mkdir(struct tree *t, const char *path);
int tree_rmdir(struct tree *t, const char *path);

/* A list of names that grows. */
struct tree_names {
	char **name;
	size_t nr;
};
int tree_names_add(struct tree_names *l, const char *name); /* 0 or -ENOMEM */
void tree_names_free(struct tree_names *l);

typedef int (*tree_each_fn)(void *arg, const char *name, bool is_dir);
int tree_list(struct tree *t, const char *path, tree_each_fn each, void *arg);

/* An open file; reads do not wait: -EAGAIN. `at` counts only over 9P, and there not for streams. */
struct tree_file {
	struct p9 *p9;
	uint32_t fid;
	int fd;
};
int tree_file_open(struct tree *t, const char *path, struct tree_file *f);
ssize_t tree_file_read(const struct tree_file *f, void *buf, size_t bytes, uint64_t at);
void tree_file_close(const struct tree_file *f);

#endif
