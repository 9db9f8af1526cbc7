/* SPDX-License-Identifier: MIT */
/* io.c -- bytes to a line that may be slow, and the clock that patience is measured by. */
#include "capture/io.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

int64_t io_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Without SIGPIPE: a lost target is an error, unlike a reader that closes our output. */
static ssize_t put_some(int fd, const void *from, size_t n)
{
	ssize_t put = send(fd, from, n, MSG_NOSIGNAL);

	return put < 0 && errno == ENOTSOCK ? write(fd, from, n) : put;
}

bool io_write_all(int fd, const void *from, size_t n, int64_t patience_ms)
{
	const uint8_t *at = from;
	int64_t last = io_now_ms();

	while (n) {
		ssize_t put = put_some(fd, at, n);

		if (put < 0 && (errno == EINTR || errno == EAGAIN)) {
			struct pollfd p = {fd, POLLOUT, 0};

			if (io_now_ms() - last > patience_ms)
				return false;
			poll(&p, 1, 100);
			continue;
		}
		if (put <= 0)
			return false;
		at += put;
		n -= (size_t)put;
		last = io_now_ms();
	}
	return true;
}
