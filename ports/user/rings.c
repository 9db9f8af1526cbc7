/* SPDX-License-Identifier: MIT */
/* rings.c -- rings=FILE: the rings lie in a file, so that they outlive a process that is killed. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fathom/save.h"
#include "port.h"

/*
 * The file is the memory given to fathom_init(), shared with the kernel's page cache, which writes it back whatever happens
 * to the process. `fathom record --from-memory FILE --kernel PROGRAM` reads it as it reads the memory of a dead kernel: a
 * beacon says where everything is.
 */
static int rings_fd = -1;
static void *rings_memory;
static size_t rings_bytes;

/* A file that is there may be what a killed process left: it is not overwritten. `rings` bytes get their room now. */
void *user_rings_map(const char *path, size_t bytes, size_t rings, int *err)
{
	void *memory = MAP_FAILED;
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	*err = 0;
	if (fd < 0) {
		*err = -errno;
		return NULL;
	}
	/* Without its room a page that is written first on a full disk would end the program. */
	if (ftruncate(fd, (off_t)bytes))
		*err = -errno;
	else
		*err = -posix_fallocate(fd, 0, (off_t)rings);
	if (!*err)
		memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		*err = *err ? *err : -errno;
		close(fd);
		unlink(path);
		return NULL;
	}
	rings_fd = fd;
	rings_memory = memory;
	rings_bytes = bytes;
	return memory;
}

/* After fathom_init() and before the first event. */
int user_rings_describe(void)
{
	return rings_fd < 0 ? 0 : fathom_beacon(1);
}

/* A child would write to the rings of its parent: it gets a copy. First thing after a fork. */
void user_rings_in_child(void)
{
	if (rings_fd < 0)
		return;
	mmap(rings_memory, rings_bytes, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, rings_fd, 0);
	close(rings_fd);
	rings_fd = -1;
}

/* All of it is in the trace: the file has done its work. The memory stays mapped. */
void user_rings_done(const char *path)
{
	if (rings_fd < 0)
		return;
	unlink(path);
	close(rings_fd);
	rings_fd = -1;
}
