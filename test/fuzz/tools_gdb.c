/* SPDX-License-Identifier: MIT */
/* tools_gdb.c -- fuzz target: a stub of GDB's remote protocol that answers whatever it is asked with these bytes. */
#include "capture/gdb.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int each(void *arg, uint64_t at, uint64_t bytes)
{
	uint8_t first[16];

	return bytes && gdb_read(arg, at, first, sizeof(first)) == -EIO ? -1 : 0;
}

/* It reads what it is asked, and does not care. */
static void *listen_to(void *arg)
{
	char buf[4096];

	while (read(*(int *)arg, buf, sizeof(buf)) > 0)
		;
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t to[5000];
	unsigned signal = 0;
	pthread_t thread;
	struct gdb *g;
	int fd[2];

	if (size > 100000)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) || fcntl(fd[0], F_SETFL, O_NONBLOCK) ||
	    write(fd[1], data, size) != (ssize_t)size || shutdown(fd[1], SHUT_WR) ||
	    pthread_create(&thread, NULL, listen_to, &fd[1]))
		abort();
	g = gdb_attach(fd[0], "fuzz");
	if (g) {
		gdb_physical(g, true);
		gdb_ram(g, each, g);
		for (size_t n = 1; n <= sizeof(to) && !gdb_dead(g); n *= 3)
			gdb_read(g, n * 100, to, n);
		gdb_run(g);
		if (!gdb_dead(g) && gdb_wait(g, 0, &signal) <= 0)
			gdb_halt(g);
		gdb_close(g);
	}
	pthread_join(thread, NULL);
	close(fd[1]);
	return 0;
}
