/* SPDX-License-Identifier: MIT */
/* spool.c -- bytes that are collected first and read afterwards. */
#include "base/spool.h"
#include "base/diag.h"
#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define IN_MEMORY (32u << 20) /* without a file */
#define IN_TAIL	  (1u << 20)  /* with one */

static int failed(void)
{
	int err = -errno;

	diag_error("cannot keep data in a temporary file (set TMPDIR to choose the folder): %s",
		   strerror(-err));
	return err;
}

/* Write the tail to the file, creating the file if needed. */
static int store(struct spool *s)
{
	uint64_t n = s->bytes - s->stored, done = 0;

	if (!s->on_disk && (s->fd = file_nameless()) < 0)
		return failed();
	s->on_disk = true;
	while (done < n) {
		ssize_t k = pwrite(s->fd, s->tail + done, n - done, (off_t)(s->stored + done));

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return failed();
		done += (uint64_t)k;
	}
	s->stored = s->bytes;
	return 0;
}

static int make_room(struct spool *s, size_t n)
{
	size_t used = (size_t)(s->bytes - s->stored), cap = s->cap ? s->cap : 65536;
	uint8_t *p;
	int err;

	if (used && n > (s->on_disk ? IN_TAIL : IN_MEMORY) - used) {
		err = store(s);
		if (err)
			return err;
		used = 0;
	}
	while (cap - used < n)
		cap *= 2;
	p = cap > s->cap ? realloc(s->tail, cap) : s->tail;
	if (!p)
		return -ENOMEM;
	s->tail = p;
	s->cap = cap;
	return 0;
}

int spool_append(struct spool *s, const void *bytes, size_t n, uint64_t *at)
{
	size_t whole = (n + 7) & ~(size_t)7;
	int err = n > IN_TAIL / 2 ? -EINVAL : make_room(s, whole);
	uint8_t *to;

	if (err)
		return err;
	to = s->tail + (s->bytes - s->stored);
	memcpy(to, bytes, n);
	memset(to + n, 0, whole - n);
	*at = s->bytes;
	s->bytes += whole;
	return 0;
}

int spool_read(const struct spool *s, uint64_t at, void *to, size_t n)
{
	if (at >= s->stored) {
		memcpy(to, s->tail + (at - s->stored), n);
		return 0;
	}
	return pread(s->fd, to, n, (off_t)at) == (ssize_t)n ? 0 : -EIO;
}

int spool_patch(struct spool *s, uint64_t at, const void *bytes, size_t n)
{
	if (at >= s->stored) {
		memcpy(s->tail + (at - s->stored), bytes, n);
		return 0;
	}
	return pwrite(s->fd, bytes, n, (off_t)at) == (ssize_t)n ? 0 : -EIO;
}

int spool_finish(struct spool *s)
{
	void *map;
	int err;

	if (!s->on_disk) {
		s->map = s->tail;
		return 0;
	}
	err = store(s);
	if (err)
		return err;
	free(s->tail);
	s->tail = NULL;
	map = mmap(NULL, s->bytes, PROT_READ, MAP_SHARED, s->fd, 0);
	if (map == MAP_FAILED)
		return failed();
	s->map = map;
	return 0;
}

void spool_walk(struct spool *s, size_t n)
{
	if (s->on_disk)
		file_map_walked(s->map, s->bytes, n, &s->walked);
}

void spool_free(struct spool *s)
{
	if (s->on_disk) {
		if (s->map)
			munmap(s->map, s->bytes);
		close(s->fd);
	}
	free(s->tail);
	*s = (struct spool){0};
}
