/* SPDX-License-Identifier: MIT */
/* noisy.c -- a process whose tree is at the end of a bad line: it drops, doubles and flips 1 byte in 500 each way, and has console text. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#define CREATE_TRACE_POINTS
#include "fathom/p9.h"
#include "fathom/trace.h"
#include "fathom_port.h"
#include "fathom_user.h"
#ifdef SMALL_MESSAGES /* a server of its own: built with a smaller FATHOM_P9_MSIZE than the library */
#include "control/p9.c"
#include "control/p9_file.c"
#include "control/p9_frames.c"
#endif

#define ONE_IN 500
#define BURST  20

TRACE_DEFINE(noise, tick, "n=%lu", (U64, n))

struct line {
	int fd;
	uint32_t random, texts;
	struct fathom_p9 tree;
};

static uint32_t roll(struct line *l)
{
	l->random = l->random * 1664525u + 1013904223u;
	return l->random >> 8;
}

/* What arrives of the bytes; `to` has room for twice as many. */
static size_t spoil(struct line *l, const uint8_t *from, size_t bytes, uint8_t *to)
{
	size_t n = 0;

	for (size_t i = 0; i < bytes; i++) {
		to[n++] = from[i];
		if (roll(l) % ONE_IN)
			continue;
		switch (roll(l) % 3) {
		case 0: n--; break;
		case 1: to[n] = to[n - 1], n++; break;
		default: to[n - 1] ^= (uint8_t)(1u << roll(l) % 8);
		}
	}
	return n;
}

static void put(struct line *l, const void *data, size_t bytes)
{
	static uint8_t noisy[2 * WIRE_FRAME_MAX];
	size_t n = spoil(l, data, bytes, noisy);

	for (size_t at = 0; at < n;) {
		ssize_t got = send(l->fd, noisy + at, n - at, MSG_NOSIGNAL);

		if (got <= 0)
			return;
		at += (size_t)got;
	}
}

/* A console prints when it likes, but not into a frame. */
static void line_send(void *arg, const void *data, size_t bytes)
{
	struct line *l = arg;
	char text[48];

	if (roll(l) % 3 == 0)
		put(l, text,
		    (size_t)snprintf(text, sizeof(text), "[%u] console text\r\n", l->texts++));
	put(l, data, bytes);
}

static void line_text(void *arg, const void *data, size_t bytes)
{
	(void)arg, (void)data, (void)bytes;
}

/* One client after another, as on a UART: nobody says when one goes and the next begins. */
static void serve(struct line *l)
{
	uint8_t buf[512], noisy[1024];
	ssize_t n;

	for (;;) {
		struct pollfd p = {l->fd, POLLIN, 0};

		if (!poll(&p, 1, fathom_p9_tick(&l->tree) ? 5 : -1))
			continue;
		n = read(l->fd, buf, sizeof(buf));
		if (n <= 0)
			return;
		fathom_p9_input(&l->tree, noisy, spoil(l, buf, (size_t)n, noisy));
	}
}

static void *tick(void *arg)
{
	struct timespec pause = {0, 10000000};

	(void)arg;
	for (uint64_t n = 0;;) {
		for (int i = 0; i < BURST; i++)
			trace_tick(n++);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* noisy SOCKET SEED */
int main(int argc, char **argv)
{
	static struct line l;
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pthread_t thread;

	if (argc != 3 || fathom_user_start("buffer_kb=1024,cpus=4,out="))
		return 1;
	fathom_set("events/enable", "0");
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", argv[1]);
	l.random = (uint32_t)atoi(argv[2]) * 2654435761u;
	fathom_p9_init(&l.tree, line_send, &l);
	l.tree.text = line_text;
	if (server < 0 || bind(server, (struct sockaddr *)&at, sizeof(at)) || listen(server, 4))
		return 1;
	pthread_create(&thread, NULL, tick, NULL);
	puts("ready");
	fflush(stdout);
	while ((l.fd = accept(server, NULL, NULL)) >= 0) {
		serve(&l);
		close(l.fd);
	}
	return 1;
}
