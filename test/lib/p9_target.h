/* SPDX-License-Identifier: MIT */
/* p9_target.h -- a 9P target that answers each request with the next of some bytes, whatever they are; tag 0 is the request's. */
#ifndef TEST_P9_TARGET_H
#define TEST_P9_TARGET_H

#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/p9.h"

struct p9_target {
	int pair[2]; /* 0 is for the client */
	uint8_t *answers;
	size_t bytes, at;
	int patience_ms; /* without a request for so long, the target hangs up */
	pthread_t thread;
};

static inline int p9_target_take(int fd, uint8_t *to, size_t n)
{
	while (n) {
		ssize_t got = read(fd, to, n);

		if (got <= 0)
			return -1;
		to += got;
		n -= (size_t)got;
	}
	return 0;
}

/* The request's tag, or -1. */
static inline int p9_target_request(int fd, int patience_ms)
{
	struct pollfd p = {fd, POLLIN, 0};
	static __thread uint8_t body[1 << 16];
	uint8_t head[4];
	uint32_t size;

	if (poll(&p, 1, patience_ms) <= 0 || p9_target_take(fd, head, 4))
		return -1;
	size = wire_p9_get(head, 4);
	if (size < 7 || size > sizeof(body) || p9_target_take(fd, body, size - 4))
		return -1;
	return (int)wire_p9_get(body + 1, 2);
}

/* The next answer: as many bytes as it claims; all that is left where it claims too many or too few. */
static inline size_t p9_target_length(const struct p9_target *t)
{
	size_t left = t->bytes - t->at, n = left < 4 ? left : wire_p9_get(t->answers + t->at, 4);

	return n < 4 || n > left ? left : n;
}

static inline void *p9_target_run(void *arg)
{
	struct p9_target *t = arg;
	int tag;

	while (t->at < t->bytes && (tag = p9_target_request(t->pair[1], t->patience_ms)) >= 0) {
		size_t n = p9_target_length(t);

		if (n >= 7 && !wire_p9_get(t->answers + t->at + 5, 2))
			wire_p9_put(t->answers + t->at + 5, (uint32_t)tag, 2);
		while (n) {
			ssize_t put = send(t->pair[1], t->answers + t->at, n, MSG_NOSIGNAL);

			if (put <= 0)
				break;
			t->at += (size_t)put;
			n -= (size_t)put;
		}
		if (n)
			break;
	}
	shutdown(t->pair[1], SHUT_RDWR);
	return NULL;
}

static inline void p9_target_start(struct p9_target *t, uint8_t *answers, size_t bytes,
				   int patience_ms)
{
	*t = (struct p9_target){.answers = answers, .bytes = bytes, .patience_ms = patience_ms};
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, t->pair) ||
	    pthread_create(&t->thread, NULL, p9_target_run, t))
		abort();
}

/* After the client has closed its end. */
static inline void p9_target_end(struct p9_target *t)
{
	pthread_join(t->thread, NULL);
	close(t->pair[1]);
}

#endif
