/* SPDX-License-Identifier: MIT */
/* tools_line.c -- the host's end of a line whose target means harm: what it claims reaches no memory but the window's. */
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "capture/line.h"
#include "harness.h"
#include "wire/frame.h"

#define STEP   60000u
#define CLAIMS 500u

struct target {
	int fd;
	uint32_t asked; /* frames of the host after the claims */
};

static void put_ack(int fd, uint32_t number, uint32_t arg)
{
	uint8_t frame[WIRE_FRAME_BYTES(0)];

	/* The host may be gone. */
	send(fd, frame, fathom_frame_seal(frame, WIRE_FRAME_ACK, number, arg, 0), MSG_NOSIGNAL);
}

/* Answers the start, then has its stream end further and further away, and never sends any of it. */
static void *target_run(void *arg)
{
	struct target *t = arg;
	uint8_t buf[2048], in[WIRE_FRAME_MAX];
	struct wire_receiver r = {.buf = in, .room = sizeof(in)};
	ssize_t n;

	while ((n = read(t->fd, buf, sizeof(buf))) > 0) {
		struct wire_frame f;
		size_t used;

		if (!fathom_frame_receive(&r, buf, (size_t)n, &used, &f))
			continue;
		if (f.type != WIRE_FRAME_START) {
			__atomic_add_fetch(&t->asked, 1, __ATOMIC_RELAXED);
			continue;
		}
		put_ack(t->fd, f.number, f.number);
		for (uint32_t i = 1; i <= CLAIMS; i++)
			put_ack(t->fd, f.number + i * STEP, f.number);
	}
	return NULL;
}

TEST(end_beyond_the_window)
{
	struct target t = {0};
	pthread_t thread;
	int pair[2], pipe;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
	t.fd = pair[1];
	CHECK_EQ(pthread_create(&thread, NULL, target_run, &t), 0);
	pipe = line_open(pair[0], -1);
	CHECK(pipe >= 0 && pipe != pair[0]);
	/* When the line is quiet, every gap is asked for. */
	for (int i = 0; i < 1000 && !__atomic_load_n(&t.asked, __ATOMIC_RELAXED); i++)
		poll(NULL, 0, 10);
	close(pipe);
	shutdown(pair[1], SHUT_RDWR);
	pthread_join(thread, NULL);
	close(pair[1]);
	CHECK(t.asked > 0);
}

TEST_MAIN
