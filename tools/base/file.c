/* SPDX-License-Identifier: MIT */
/* file.c -- a small file as one piece of memory; a large map walked through a window. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define WINDOW (32u << 20)

char *file_load(const char *path, size_t max, size_t *bytes)
{
	size_t cap = 65536, n = 0;
	gzFile f = gzopen(path, "rbe");
	char *p = NULL;

	if (!f)
		return NULL;
	for (;;) {
		char *more = realloc(p, cap + 1);
		int got;

		if (!more)
			break;
		p = more;
		got = gzread(f, p + n, (unsigned)(cap - n));
		if (got < 0) {
			errno = errno ? errno : EIO;
			break;
		}
		n += (size_t)got;
		if (n < cap) {
			gzclose(f);
			p[n] = 0;
			*bytes = n;
			return p;
		}
		if (cap >= max) {
			errno = EFBIG;
			break;
		}
		cap = cap * 2 < max ? cap * 2 : max + 1;
	}
	gzclose(f);
	free(p);
	return NULL;
}

char *file_join(const char *dir, const char *name)
{
	char *p;

	return asprintf(&p, "%s/%s", dir, name) < 0 ? NULL : p;
}

const void *file_map(const char *path, size_t *bytes)
{
	struct stat st;
	void *map = MAP_FAILED;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st))
		err = errno;
	else if (!S_ISREG(st.st_mode) || !st.st_size)
		err = S_ISREG(st.st_mode) ? ENODATA : EINVAL;
	else
		err = (map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) ==
				      MAP_FAILED
			      ? errno
			      : 0;
	close(fd);
	errno = err;
	*bytes = err ? 0 : (size_t)st.st_size;
	return err ? NULL : map;
}

char *file_load_in(const char *dir, const char *name, size_t max, size_t *bytes)
{
	char *path = file_join(dir, name), *text = path ? file_load(path, max, bytes) : NULL;
	char *gz = NULL;

	if (!text && path && asprintf(&gz, "%s.gz", path) >= 0)
		text = file_load(gz, max, bytes);
	free(path);
	free(gz);
	return text;
}

void file_map_walked(const void *map, size_t map_bytes, size_t bytes, size_t *since)
{
	if (__atomic_add_fetch(since, bytes, __ATOMIC_RELAXED) < WINDOW)
		return;
	__atomic_store_n(since, 0, __ATOMIC_RELAXED);
	madvise((void *)(uintptr_t)map, map_bytes, MADV_DONTNEED);
}

int file_nameless(void)
{
	const char *dir = getenv("TMPDIR");
	char *path = NULL;
	int fd;

	if (!dir || !*dir)
		dir = "/var/tmp";
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	/* Not every file system supports nameless files. */
	if (asprintf(&path, "%s/fathom.XXXXXX", dir) < 0)
		return -1;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	free(path);
	return fd;
}

bool file_is_stream(const char *path)
{
	struct stat st;

	return (strcmp(path, "-") ? stat(path, &st) : fstat(STDIN_FILENO, &st)) == 0 &&
	       (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

int file_open(const char *path)
{
	return strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC)
				 : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
}

int file_write(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno != EINTR)
			return -errno;
		if (done > 0) {
			p += done;
			n -= (size_t)done;
		}
	}
	return 0;
}

int file_spool(int pipe)
{
	static char part[1u << 16];
	int fd = file_nameless(), err;
	ssize_t n = 0;

	if (fd < 0)
		return -1;
	do {
		n = read(pipe, part, sizeof(part));
		if (n > 0 && file_write(fd, part, (size_t)n))
			break;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (!n)
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}
