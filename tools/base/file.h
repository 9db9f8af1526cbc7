/* SPDX-License-Identifier: MIT */
/* file.h -- a small file as one piece of memory. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>

/*
 * The whole file, gunzipped if it is a .gz, with a NUL behind it; to be freed. NULL with errno set; EFBIG if it is larger
 * than `max`.
 */
char *file_load(const char *path, size_t max, size_t *bytes);
/* DIR/NAME, or DIR/NAME.gz. */
char *file_load_in(const char *dir, const char *name, size_t max, size_t *bytes);
/* "a/b" of two parts; to be freed. */
char *file_join(const char *dir, const char *name);

#endif
