/* SPDX-License-Identifier: MIT */
/* noisy.c -- a process whose tree is at the end of a bad line, which drops, doubles and flips 1 byte in 500 each way and has console text;
 * or of a network that drops, doubles and reorders datagrams: all that a kernel's UDP port needs is in serve_udp(). */
#include <arpa/inet.h>
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

/* ---- the same over UDP: a frame a datagram ---- */

#define LOST_IN 25 /* a datagram of so many is lost, of as many doubled, of as many late */

struct port {
	struct line l;
	struct sockaddr_in peer; /* who spoke last */
	uint8_t late[WIRE_LINE_FRAME_MAX];
	size_t late_bytes;
};

static void udp_send(void *arg, const void *data, size_t bytes)
{
	struct port *u = arg;
	uint32_t dice = roll(&u->l) % LOST_IN;

	if (dice == 0)
		return;
	if (dice == 1 && !u->late_bytes) {
		memcpy(u->late, data, bytes);
		u->late_bytes = bytes;
		return;
	}
	for (int i = 0; i < (dice == 2 ? 2 : 1); i++)
		sendto(u->l.fd, data, bytes, 0, (void *)&u->peer, sizeof(u->peer));
	if (u->late_bytes)
		sendto(u->l.fd, u->late, u->late_bytes, 0, (void *)&u->peer, sizeof(u->peer));
	u->late_bytes = 0;
}

static int serve_udp(struct port *u, uint16_t number)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons(number),
				 .sin_addr = {htonl(INADDR_LOOPBACK)}};
	uint8_t buf[WIRE_LINE_FRAME_MAX];

	u->l.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	fathom_p9_init(&u->l.tree, udp_send, u);
	u->l.tree.text = line_text;
	if (bind(u->l.fd, (struct sockaddr *)&at, sizeof(at)))
		return 1;
	puts("ready");
	fflush(stdout);
	for (;;) {
		struct pollfd p = {u->l.fd, POLLIN, 0};
		socklen_t len = sizeof(u->peer);
		ssize_t n;

		if (!poll(&p, 1, fathom_p9_tick(&u->l.tree) ? 5 : -1))
			continue;
		n = recvfrom(u->l.fd, buf, sizeof(buf), 0, (struct sockaddr *)&u->peer, &len);
		if (n > 0 && roll(&u->l) % LOST_IN)
			fathom_p9_input(&u->l.tree, buf, (size_t)n);
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

/* noisy SOCKET|udp:PORT SEED */
int main(int argc, char **argv)
{
	static struct line l;
	static struct port udp;
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pthread_t thread;

	if (argc != 3 || fathom_user_start("buffer_kb=1024,cpus=4,out="))
		return 1;
	fathom_set("events/enable", "0");
	if (!strncmp(argv[1], "udp:", 4)) {
		udp.l.random = (uint32_t)atoi(argv[2]) * 2654435761u;
		pthread_create(&thread, NULL, tick, NULL);
		return serve_udp(&udp, (uint16_t)atoi(argv[1] + 4));
	}
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
