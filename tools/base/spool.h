/* SPDX-License-Identifier: MIT */
/* spool.h -- bytes that are collected first and read afterwards: in memory while they are few, then in a nameless file. */
#ifndef BASE_SPOOL_H
#define BASE_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* {0} is an empty one. */
struct spool {
	uint8_t *tail;	 /* bytes that are not in the file yet */
	uint64_t bytes;	 /* of all */
	uint64_t stored; /* in the file; the tail lies after them */
	size_t cap;	 /* of the tail */
	bool on_disk;	 /* there is a file */
	int fd;
	uint8_t *map;  /* all of it, after spool_finish() */
	size_t walked; /* of it, since it was let go */
};

/* Up to half a megabyte. Where the bytes lie, a multiple of 8, is stored in *at. 0 or a negative errno: no memory, no room on the
 * disk. */
int spool_append(struct spool *s, const void *bytes, size_t n, uint64_t *at);
/* Read or overwrite bytes that one call appended, or a part of them. 0 or a negative errno. */
int spool_read(const struct spool *s, uint64_t at, void *to, size_t n);
int spool_patch(struct spool *s, uint64_t at, const void *bytes, size_t n);
/* No more changes: all bytes lie at s->map. 0 or a negative errno. */
int spool_finish(struct spool *s);
/* A thread read this many bytes of the map: releases what lies in a file from time to time, as file_map_walked(). */
void spool_walk(struct spool *s, size_t n);
void spool_free(struct spool *s);

#endif
