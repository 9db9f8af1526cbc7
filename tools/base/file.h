/* SPDX-License-Identifier: MIT */
/* file.h -- a small file as one piece of memory; a large map walked through a window. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The whole file, gunzipped if it is a .gz, with a NUL after it; to be freed. NULL with errno set; EFBIG if it is larger
 * than `max`.
 */
char *file_load(const char *path, size_t max, size_t *bytes);
/* A regular file, mapped to be read; to be unmapped. NULL with errno set: EINVAL if it is not a file, ENODATA if it is empty. */
const void *file_map(const char *path, size_t *bytes);
/* DIR/NAME, or DIR/NAME.gz. */
char *file_load_in(const char *dir, const char *name, size_t max, size_t *bytes);
/*
 * `bytes` more of a map were walked, in any order: all its pages are let go once a window of bytes has been, so that
 * a file larger than memory passes through it. They stay in the page cache. *since is 0 at first, and threads may share
 * it. For shared and read-only maps alone: what a private one changed would be lost.
 */
void file_map_walked(const void *map, size_t map_bytes, size_t bytes, size_t *since);
/* An empty file without a name, in $TMPDIR or /var/tmp, that is gone once it is closed; -1 with errno set. */
int file_nameless(void);
/* Writes all bytes, with as many calls as it takes. 0 or a negative errno. */
int file_write(int fd, const void *bytes, size_t n);
/* Opens a file for reading; "-" is the standard input. -1 with errno set. */
int file_open(const char *path);
/* Can it be read only once, like a pipe? */
bool file_is_stream(const char *path);
/* Copies the rest of a pipe into a nameless file. */
int file_spool(int pipe);
/* "a/b" of two parts; to be freed. */
char *file_join(const char *dir, const char *name);

#endif
